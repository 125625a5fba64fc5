package clusterapi

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	capi "sigs.k8s.io/cluster-api/core/reconcilers/machine/drain"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/upstream/eviction"
	"github.com/purekube/purekube/purekubetest"
)

const node = "node-a"

// helper is Cluster API's own drain of a workload cluster with these pods, in which the API server's own handler
// answers evictions.
func helper(t *testing.T, rules []*clusterv1.MachineDrainRule, namespaces []*corev1.Namespace, pods []*corev1.Pod,
	budgets ...*policyv1.PodDisruptionBudget) *capi.Helper {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clusterv1.AddToScheme, corev1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	management, workload := fake.NewClientBuilder().WithScheme(scheme), fake.NewClientBuilder().WithScheme(scheme)
	for _, r := range rules {
		management.WithObjects(r.DeepCopy())
	}
	for _, n := range namespaces {
		workload.WithObjects(n.DeepCopy())
	}
	for _, p := range pods {
		workload.WithObjects(p.DeepCopy())
	}
	workload.WithIndex(&corev1.Pod{}, "spec.nodeName",
		func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} })
	workload.WithInterceptorFuncs(interceptor.Funcs{SubResourceCreate: func(_ context.Context, _ client.Client,
		_ string, o, _ client.Object, _ ...client.SubResourceCreateOption) error {
		a, err := eviction.Evict(o.(*corev1.Pod), budgets)
		if err == nil && a.Code == 429 {
			err = apierrors.NewTooManyRequests(a.Text, 10)
		}
		return err
	}})
	return &capi.Helper{Client: management.Build(), RemoteClient: workload.Build(), GracePeriodSeconds: -1}
}

func list(t *testing.T, h *capi.Helper) *capi.PodDeleteList {
	t.Helper()
	l, err := h.GetPodsForEviction(context.Background(), &clusterv1.Cluster{},
		&clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "mgmt"}}, node)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func rule(name string, behavior clusterv1.MachineDrainRuleDrainBehavior,
	pods ...clusterv1.MachineDrainRulePodSelector) *clusterv1.MachineDrainRule {
	r := &clusterv1.MachineDrainRule{ObjectMeta: metav1.ObjectMeta{Namespace: "mgmt", Name: name}}
	r.Spec.Drain.Behavior, r.Spec.Pods = behavior, pods
	return r
}

func labelled(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

// Cluster API tries again and again where a budget never allows an eviction, and its message is the same as where the
// next try succeeds. The adapter's drain says Never, before the first try.
func TestDrainThatNeverEnds(t *testing.T) {
	app := purekubetest.Deployment("shop/web", 2, node)
	for rules, want := range map[clusterv1.MachineDrainRuleDrainBehavior]drain.Outcome{
		clusterv1.MachineDrainRuleDrainBehaviorDrain: drain.Never, clusterv1.MachineDrainRuleDrainBehaviorSkip: drain.Now,
	} {
		budget := purekubetest.MinAvailable("shop/web", "2")
		budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, CurrentHealthy: 2,
			DesiredHealthy: 2, ExpectedPods: 2}
		all := Rules{[]*clusterv1.MachineDrainRule{rule("a", rules)}, map[string]labels.Set{"shop": nil}}
		h := helper(t, all.Sorted, []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}}, app.Pods, budget)
		for try := range 3 {
			result := h.EvictPods(context.Background(), list(t, h))
			ended, refused := result.DrainCompleted(), len(result.PodsFailedEviction) > 0
			if ended != (want == drain.Now) || refused != (want == drain.Never) {
				t.Errorf("%s, try %d: completed %t, failed %v", rules, try, result.DrainCompleted(), result.PodsFailedEviction)
			}
		}
		x := disruption.NewIndex(purekubetest.NewCluster(t, app.Objects(budget)...).Disruption(), disruption.Options{})
		d, _, err := drain.Node(x, node, all.Options())
		if err != nil || d.Outcome != want {
			t.Errorf("%s: %v, %v", rules, d.Outcome, err)
		}
	}
}

