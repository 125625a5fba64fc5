package disruption

import (
	"cmp"
	"sync/atomic"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/internal/persistent"
)

// The controllers that the pods of one budget name. A budget usually has one reference (the ReplicaSet or StatefulSet),
// and two or three during a rollout. A budget over a whole namespace may have thousands, and a pod event must not cost
// a pass over them.

// reference is a controller that pods of a budget name. Pods that name the same controller share one reference.
type reference struct {
	// ref has only the fields that tell controllers apart; see referenceKey.
	ref metav1.OwnerReference
	naming
}

// naming are the pods that name a controller.
type naming struct {
	// pods is their number. first is the first of these pods by name; it is empty if that pod was removed and the
	// next pod is unknown.
	pods  int32
	first string
}

// with counts one more pod. An unknown first pod stays unknown: the new pod may or may not be before it.
func (n naming) with(pod string) naming {
	if n.pods++; n.pods == 1 || pod < n.first {
		n.first = pod
	}
	return n
}

// without counts one pod fewer. If the pod was the first by name, the next pod by name is unknown, and finding it would
// cost a pass over the budget's pods at each deletion. Index.expectInOrder finds the name if an error message needs it:
// a rollout deletes thousands of pods, and almost no plan asks.
func (n naming) without(pod string) naming {
	if n.pods--; n.first == pod {
		n.first = ""
	}
	return n
}

// referenceKey returns the reference with only the fields that identify a controller. The result is comparable:
// controller and blockOwnerDeletion are pointers, which would make equal references different map keys.
func referenceKey(ref *metav1.OwnerReference) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID}
}

// compareReferences sorts references that referenceKey made.
func compareReferences(a, b metav1.OwnerReference) int {
	return cmp.Or(cmp.Compare(a.UID, b.UID), cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Name, b.Name))
}

// references are the references of the pods of one budget, each of which has at least one pod. The value never changes:
// with and without return another.
type references struct {
	namings *persistent.Map[metav1.OwnerReference, naming]
	// wanted is what the controllers want, once a plan has asked. Every goroutine computes the same value, so it does
	// not matter which one stores it, and an Index stays safe for concurrent use.
	wanted *atomic.Pointer[wantedScale]
}

var noReferences = persistent.NewMap[metav1.OwnerReference, naming](compareReferences)

// list returns the references in a new slice.
func (rs references) list() []reference {
	list := make([]reference, 0, rs.namings.Len())
	for ref, by := range rs.namings.All() {
		list = append(list, reference{ref, by})
	}
	return list
}

// with counts one more pod. added: the pod is the first with this reference, so the Index must file the budget under
// it. It costs O(log n). ref is a result of referenceKey.
func (rs references) with(ref metav1.OwnerReference, pod string) (next references, added bool) {
	by, _ := rs.namings.Get(ref)
	by = by.with(pod)
	if by.pods > 1 {
		return rs.follow(rs.namings.With(ref, by), ref, 0), false
	}
	return rs.follow(rs.namings.With(ref, by), ref, 1), true
}

// without counts one pod fewer. removed: the pod was the last with this reference, so the Index must remove the budget
// from it. At least one pod has the reference.
func (rs references) without(ref metav1.OwnerReference, pod string) (next references, removed bool) {
	by, _ := rs.namings.Get(ref)
	if by = by.without(pod); by.pods > 0 {
		return rs.follow(rs.namings.With(ref, by), ref, 0), false
	}
	return rs.follow(rs.namings.Without(ref), ref, -1), true
}

// follow returns the references with these namings. What the controllers want depends on which they are, and not on how
// many pods name each, so it follows in O(log n): by is 1 if ref is new, -1 if it is gone, and 0 if it was and is
// there.
func (rs references) follow(
	namings *persistent.Map[metav1.OwnerReference, naming], ref metav1.OwnerReference, by int32,
) references {
	next := references{namings: namings, wanted: &atomic.Pointer[wantedScale]{}}
	if known := rs.wanted.Load(); known != nil && known.controllers != nil {
		if by != 0 {
			known = known.changed(by, ref)
		}
		next.wanted.Store(known)
	}
	return next
}

// controllerName is a controller as pods name it, of whatever API group, version and UID. Its order puts the kind
// first, so that an answer about a whole kind is one range.
type controllerName struct{ kind, namespace, name string }

func compareControllerNames(a, b controllerName) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

// budgetsNaming are the budgets whose pods name a controller, each with the number of its references, which differ in
// group, version or UID. A user chooses how many budgets and controllers there are, and this has an entry for each
// pair: the entry has what differs from pair to pair and nothing else.
type budgetsNaming = persistent.Map[string, int32]

// refer counts a reference of the budget more or fewer.
func refer(
	edit *persistent.Edit[controllerName, *budgetsNaming], b *policyv1.PodDisruptionBudget, ref metav1.OwnerReference,
	by int32,
) {
	at := controllerName{ref.Kind, b.Namespace, ref.Name}
	budgets, found := edit.Get(at)
	if !found {
		budgets = persistent.NewMap[string, int32](cmp.Compare[string])
	}
	n, _ := budgets.Get(b.Name)
	if n += by; n > 0 {
		budgets = budgets.With(b.Name, n)
	} else {
		budgets = budgets.Without(b.Name)
	}
	if budgets.Len() > 0 {
		edit.Set(at, budgets)
	} else {
		edit.Delete(at)
	}
}
