package disruption

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// Index is a [Snapshot] arranged for many questions. It never changes: With and Without return
// another one, which shares with it what is the same in both. Any number of goroutines may use one.
//
// Every method answers what the function of that name answers for the same objects.
type Index struct {
	s Snapshot
	o Options
}

// NewIndex arranges the snapshot, in one pass over it.
func NewIndex(s Snapshot, o Options) *Index { return &Index{s: s, o: o} }

// Err is what is wrong with the objects as a whole: nil pointers, objects without a name, and names that
// more than one object of a kind has.
func (x *Index) Err() error {
	p := newPlanner(x.s, x.o)
	problems := p.problems
	for _, e := range slices.Concat(p.budgetNames.Duplicates(), p.podNames.Duplicates(), p.workloads.duplicates()) {
		problems.Add(e)
	}
	return problems.Err()
}

// With returns the index with these objects added, or put in the place of those of the same name, and the keys
// whose plan may differ now. Answers in changed.Scales are added; a Now that is not zero is the new time.
func (x *Index) With(changed Snapshot) (next *Index, affected []Key) {
	s := x.s
	s.Budgets = put(s.Budgets, changed.Budgets)
	s.Pods = put(s.Pods, changed.Pods)
	s.ReplicationControllers = put(s.ReplicationControllers, changed.ReplicationControllers)
	s.ReplicaSets = put(s.ReplicaSets, changed.ReplicaSets)
	s.Deployments = put(s.Deployments, changed.Deployments)
	s.StatefulSets = put(s.StatefulSets, changed.StatefulSets)
	s.Scales = maps.Clone(s.Scales)
	for key, scale := range changed.Scales {
		if s.Scales == nil {
			s.Scales = map[ScaleKey]Scale{}
		}
		s.Scales[key] = scale
	}
	if !changed.Now.IsZero() {
		s.Now = changed.Now
	}
	next = &Index{s: s, o: x.o}
	return next, x.affected(next, changed)
}

// Without returns the index without the objects of these names and without the answers under these keys of Scales,
// and the keys whose plan may differ now.
func (x *Index) Without(gone Snapshot) (next *Index, affected []Key) {
	s := x.s
	s.Budgets = remove(s.Budgets, gone.Budgets)
	s.Pods = remove(s.Pods, gone.Pods)
	s.ReplicationControllers = remove(s.ReplicationControllers, gone.ReplicationControllers)
	s.ReplicaSets = remove(s.ReplicaSets, gone.ReplicaSets)
	s.Deployments = remove(s.Deployments, gone.Deployments)
	s.StatefulSets = remove(s.StatefulSets, gone.StatefulSets)
	s.Scales = maps.Clone(s.Scales)
	for key := range gone.Scales {
		delete(s.Scales, key)
	}
	next = &Index{s: s, o: x.o}
	return next, x.affected(next, gone)
}

// Plan is [Plan].
func (x *Index) Plan(key Key) (Result, error) { return Plan(x.s, key, x.o) }

// PlanAll is [PlanAll].
func (x *Index) PlanAll() ([]Outcome, error) { return PlanAll(x.s, x.o) }

// Explain is [Explain].
func (x *Index) Explain(key Key) (Explanation, error) { return Explain(x.s, key, x.o) }

// ExplainAll is [ExplainAll].
func (x *Index) ExplainAll() ([]Explanation, error) { return ExplainAll(x.s, x.o) }

// CheckEviction is [CheckEviction].
func (x *Index) CheckEviction(pod types.NamespacedName) (Eviction, error) {
	return x.checkEviction(pod, x.o.Recompute)
}

// BudgetsFor is [BudgetsFor].
func (x *Index) BudgetsFor(pod *corev1.Pod) ([]*policyv1.PodDisruptionBudget, error) {
	return BudgetsFor(x.s.Budgets, pod)
}

func (x *Index) checkEviction(pod types.NamespacedName, recompute bool) (Eviction, error) {
	o := x.o
	o.Recompute = recompute
	return CheckEviction(x.s, pod, o)
}