// Cluster API drains nothing while the namespace of a pod is not known. No rule skips such a pod here.
func TestNamespaceThatIsNotKnown(t *testing.T) {
	pod := purekubetest.Pod("shop/x")
	pod.Spec.NodeName = node
	rules := []*clusterv1.MachineDrainRule{rule("a", clusterv1.MachineDrainRuleDrainBehaviorSkip)}
	h := helper(t, rules, nil, []*corev1.Pod{pod})
	machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "mgmt"}}
	if _, err := h.GetPodsForEviction(context.Background(), &clusterv1.Cluster{}, machine, node); err == nil {
		t.Error("Cluster API drains the node now")
	}
	if (Rules{Sorted: rules}).Options().SkipPod(pod) {
		t.Error("the pod is skipped")
	}
}

// The adapter and Cluster API's own rules agree about random pods, labels and rules.
func TestBehavior(t *testing.T) {
	seen := map[clusterv1.MachineDrainRuleDrainBehavior]int{}
	for i := range uint64(300) {
		r := rand.New(rand.NewPCG(1, i))
		pick := func(of ...string) string { return of[r.IntN(len(of))] }
		selector := func(key string) *metav1.LabelSelector {
			return []*metav1.LabelSelector{nil, {}, labelled(key, "x"),
				{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key,
					Operator: metav1.LabelSelectorOpDoesNotExist}}}}[r.IntN(4)]
		}
		all := Rules{Namespaces: map[string]labels.Set{}}
		var namespaces []*corev1.Namespace
		for _, name := range []string{"one", "two"} {
			n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name,
				Labels: map[string]string{pick("team", "other"): pick("x", "y")}}}
			namespaces, all.Namespaces[name] = append(namespaces, n), n.Labels
		}
		for n := range r.IntN(4) {
			var pods []clusterv1.MachineDrainRulePodSelector
			for range r.IntN(3) {
				pods = append(pods, clusterv1.MachineDrainRulePodSelector{Selector: selector("app"),
					NamespaceSelector: selector("team")})
			}
			behavior := clusterv1.MachineDrainRuleDrainBehavior(pick("Drain", "Skip", "WaitCompleted"))
			all.Sorted = append(all.Sorted, rule(fmt.Sprint("rule-", n), behavior, pods...))
			if behavior == clusterv1.MachineDrainRuleDrainBehaviorDrain {
				all.Sorted[n].Spec.Drain.Order = ptr.To(int32(0))
			}
		}
		var pods []*corev1.Pod
		for n := range 6 {
			p := purekubetest.Pod(pick("one", "two") + fmt.Sprint("/p-", n))
			p.Spec.NodeName, p.Labels = node, map[string]string{pick("app", "other"): pick("x", "y")}
			if r.IntN(4) == 0 {
				p.Labels[clusterv1.PodDrainLabel] = pick("skip", "Skip", "wait-completed", "WaitCompleted", "unknown")
			}
			pods = append(pods, p)
		}
		result := helper(t, all.Sorted, namespaces, pods).EvictPods(context.Background(),
			list(t, helper(t, all.Sorted, namespaces, pods)))
		for _, p := range pods {
			named := func(q *corev1.Pod) bool { return q.Namespace == p.Namespace && q.Name == p.Name }
			theirs := clusterv1.MachineDrainRuleDrainBehaviorDrain
			switch {
			case slices.ContainsFunc(result.PodsIgnored, named):
				theirs = clusterv1.MachineDrainRuleDrainBehaviorSkip
			case slices.ContainsFunc(result.PodsToWaitCompletedNow, named):
				theirs = clusterv1.MachineDrainRuleDrainBehaviorWaitCompleted
			}
			ours := all.Behavior(p)
			if ours != theirs {
				t.Fatalf("case %d, %s %v: %s, Cluster API says %s", i, p.Name, p.Labels, ours, theirs)
			}
			if skipped := all.Options().SkipPod(p); skipped != (theirs != clusterv1.MachineDrainRuleDrainBehaviorDrain) {
				t.Fatalf("case %d, %s: skipped %t", i, p.Name, skipped)
			}
			seen[ours]++
		}
	}
	t.Log(seen)
	if len(seen) != 3 {
		t.Error("a behavior is missing")
	}
}
