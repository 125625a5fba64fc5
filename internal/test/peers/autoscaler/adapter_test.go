package autoscaler

import (
	"flag"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/peers/verdicts"
	"github.com/purekube/purekube/purekubetest"
)

var update = flag.Bool("update", false, "write the tables in ../README.md anew")

var _ RemainingPdbTracker = &Tracker{}

func tracker(pods []*corev1.Pod, budgets []*policyv1.PodDisruptionBudget) *Tracker {
	t := &Tracker{Cluster: func(budgets []*policyv1.PodDisruptionBudget) disruption.Snapshot {
		return disruption.Snapshot{Now: verdicts.Now, Pods: pods, Budgets: budgets}
	}}
	_ = t.SetPdbs(budgets) // no input is an error
	return t
}

// budget of the pods of shop/web, whose status is up to date.
func budget(name string, allowed, healthy int32) *policyv1.PodDisruptionBudget {
	b := purekubetest.MaxUnavailable("shop/web", "1")
	b.Name = name
	b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Generation, DisruptionsAllowed: allowed,
		CurrentHealthy: healthy, DesiredHealthy: 2}
	return b
}

// Cases that counting decides wrongly, and the adapter as the API server does. The first pod of three is asked about.
func TestCanRemovePods(t *testing.T) {
	always, older := budget("web", 0, 1), budget("web", 1, 3)
	always.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
	older.Generation++
	for name, tc := range map[string]struct {
		budgets           []*policyv1.PodDisruptionBudget
		pod               func(*corev1.Pod)
		theirs, apiServer bool
	}{
		"one may go":  {[]*policyv1.PodDisruptionBudget{budget("web", 1, 3)}, nil, true, true},
		"none may go": {[]*policyv1.PodDisruptionBudget{budget("web", 0, 2)}, nil, false, false},
		"two budgets that each allow one": {[]*policyv1.PodDisruptionBudget{budget("web", 1, 3),
			budget("more", 1, 3)}, nil, true, false},
		"crash-looping, AlwaysAllow": {[]*policyv1.PodDisruptionBudget{always},
			func(p *corev1.Pod) { purekubetest.NotReady(p) }, false, true},
		"crash-looping, enough others are well": {[]*policyv1.PodDisruptionBudget{budget("web", 0, 2)},
			func(p *corev1.Pod) { purekubetest.NotReady(p) }, false, true},
		"pending": {[]*policyv1.PodDisruptionBudget{budget("web", 0, 2)},
			func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, false, true},
		"a status of an older generation": {[]*policyv1.PodDisruptionBudget{older}, nil, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			app := purekubetest.Deployment("shop/web", 3)
			if tc.pod != nil {
				tc.pod(app.Pods[0])
			}
			theirs, _ := counting(t, tc.budgets).CanRemovePods(app.Pods[:1])
			ours, parallel, blocking := tracker(app.Pods, tc.budgets).CanRemovePods(app.Pods[:1])
			if theirs != tc.theirs {
				t.Errorf("counting says %t", theirs)
			}
			if allowed := verdicts.Allowed(t, app.Pods[0], tc.budgets); allowed != tc.apiServer {
				t.Errorf("the API server says %t", allowed)
			}
			if ours != tc.apiServer || parallel != ours {
				t.Errorf("the adapter says %t and %t", ours, parallel)
			}
			if !ours && blocking.Pod != app.Pods[0] || ours && blocking != nil {
				t.Errorf("the adapter names %v", blocking)
			}
		})
	}
}