// pod returns the only pod of that name, or nil.
func (x *Index) pod(name types.NamespacedName) *corev1.Pod {
	return snapshot.NewTable(podKind, present(x.s.Pods)).Find(name)
}

// podsOnNode returns the pods with that spec.nodeName, sorted by namespace and name, those whose name
// another pod has left out.
func (x *Index) podsOnNode(node string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range x.s.Pods {
		if pod != nil && pod.Name != "" && pod.Spec.NodeName == node && x.pod(snapshot.KeyOf(pod)) != nil {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return persistent.CompareNames(snapshot.KeyOf(a), snapshot.KeyOf(b))
	})
	return pods
}

// podsOfController returns the pods of that namespace with an equal controller reference, sorted by name.
func (x *Index) podsOfController(namespace string, ref *metav1.OwnerReference) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range x.s.Pods {
		if pod != nil && pod.Name != "" && pod.Namespace == namespace && sameController(metav1.GetControllerOfNoCopy(pod), ref) {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return persistent.CompareNames(snapshot.KeyOf(a), snapshot.KeyOf(b))
	})
	return pods
}

// controllerOf is what is known about the controller that an owner reference of pods in the
// namespace names.
func (x *Index) controllerOf(namespace string, ref *metav1.OwnerReference) answer {
	return newWorkloads(x.s, x.o, &snapshot.Problems{}).controllerOf(namespace, ref)
}

func (x *Index) affected(next *Index, changed Snapshot) []Key {
	var keys []Key
	add := func(more []Key) { keys = append(keys, more...) }
	each(changed.Budgets, x.s.Budgets, next.s.Budgets, func(a, b *policyv1.PodDisruptionBudget) { add(AffectedByBudget(next.s, a, b, x.o)) })
	each(changed.Pods, x.s.Pods, next.s.Pods, func(a, b *corev1.Pod) { add(AffectedByPod(next.s, a, b, x.o)) })
	each(changed.ReplicationControllers, x.s.ReplicationControllers, next.s.ReplicationControllers, func(a, b *corev1.ReplicationController) {
		add(AffectedByReplicationController(next.s, a, b, x.o))
	})
	each(changed.ReplicaSets, x.s.ReplicaSets, next.s.ReplicaSets, func(a, b *appsv1.ReplicaSet) { add(AffectedByReplicaSet(next.s, a, b, x.o)) })
	each(changed.Deployments, x.s.Deployments, next.s.Deployments, func(a, b *appsv1.Deployment) { add(AffectedByDeployment(next.s, a, b, x.o)) })
	each(changed.StatefulSets, x.s.StatefulSets, next.s.StatefulSets, func(a, b *appsv1.StatefulSet) { add(AffectedByStatefulSet(next.s, a, b, x.o)) })
	for key := range changed.Scales {
		add(AffectedByScale(next.s, key, x.o))
	}
	return sortedKeys(keys)
}

func each[T any, P snapshot.Object[T]](changed, before, after []P, tell func(a, b P)) {
	for _, o := range present(changed) {
		tell(one(before, o), one(after, o))
	}
}

func one[T any, P snapshot.Object[T]](objects []P, like P) P {
	return snapshot.NewTable("", present(objects)).Find(snapshot.KeyOf(like))
}

func present[T any, P snapshot.Object[T]](objects []P) []P {
	return snapshot.Named("", objects, &snapshot.Problems{})
}

func put[T any, P snapshot.Object[T]](objects, changed []P) []P {
	return append(remove(objects, changed), changed...)
}

func remove[T any, P snapshot.Object[T]](objects, gone []P) []P {
	names := map[types.NamespacedName]bool{}
	for _, o := range gone {
		if o != nil && o.GetName() != "" {
			names[snapshot.KeyOf(o)] = true
		}
	}
	var kept []P
	for _, o := range objects {
		if o == nil || !names[snapshot.KeyOf(o)] {
			kept = append(kept, o)
		}
	}
	return kept
}
