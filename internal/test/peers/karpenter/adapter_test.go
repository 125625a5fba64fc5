package karpenter

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/utils/pdb"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/peers/verdicts"
	"github.com/purekube/purekube/purekubetest"
)

// limitsOf are the methods of karpenter's pdb.Limits that its controllers call.
type limitsOf interface {
	CanEvictPods(pods []*corev1.Pod, clk clock.Clock, recorder events.Recorder) ([]client.ObjectKey, bool)
	IsCurrentlyReschedulable(pod *corev1.Pod, clk clock.Clock, recorder events.Recorder) bool
}

var _, _ limitsOf = pdb.Limits{}, Limits{}

// Cases that karpenter decides wrongly by the written status, and the adapter as the API server does. The first pod
// of three is asked about.
func TestCanEvictPods(t *testing.T) {
	for name, tc := range map[string]struct {
		pod               func(*corev1.Pod)
		policy            policyv1.UnhealthyPodEvictionPolicyType
		allowed, healthy  int32
		observed          int64
		theirs, apiServer bool
	}{
		"ready, one may go":                     {allowed: 1, healthy: 3, observed: 1, theirs: true, apiServer: true},
		"ready, none may go":                    {allowed: 0, healthy: 2, observed: 1},
		"crash-looping, enough others are well": {pod: unready, allowed: 0, healthy: 2, observed: 1, apiServer: true},
		"crash-looping, too few are well":       {pod: unready, allowed: 0, healthy: 1, observed: 1},
		"crash-looping, AlwaysAllow": {pod: unready, policy: policyv1.AlwaysAllow, healthy: 1, observed: 1,
			theirs: true, apiServer: true},
		"unreachable node, AlwaysAllow": {pod: unknown, policy: policyv1.AlwaysAllow, healthy: 1, observed: 1,
			apiServer: true},
		"pending":                         {pod: pending, allowed: 0, healthy: 2, observed: 1, apiServer: true},
		"a status of an older generation": {allowed: 1, healthy: 3, observed: 0, theirs: true},
	} {
		t.Run(name, func(t *testing.T) {
			app, budget := purekubetest.Deployment("shop/web", 3), purekubetest.MaxUnavailable("shop/web", "1")
			if tc.policy != "" {
				budget.Spec.UnhealthyPodEvictionPolicy = ptr.To(tc.policy)
			}
			budget.Generation = 1
			budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: tc.observed,
				DisruptionsAllowed: tc.allowed, CurrentHealthy: tc.healthy, DesiredHealthy: 2}
			pod := app.Pods[0]
			if tc.pod != nil {
				tc.pod(pod)
			}
			budgets := []*policyv1.PodDisruptionBudget{budget}
			x := disruption.NewIndex(purekubetest.NewCluster(t, app.Objects(budget)...).Disruption(), disruption.Options{})
			blocking, ours := Limits{x}.CanEvictPods(app.Pods[:1], clock.RealClock{}, silent{})
			if theirs := canEvict(limits(t, budgets), pod); theirs != tc.theirs {
				t.Errorf("karpenter says %t now: fix docs/migrating.md", theirs)
			}
			if allowed := verdicts.Allowed(t, pod, budgets); allowed != tc.apiServer {
				t.Errorf("the API server says %t", allowed)
			}
			if ours != tc.apiServer {
				t.Errorf("the adapter says %t", ours)
			}
			if !ours && (len(blocking) != 1 || blocking[0] != types.NamespacedName(verdicts.KeyOf(budget))) {
				t.Errorf("the adapter names %v", blocking)
			}
		})
	}
}

// karpenter's own rules stay: it sends no eviction for a pod that must not be disrupted, so no budget is in the way.
func TestDoNotDisrupt(t *testing.T) {
	app, budget := purekubetest.Deployment("shop/web", 1), purekubetest.MaxUnavailable("shop/web", "0")
	app.Pods[0].Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"}
	x := disruption.NewIndex(purekubetest.NewCluster(t, app.Objects(budget)...).Disruption(), disruption.Options{})
	if _, ours := (Limits{x}).CanEvictPods(app.Pods, clock.RealClock{},
		silent{}); !ours || !canEvict(limits(t, []*policyv1.PodDisruptionBudget{budget}), app.Pods...) {
		t.Error("a budget is in the way")
	}
}

// karpenter makes room for pods that never leave: it knows three texts of budgets that allow nothing. The adapter
// knows that 3 of 3 pods must stay.
func TestIsCurrentlyReschedulable(t *testing.T) {
	most := func(name, n string) *policyv1.PodDisruptionBudget {
		return purekubetest.MaxUnavailable("shop/"+name, n)
	}
	least := func(n string) *policyv1.PodDisruptionBudget { return purekubetest.MinAvailable("shop/web", n) }
	type budgets = []*policyv1.PodDisruptionBudget
	for name, tc := range map[string]struct {
		budgets      budgets
		pod          func(*corev1.Pod)
		theirs, ours bool
	}{
		"maxUnavailable 1":                      {budgets{most("web", "1")}, nil, true, true},
		"maxUnavailable 0":                      {budgets{most("web", "0")}, nil, false, false},
		"minAvailable 3 of 3":                   {budgets{least("3")}, nil, true, false},
		"minAvailable 90%, rounded up":          {budgets{least("90%")}, nil, true, false},
		"minAvailable 3 of 3, of a pending pod": {budgets{least("3")}, pending, true, true},
		"two budgets":                           {budgets{most("web", "1"), most("more", "1")}, nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			app := purekubetest.Deployment("shop/web", 3)
			var objects []purekubetest.Object
			for _, b := range tc.budgets {
				b.Spec.Selector = purekubetest.MaxUnavailable("shop/web", "1").Spec.Selector
				objects = append(objects, b)
			}
			if tc.pod != nil {
				tc.pod(app.Pods[0])
			}
			x := disruption.NewIndex(purekubetest.NewCluster(t, app.Objects(objects...)...).Disruption(), disruption.Options{})
			if theirs := limits(t, tc.budgets).IsCurrentlyReschedulable(app.Pods[0], clock.RealClock{},
				silent{}); theirs != tc.theirs {
				t.Errorf("karpenter says %t now: fix docs/migrating.md", theirs)
			}
			if ours := (Limits{x}).IsCurrentlyReschedulable(app.Pods[0], clock.RealClock{}, silent{}); ours != tc.ours {
				t.Errorf("the adapter says %t", ours)
			}
		})
	}
}

func unready(p *corev1.Pod) { purekubetest.NotReady(p) }

// unknown is a pod whose node no longer reports.
func unknown(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionUnknown}}
}

func pending(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodPending} }