// Pods that are removed are not back for the next question, and the budgets say what is left.
func TestRemovePods(t *testing.T) {
	app := purekubetest.Deployment("shop/web", 3)
	two := budget("web", 2, 3)
	two.Status.DesiredHealthy = 1
	x := tracker(app.Pods, []*policyv1.PodDisruptionBudget{two})
	if each, parallel, blocking := x.CanRemovePods(app.Pods); !each || parallel || blocking.Pod != app.Pods[2] {
		t.Errorf("each alone, and not all three: %t, %t, %v", each, parallel, blocking)
	}
	other := purekubetest.Pod("shop/other")
	other.Labels = map[string]string{"app": "other"}
	none := purekubetest.MaxUnavailable("shop/other", "0")
	y := tracker(append(slices.Clone(app.Pods), other), []*policyv1.PodDisruptionBudget{two, none})
	if each, _, blocking := y.CanRemovePods([]*corev1.Pod{app.Pods[0], other}); each || blocking.Pod != other {
		t.Errorf("the second pod may not go: %t, %v", each, blocking)
	}
	for i, want := range []int32{1, 0} {
		if each, _, _ := x.CanRemovePods(app.Pods[i : i+1]); !each {
			t.Errorf("pod %d may go", i)
		}
		x.RemovePods(app.Pods[i : i+1])
		for _, budgets := range [][]*policyv1.PodDisruptionBudget{x.GetPdbs(), x.MatchingPdbs(app.Pods[2])} {
			if len(budgets) != 1 || budgets[0].Status.DisruptionsAllowed != want {
				t.Errorf("%v, want %d left", budgets, want)
			}
		}
	}
	if each, _, _ := x.CanRemovePods(app.Pods[2:]); each {
		t.Error("nothing is left")
	}
	if two.Status.DisruptionsAllowed != 2 {
		t.Error("the caller's budget was written to")
	}
	x.Clear()
	if each, _, _ := x.CanRemovePods(app.Pods); !each || len(x.GetPdbs()) > 0 {
		t.Error("without budgets, all may go")
	}
	stranger := purekubetest.Pod("shop/stranger")
	if each, _, _ := x.CanRemovePods([]*corev1.Pod{stranger}); each {
		t.Error("a pod that the lister does not have: what holds it is not known")
	}
}

// One selector that does not compile fails the tracker as a whole. For the API server, the budget selects no pod.
func TestOneBrokenBudget(t *testing.T) {
	app, broken := purekubetest.Deployment("shop/web", 3), budget("broken", 0, 0)
	broken.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app",
		Operator: "Like"}}}
	budgets := []*policyv1.PodDisruptionBudget{broken, budget("web", 1, 3)}
	if _, err := NewCounting(budgets); err == nil {
		t.Error("counting takes a broken selector")
	}
	if each, _, _ := tracker(app.Pods, budgets).CanRemovePods(app.Pods[:1]); !each || !verdicts.Allowed(t, app.Pods[0],
		budgets) {
		t.Error("the broken budget stops a pod")
	}
}

func TestVerdicts(t *testing.T) {
	pods, nodes := verdicts.Rows{}, verdicts.Rows{}
	for i := range uint64(verdicts.Clusters) {
		c := verdicts.Sample(t, i)
		theirs, ours := counting(t, c.Budgets), tracker(c.Pods, c.Budgets)
		for _, pod := range c.Pods {
			each, _ := theirs.CanRemovePods([]*corev1.Pod{pod})
			can, _, _ := ours.CanRemovePods([]*corev1.Pod{pod})
			allowed := verdicts.Allowed(t, pod, c.Budgets)
			if can != allowed {
				t.Fatalf("cluster %d, %v: the adapter says %t", i, verdicts.KeyOf(pod), can)
			}
			pods.Add(verdicts.KindOf(pod, c.Budgets), can, each, allowed)
		}
		for _, node := range c.Nodes {
			on := c.On(node)
			if len(on) == 0 {
				continue
			}
			_, together := theirs.CanRemovePods(on)
			_, parallel, _ := ours.CanRemovePods(on)
			nodes.Add("all pods of a node at once: inParallel", parallel, together, verdicts.AllAtOnce(t, on, c.Budgets))
		}
	}
	verdicts.Check(t, "autoscaler", verdicts.Table(t, "the tracker", pods, nodes), *update)
}
