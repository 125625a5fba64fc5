package bounds

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/largecluster"
)

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func pods(p ...*corev1.Pod) disruption.Snapshot { return disruption.Snapshot{Pods: p} }

func budget(b *policyv1.PodDisruptionBudget) disruption.Snapshot {
	return disruption.Snapshot{Budgets: []*policyv1.PodDisruptionBudget{b}}
}

func unready(p *corev1.Pod) *corev1.Pod {
	changed := *p
	changed.Status.Conditions = nil
	return &changed
}

// updated returns an Index in which each pod and budget was updated by itself.
func updated(s disruption.Snapshot) *disruption.Index {
	x := disruption.NewIndex(s, disruption.Options{})
	all(x)
	for i := range s.Pods {
		x, _ = x.With(pods(s.Pods[i]))
	}
	for i := range s.Budgets {
		x, _ = x.With(budget(s.Budgets[i]))
	}
	return x
}

var budgets = Subject{Name: "disruption", Cluster: func(n int) Cluster {
	c := largecluster.Budgets(n/largecluster.PodsPerBudget, 1)
	s := disruption.Snapshot{
		Now: largecluster.Now, Pods: shuffled(c.Pods), Budgets: shuffled(c.Budgets),
		ReplicaSets: c.ReplicaSets, Deployments: c.Deployments,
	}
	x := disruption.NewIndex(s, disruption.Options{})
	all(x) // the first plan of a budget adds up its controllers
	pod := func(i int) *corev1.Pod { return s.Pods[at(i, len(s.Pods))] }
	of := func(i int) *policyv1.PodDisruptionBudget { return s.Budgets[at(i, len(s.Budgets))] }
	check := func(by disruption.Status) func(i int) (int, int) {
		return func(i int) (int, int) { return explained(x.CheckEviction(nameOf(pod(i)), by)) }
	}
	return Cluster{
		Objects:  len(s.Pods) + len(s.Budgets) + len(s.ReplicaSets) + len(s.Deployments),
		NewIndex: func() any { return disruption.NewIndex(s, disruption.Options{}) },
		Updated:  func() any { return updated(s) },
		Questions: []Question{
			change("a pod becomes unready", func(i int) (int, int) { return event(x, pods(unready(pod(i)))) }),
			change("a pod goes, and returns", func(i int) (int, int) { return returns(x, pods(pod(i))) }),
			change("a budget's status is written", func(i int) (int, int) {
				changed := *of(i)
				changed.Status.DisruptionsAllowed = 1
				return event(x, budget(&changed))
			}),
			change("a budget's selector changes", func(i int) (int, int) {
				changed := of(i).DeepCopy()
				changed.Spec.Selector.MatchLabels["version"] = "v1"
				return event(x, budget(changed))
			}),
			about("Plan", func(i int) (int, int) { return one(x, disruption.KeyOf(of(i))) }),
			about("Explain", func(i int) (int, int) { return explained(x.Explain(disruption.KeyOf(of(i)))) }),
			about("CheckEviction, AsWritten", check(disruption.AsWritten)),
			about("CheckEviction, Recomputed", check(disruption.Recomputed)),
			about("BudgetsFor", func(i int) (int, int) { return explained(x.BudgetsFor(pod(i))) }),
			about("PodsOnNode", func(i int) (int, int) {
				on, _ := x.PodsOnNode(fmt.Sprint("node-", at(i, len(s.Pods)/30)))
				return len(on) / 30, 0
			}),
			about("PodsOfController", func(i int) (int, int) {
				of, _ := x.PodsOfController(pod(i).Namespace, &pod(i).OwnerReferences[0])
				return len(of), 0
			}),
			about("WorkloadOf", func(i int) (int, int) {
				return x.WorkloadOf(pod(i).Namespace, &pod(i).OwnerReferences[0]).MaxPods, 0
			}),
			about("SelectedPodsBeingDeleted", func(i int) (int, int) {
				return len(x.SelectedPodsBeingDeleted(nameOf(of(i)))), 0
			}),
			ofAll("NewIndex", func() (int, int) {
				disruption.NewIndex(s, disruption.Options{})
				return 0, 0
			}),
			ofAll("PlanAll", func() (int, int) { return all(x) }),
		},
	}
}}

// oneBudget is the other extreme: one budget selects all pods.
var oneBudget = Subject{Name: "disruption, one budget of all pods", Cluster: func(n int) Cluster {
	c := largecluster.Budgets(n/largecluster.PodsPerBudget, 1)
	of := c.Budgets[0]
	of.Spec.Selector.MatchLabels = nil
	of.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(1))
	s := disruption.Snapshot{
		Now: largecluster.Now, Pods: shuffled(c.Pods), Budgets: c.Budgets[:1],
		ReplicaSets: c.ReplicaSets, Deployments: c.Deployments,
	}
	x := disruption.NewIndex(s, disruption.Options{})
	all(x) // the first plan of a budget adds up its controllers
	pod := func(i int) *corev1.Pod { return s.Pods[at(i, len(s.Pods))] }
	return Cluster{
		Objects:  len(s.Pods) + len(s.Budgets) + len(s.ReplicaSets) + len(s.Deployments),
		NewIndex: func() any { return disruption.NewIndex(s, disruption.Options{}) },
		Updated:  func() any { return updated(s) },
		Questions: []Question{
			change("With, a pod becomes unready", func(i int) (int, int) {
				_, affected := x.With(pods(unready(pod(i))))
				return len(affected), 0
			}),
			sorting("With, a second budget of all pods", func(int) (int, int) {
				second := of.DeepCopy()
				second.Name, second.UID = "second", "uid-second"
				_, affected := x.With(budget(second))
				return len(affected), 0
			}),
			about("CheckEviction, AsWritten", func(i int) (int, int) {
				return explained(x.CheckEviction(nameOf(pod(i)), disruption.AsWritten))
			}),
			about("Plan", func(int) (int, int) { return one(x, disruption.KeyOf(of)) }),
			about("CheckEviction, Recomputed", func(i int) (int, int) {
				return explained(x.CheckEviction(nameOf(pod(i)), disruption.Recomputed))
			}),
			ofAll("NewIndex", func() (int, int) {
				disruption.NewIndex(s, disruption.Options{})
				return 0, 0
			}),
			ofAll("PlanAll", func() (int, int) { return all(x) }),
		},
	}
}}
