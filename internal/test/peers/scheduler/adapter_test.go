package scheduler

import (
	"slices"
	"testing"
	_ "unsafe" // for go:linkname

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	_ "k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption" // has the function

	"github.com/purekube/purekube/internal/test/peers/verdicts"
	"github.com/purekube/purekube/purekubetest"
)

// What koordinator copies word for word. The scheduler of v1.36 does not export it.
//
//go:linkname kubeScheduler k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption.filterPodsWithPDBViolation
func kubeScheduler(pods []fwk.PodInfo, budgets []*policyv1.PodDisruptionBudget) (violating, nonViolating []fwk.PodInfo)

// volcano is what its plugin pdb does beyond that function (pkg/scheduler/plugins/pdb/pdb.go, commit ed72c7c): a pod
// without labels is not sorted at all, so it is never a victim.
func volcano(t *testing.T, pods []*corev1.Pod, budgets []*policyv1.PodDisruptionBudget) []*corev1.Pod {
	t.Helper()
	labelled := slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return len(p.Labels) == 0 })
	_, allowed := kubeScheduler(infos(t, labelled), budgets)
	return podsOf(allowed)
}

func infos(t *testing.T, pods []*corev1.Pod) (all []fwk.PodInfo) {
	t.Helper()
	for _, p := range pods {
		info, err := framework.NewPodInfo(p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, info)
	}
	return all
}

func podsOf(infos []fwk.PodInfo) (pods []*corev1.Pod) {
	for _, i := range infos {
		pods = append(pods, i.GetPod())
	}
	return pods
}

// filter asks the adapter for koordinator.
func filter(t *testing.T, pods []*corev1.Pod, budgets []*policyv1.PodDisruptionBudget) (violating,
	allowed []*corev1.Pod) {
	t.Helper()
	no, yes := FilterPodsWithPDBViolation(infos(t, pods), budgets)
	return podsOf(no), podsOf(yes)
}

// tasks asks the adapter for volcano.
func tasks(pods []*corev1.Pod, budgets []*policyv1.PodDisruptionBudget) (allowed []*corev1.Pod) {
	var all []*TaskInfo
	for _, p := range pods {
		all = append(all, &TaskInfo{p})
	}
	for _, task := range VictimTasks(all, budgets) {
		allowed = append(allowed, task.Pod)
	}
	return allowed
}

// Where a budget has an empty selector, kube-scheduler and its copies take it for one that selects nothing. The API
// server refuses to evict each of its pods.
func TestEmptySelector(t *testing.T) {
	app, budget := purekubetest.Deployment("shop/web", 2), purekubetest.MaxUnavailable("shop/all", "0")
	budget.Spec.Selector = &metav1.LabelSelector{}
	budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, CurrentHealthy: 2,
		DesiredHealthy: 2}
	budgets := []*policyv1.PodDisruptionBudget{budget}
	bare := purekubetest.Pod("shop/bare")
	bare.Labels = nil
	pods := append(slices.Clone(app.Pods), bare)

	if violating, _ := kubeScheduler(infos(t, pods), budgets); len(violating) > 0 {
		t.Error("kube-scheduler counts the budget now: fix docs/migrating.md")
	}
	if victims := volcano(t, pods, budgets); len(victims) != 2 {
		t.Errorf("volcano names %v", victims)
	}
	for _, p := range pods {
		if verdicts.Allowed(t, p, budgets) {
			t.Errorf("the API server evicts %s", p.Name)
		}
	}
	if violating, allowed := filter(t, pods, budgets); !slices.Equal(violating, pods) || len(allowed) > 0 {
		t.Errorf("violating %v, allowed %v", violating, allowed)
	}
	if victims := tasks(pods, budgets); len(victims) > 0 {
		t.Errorf("victims %v", victims)
	}
}

// volcano leaves pods without labels out of the victims, also where no budget is there at all.
func TestPodWithoutLabels(t *testing.T) {
	bare := purekubetest.Pod("shop/bare")
	bare.Labels = nil
	pods := []*corev1.Pod{bare}
	if victims := volcano(t, pods, nil); len(victims) > 0 {
		t.Errorf("volcano names %v", victims)
	}
	if !verdicts.Allowed(t, bare, nil) {
		t.Error("the API server does not evict the pod")
	}
	if victims := tasks(pods, nil); !slices.Equal(victims, pods) {
		t.Errorf("victims %v", victims)
	}
}

// Everywhere else the adapter sorts as kube-scheduler does: it counts each victim once, in order, and keeps the order.
func TestSortsAsKubeScheduler(t *testing.T) {
	violations, others := 0, 0
	for i := range uint64(verdicts.Clusters) {
		c := verdicts.Sample(t, i)
		budgets := slices.DeleteFunc(slices.Clone(c.Budgets), func(b *policyv1.PodDisruptionBudget) bool {
			s, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
			return err == nil && s.Empty()
		})
		pods := slices.DeleteFunc(slices.Clone(c.Pods), func(p *corev1.Pod) bool { return len(p.Labels) == 0 })
		no, yes := kubeScheduler(infos(t, pods), budgets)
		violating, allowed := filter(t, pods, budgets)
		if !slices.Equal(podsOf(no), violating) || !slices.Equal(podsOf(yes), allowed) {
			t.Fatalf("cluster %d: %d and %d, kube-scheduler %d and %d", i, len(violating), len(allowed), len(no), len(yes))
		}
		if !slices.Equal(tasks(pods, budgets), volcano(t, pods, budgets)) {
			t.Fatalf("cluster %d: volcano names others", i)
		}
		violations, others = violations+len(no), others+len(yes)
	}
	t.Logf("%d victims violate, %d do not", violations, others)
	if violations == 0 || others == 0 {
		t.Error("a kind is missing")
	}
}
