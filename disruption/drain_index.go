package disruption

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
)

// What a drain asks of an Index, beyond its public questions.

// now is the time of the index.
func (x *Index) now() time.Time { return x.time }

// changed is With and Without in one, without the keys that it affects.
func (x *Index) changed(put, gone Snapshot) *Index {
	next, _ := x.Without(gone)
	next, _ = next.With(put)
	return next
}

// covering are the budgets that cover the pod, sorted by name, as the index has them.
func (x *Index) covering(pod *corev1.Pod) []*policyv1.PodDisruptionBudget {
	// What is wrong with other budgets of the namespace is not asked here.
	budgets, _ := x.BudgetsFor(pod)
	return budgets
}

// beingDeleted are the pods of a budget that have a deletion timestamp, sorted by name.
func (x *Index) beingDeleted(budget types.NamespacedName) []*corev1.Pod {
	explained, _ := x.Explain(budgetKey(budget))
	var pods []*corev1.Pod
	for _, p := range explained.Pods {
		if p.Health == BeingDeleted {
			pods = append(pods, x.pod(types.NamespacedName{Namespace: budget.Namespace, Name: p.Name}))
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods
}

// shortOf is how many pods more the controller of that reference wants than it has. Pods that are
// being deleted or ended do not count. It is 0 where that cannot be known, with a Need if it can be
// looked up.
func (x *Index) shortOf(namespace string, ref *metav1.OwnerReference) (int, *purekube.Need) {
	replicas, known, need := x.workloads.replicas(namespace, ref)
	if !known {
		return 0, need
	}
	short := int(replicas)
	for _, pod := range x.podsOfController(namespace, ref) {
		if pod.DeletionTimestamp == nil && !podstate.Terminal(pod) {
			short--
		}
	}
	return short, nil
}

// replicas is how many pods the controller of that reference itself wants: a ReplicaSet what it says,
// whatever its Deployment does.
func (w *workloads) replicas(namespace string, ref *metav1.OwnerReference) (n int32, known bool, need *purekube.Need) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return 0, false, nil
	}
	key := types.NamespacedName{Namespace: namespace, Name: ref.Name}
	var spec *int32
	switch {
	case ref.Kind == replicationControllerKind && gv.Group == "":
		if rc := w.replicationControllers.Find(key); rc != nil && rc.UID == ref.UID {
			spec, known = rc.Spec.Replicas, true
		}
	case ref.Kind == replicaSetKind && appsGroup(gv.Group):
		if rs := w.replicaSets.Find(key); rs != nil && rs.UID == ref.UID {
			spec, known = rs.Spec.Replicas, true
		}
	case ref.Kind == statefulSetKind && gv.Group == "apps":
		if ss := w.statefulSets.Find(key); ss != nil && ss.UID == ref.UID {
			spec, known = ss.Spec.Replicas, true
		}
	}
	if known {
		return ptr.Deref(spec, 1), true, nil
	}
	a := w.scaleOf(gv.Group, namespace, ref)
	return a.found.scale, a.found.kind != "", a.need
}
