package lint

import (
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/manifests"
)

// health is the set with all its pods.
type health struct {
	index *disruption.Index
	// explained are the budgets, and shared the pods that more than one budget selects.
	explained map[purekube.Key]*disruption.BudgetExplanation
	shared    []disruption.Explanation
	// workloadOf is what makes a pod: a Deployment, not its ReplicaSet.
	workloadOf map[purekube.Key]purekube.Key
}

// maxReplicas bounds what an autoscaler is taken to make. It decides about no budget: one that allows nothing at that
// many pods demands more than that.
const maxReplicas = 10_000

// fullHealth is the set with as many pods as autoscalers want at least, and at most.
func (l *linter) fullHealth() (least, most health) {
	bounds := l.autoscaled()
	least = l.healthAt(bounds, func(b replicas) int32 { return b.least })
	if len(bounds) == 0 {
		return least, least
	}
	return least, l.healthAt(bounds, func(b replicas) int32 { return b.most })
}

// replicas are the bounds of an autoscaler.
type replicas struct{ least, most int32 }

// autoscaled are the bounds of the workloads that have an autoscaler: the widest, where they have several.
func (l *linter) autoscaled() map[purekube.Key]replicas {
	all := map[purekube.Key]replicas{}
	for _, a := range l.set.HorizontalPodAutoscalers {
		if a == nil {
			continue
		}
		// With minReplicas 0 nothing runs when nothing is to do. Then no pod is in the way; with one there may be.
		least := max(1, ptr.Deref(a.Spec.MinReplicas, 1))
		b := replicas{least, max(least, min(a.Spec.MaxReplicas, maxReplicas))}
		of := purekube.Key{Kind: a.Spec.ScaleTargetRef.Kind, Namespace: a.Namespace, Name: a.Spec.ScaleTargetRef.Name}
		if other, found := all[of]; found {
			b = replicas{min(b.least, other.least), max(b.most, other.most)}
		}
		all[of] = b
	}
	return all
}

// healthAt makes the pods at these scales, with one pod of each workload whose pods nodes or time call for.
func (l *linter) healthAt(bounds map[purekube.Key]replicas, scale func(replicas) int32) health {
	set := *l.set
	set.Nodes, set.HorizontalPodAutoscalers = nil, nil // where the pods run does not matter
	rescaled := func(o manifests.Object, now *int32) *int32 {
		b, found := bounds[manifests.KeyOf(o)]
		if !found || ptr.Deref(now, 1) == 0 { // an autoscaler leaves a workload with 0 replicas alone
			return now
		}
		return ptr.To(scale(b))
	}
	set.Deployments = replaced(set.Deployments, func(d *appsv1.Deployment) { d.Spec.Replicas = rescaled(d, d.Spec.Replicas) })
	set.ReplicaSets = replaced(set.ReplicaSets, func(r *appsv1.ReplicaSet) { r.Spec.Replicas = rescaled(r, r.Spec.Replicas) })
	set.StatefulSets = replaced(set.StatefulSets, func(s *appsv1.StatefulSet) { s.Spec.Replicas = rescaled(s, s.Spec.Replicas) })
	set.ReplicationControllers = replaced(set.ReplicationControllers, func(r *corev1.ReplicationController) { r.Spec.Replicas = rescaled(r, r.Spec.Replicas) })
	full, err := set.AtFullHealth()
	l.workloads(err)
	h := health{explained: map[purekube.Key]*disruption.BudgetExplanation{}, workloadOf: map[purekube.Key]purekube.Key{}}
	deployment := map[purekube.Key]purekube.Key{}
	for _, r := range full.ReplicaSets {
		if r != nil {
			deployment[manifests.KeyOf(r)] = owner(r)
		}
	}
	pods := map[purekube.Key]bool{}
	for _, p := range full.Pods {
		if p == nil {
			continue
		}
		of := owner(p)
		pods[of] = true
		if above := deployment[of]; above != (purekube.Key{}) {
			of = above
		}
		h.workloadOf[disruption.KeyOf(p)] = of
	}
	for s := range sources(l.set) {
		if s.replicas == nil && s.key.Kind != manifests.Pod.Kind && !pods[s.key] {
			full.Pods = append(full.Pods, s.pod())
		}
	}
	h.index = disruption.NewIndex(full.Disruption(time.Time{}), disruption.Options{})
	all, _ := h.index.ExplainAll() // what is wrong with the objects is a finding, or an error of the input
	for _, e := range all {
		switch {
		case e.Budget != nil && e.Budget.Failure != purekube.ErrDuplicate.Error():
			h.explained[e.Key] = e.Budget
		case e.Pod != nil && len(e.Pod.Budgets) > 1:
			h.shared = append(h.shared, e)
		}
	}
	return h
}

// replaced is the list with copies of its objects, changed.
func replaced[T any, P interface {
	*T
	manifests.Object
}](list []P, change func(P)) []P {
	all := make([]P, len(list))
	for i, o := range list {
		if o == nil {
			continue
		}
		shallow := *o
		all[i] = &shallow
		change(all[i])
	}
	return all
}

// owner is the controller of the object. It is the zero key for an object without one.
func owner(o metav1.Object) purekube.Key {
	of := metav1.GetControllerOfNoCopy(o)
	if of == nil {
		return purekube.Key{}
	}
	return purekube.Key{Kind: of.Kind, Namespace: o.GetNamespace(), Name: of.Name}
}

// workloads notes the workloads whose pods could not be made.
func (l *linter) workloads(err error) {
	for _, e := range flattened(err) {
		var wrong *purekube.ObjectError
		if !errors.As(e, &wrong) {
			continue
		}
		if l.broken == nil {
			l.broken = map[string]bool{}
		}
		l.broken[wrong.Namespace] = true
		l.find(WorkloadInvalid, purekube.Key{Kind: wrong.Kind, Namespace: wrong.Namespace, Name: wrong.Name}, wrong.Field,
			oneLine(wrong.Err)+": it has no pods, and budgets that select them are not judged by them")
	}
}

func flattened(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// idle are the budgets that select pods of a workload with 0 replicas.
func (l *linter) idle(x *disruption.Index) map[purekube.Key]bool {
	selected := map[purekube.Key]bool{}
	for s := range sources(l.set) {
		if s.replicas == nil || *s.replicas != 0 {
			continue
		}
		budgets, _ := x.BudgetsFor(s.pod())
		for _, b := range budgets {
			selected[disruption.KeyOf(b)] = true
		}
	}
	return selected
}
