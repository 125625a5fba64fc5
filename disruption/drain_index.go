package disruption

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// What a drain asks of an Index, beyond its public questions.

// changed is Without and With in one, without the keys that they affect.
func (x *Index) changed(put, gone Snapshot) *Index {
	next := x
	if len(gone.Pods) > 0 {
		next, _ = next.Without(gone)
	}
	if len(put.Pods)+len(put.Budgets) > 0 || !put.Now.IsZero() {
		next, _ = next.With(put)
	}
	return next
}

// namesOfBudgets are the budgets that cover the pod, sorted by name.
func (x *Index) namesOfBudgets(pod *corev1.Pod) []types.NamespacedName {
	covering := x.coveredBy(pod)
	names := make([]types.NamespacedName, len(covering))
	for i, st := range covering {
		names[i] = snapshot.KeyOf(st.budget)
	}
	return names
}

// budget returns the only budget of that name, or nil.
func (x *Index) budget(name types.NamespacedName) *policyv1.PodDisruptionBudget {
	if st := x.states.Find(name); st != nil {
		return st.budget
	}
	return nil
}

// duplicatesOnNode are the names of pods on the node that other pods have as well, sorted.
func (x *Index) duplicatesOnNode(node string) []types.NamespacedName {
	var names []types.NamespacedName
	if x.pods.double.Len() == 0 {
		return nil
	}
	for name, same := range x.pods.double.All() {
		if slices.ContainsFunc(same, func(p *corev1.Pod) bool { return p.Spec.NodeName == node }) {
			names = append(names, name)
		}
	}
	return names
}

// beingDeleted are the pods of a budget that have a deletion timestamp, sorted by name.
func (x *Index) beingDeleted(budget types.NamespacedName) []*corev1.Pod {
	st := x.states.Find(budget)
	if st == nil {
		return nil
	}
	added := lazily(x.terms.added)
	pods := x.terms.withTerm(x.terms.deleting(budget.Namespace), x.pods.unique.Find, &added, func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp != nil && st.covers(pod)
	})
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods
}

// comeBack is how many of the pods that are gone the controller of that reference makes again. The
// index has them still, and shows all but unshown of them as being deleted. The controller wants as
// many pods as its replicas say, and those that are being deleted or ended do not count. It makes none where
// its replicas cannot be known, with a Need if they can be looked up.
func (x *Index) comeBack(namespace string, ref *metav1.OwnerReference, gone, unshown int) (int, *purekube.Need) {
	replicas, known, need := x.workloads.replicas(namespace, ref)
	if !known {
		return 0, need
	}
	// A name that more than one pod has is one pod that the controller has.
	doubles := 0
	for _, same := range x.pods.doubles(namespace) {
		if slices.ContainsFunc(same, func(p *corev1.Pod) bool { return sameController(metav1.GetControllerOfNoCopy(p), ref) }) {
			doubles++
		}
	}
	// Where there are no more pods than replicas, whatever state they are in, all come back.
	if x.podsNaming(namespace, ref)+doubles <= int(replicas) {
		return gone, nil
	}
	short := int(replicas) + unshown - doubles
	for _, pod := range x.podsOfController(namespace, ref) {
		if pod.DeletionTimestamp == nil && !podstate.Terminal(pod) {
			short--
		}
	}
	return min(max(short, 0), gone), nil
}

// podsNaming is the number of pods with that controller reference, or more.
func (x *Index) podsNaming(namespace string, ref *metav1.OwnerReference) int {
	term := x.terms.controller(namespace, ref)
	n := int(x.terms.baseCount(term))
	added := lazily(x.terms.added)
	for a := range added.since(addedTerm{term: term}) {
		if a.term != term {
			break
		}
		n++
	}
	return n
}

// replicas is how many pods the controller of that reference itself wants: a ReplicaSet what it says,
// whatever its Deployment does.
func (w *workloads) replicas(namespace string, ref *metav1.OwnerReference) (n int32, known bool, need *purekube.Need) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return 0, false, nil
	}
	key := types.NamespacedName{Namespace: namespace, Name: ref.Name}
	switch {
	case ref.Kind == replicationControllerKind && gv.Group == "":
		if rc := w.replicationControllers.Find(key); rc != nil && rc.UID == ref.UID {
			return ptr.Deref(rc.Spec.Replicas, 1), true, nil
		}
	case ref.Kind == statefulSetKind && gv.Group == "apps":
		if ss := w.statefulSets.Find(key); ss != nil && ss.UID == ref.UID {
			return ptr.Deref(ss.Spec.Replicas, 1), true, nil
		}
	case ref.Kind == replicaSetKind && appsGroup(gv.Group):
		rs := w.replicaSets.Find(key)
		if (rs == nil || rs.UID != ref.UID) && !w.o.matchUpstream() {
			// The object is asked for, as where its Deployment matters (D-22).
			answer, asked := w.scales.Get(ScaleKey{Group: "apps", Kind: replicaSetKind, Namespace: namespace, Name: ref.Name})
			if !asked {
				return 0, false, needed(purekube.Need{APIVersion: "apps/v1", Kind: replicaSetKind, Namespace: namespace, Name: ref.Name}).need
			}
			rs = answer.ReplicaSet
		}
		if rs != nil && rs.UID == ref.UID {
			return ptr.Deref(rs.Spec.Replicas, 1), true, nil
		}
	}
	a := w.scaleOf(gv.Group, namespace, ref)
	return a.found.scale, a.found.kind != "", a.need
}

// planned is the budget as the disruption controller writes it, nil if it would not.
func (x *Index) planned(budget types.NamespacedName) *policyv1.PodDisruptionBudget {
	if st := x.states.Find(budget); st != nil {
		return x.decide(st).budget
	}
	return nil
}

func sortNames(names []types.NamespacedName) []types.NamespacedName {
	slices.SortFunc(names, persistent.CompareNames)
	return slices.Compact(names)
}
