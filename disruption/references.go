package disruption

import (
	"cmp"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/persistent"
)

// The controllers that the pods of one budget name. A budget usually has one reference (the ReplicaSet or StatefulSet),
// and two or three during a rollout. A budget over a whole namespace may have thousands, and a pod event must not cost
// a pass over them. So there are two representations: a slice for few, a sorted tree for many.

// reference is a controller that pods of a budget name. Pods that name the same controller share one reference.
type reference struct {
	// ref has only the fields that tell controllers apart; see referenceKey.
	ref metav1.OwnerReference
	naming
}

// naming are the pods that name a controller.
type naming struct {
	// pods is how many they are. pod is the first of these pods by name; it is empty if that pod was removed and the
	// next pod is unknown.
	pods int32
	pod  string
}

// referenceKey returns the reference with only the fields that identify a controller. The result is comparable:
// controller and blockOwnerDeletion are pointers, which would make equal references different map keys.
func referenceKey(ref *metav1.OwnerReference) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID}
}

// compareReferences sorts references that referenceKey made. References with one UID stand next to each other. The
// order also breaks ties between references whose first pods have one name, which happens only with ambiguous names.
func compareReferences(a, b metav1.OwnerReference) int {
	return cmp.Or(cmp.Compare(a.UID, b.UID), cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Name, b.Name))
}

// A list of at most fewReferences is searched faster than a map and copied faster than a tree changes. Most budgets
// have one or two references.
const fewReferences = 8

// references are the references of the pods of one budget. The value never changes: with and without return another.
//
// At most one of few and many is set, and each value with many has a memo of its own. Each reference has at least one
// pod. A value that has grown past fewReferences keeps the tree when it shrinks again.
type references struct {
	few  []reference
	many *persistent.Map[metav1.OwnerReference, naming]
	// memo is what the controllers of many references want.
	memo *scaleMemo
}

// newReferences keeps the slice. Each reference may occur once; referenceList makes such a slice.
func newReferences(list []reference) references {
	if len(list) <= fewReferences {
		return references{few: list}
	}
	edit := persistent.NewMap[metav1.OwnerReference, naming](compareReferences).Edit()
	for _, r := range list {
		edit.Set(r.ref, r.naming)
	}
	return references{many: edit.Map(), memo: &scaleMemo{}}
}

// len is the number of distinct references, and not of pods.
func (rs references) len() int {
	if rs.many != nil {
		return rs.many.Len()
	}
	return len(rs.few)
}

// list returns the references in no particular order, in a new slice.
func (rs references) list() []reference {
	if rs.many == nil {
		return slices.Clone(rs.few)
	}
	list := make([]reference, 0, rs.many.Len())
	for ref, by := range rs.many.All() {
		list = append(list, reference{ref, by})
	}
	return list
}

// find returns the reference as it is counted, and where it is in few. Without pods there is none.
func (rs references) find(ref metav1.OwnerReference) (r reference, i int) {
	if rs.many != nil {
		by, _ := rs.many.Get(ref)
		return reference{ref, by}, 0
	}
	if i = slices.IndexFunc(rs.few, func(r reference) bool { return r.ref == ref }); i >= 0 {
		r = rs.few[i]
	}
	return r, i
}

// with counts one more pod. added: the pod is the first with this reference, so the Index must file the budget under
// it. It costs O(fewReferences) or O(log n). ref is a result of referenceKey.
func (rs references) with(ref metav1.OwnerReference, pod string) (next references, added bool) {
	r, i := rs.find(ref)
	if added = r.pods == 0; added {
		r = reference{ref, naming{pod: pod}}
	}
	// An unknown first pod stays unknown: the new pod may or may not be before it.
	if r.pods++; r.pod != "" {
		r.pod = min(r.pod, pod)
	}
	if added && rs.many == nil {
		// newReferences turns the slice into a tree if it has become too long.
		return newReferences(append(slices.Clone(rs.few), r)), true
	}
	// The sum of the scales depends on which controllers are named, and not on how many pods name each.
	return rs.put(i, r, func(s *scaleSum) *scaleSum {
		switch {
		case !added:
			return s
		case rs.haveUID(ref.UID): // the order of the pods decides which of the two counts
			return nil
		}
		return s.with(r)
	}), added
}

// haveUID reports whether one of many references has the UID.
func (rs references) haveUID(uid types.UID) bool {
	first, _, found := rs.many.Ceiling(metav1.OwnerReference{UID: uid})
	return found && first.UID == uid
}

// put replaces what find has found, and the sum of the scales.
func (rs references) put(i int, r reference, sum func(*scaleSum) *scaleSum) references {
	if rs.many != nil {
		return references{many: rs.many.With(r.ref, r.naming), memo: rs.memo.next(sum)}
	}
	few := slices.Clone(rs.few)
	few[i] = r
	return references{few: few}
}

// without counts one pod fewer. removed: the pod was the last with this reference, so the Index must remove the budget
// from it. A reference that no pod has changes nothing.
//
// If the pod was the first by name, the next pod by name is unknown, and finding it would cost a pass over the budget's
// pods at each deletion. pod becomes empty instead, and podCount.namePods finds the name if an error message needs it:
// a rollout deletes thousands of pods, and almost no plan asks.
func (rs references) without(ref metav1.OwnerReference, pod string) (next references, removed bool) {
	r, i := rs.find(ref)
	if r.pods == 0 {
		return rs, false
	}
	if r.pods--; r.pod == pod {
		r.pod = ""
	}
	switch {
	case r.pods > 0:
		return rs.put(i, r, func(s *scaleSum) *scaleSum { return s }), false
	case rs.many != nil:
		return references{many: rs.many.Without(ref), memo: rs.memo.next(func(s *scaleSum) *scaleSum { return s.without(ref) })}, true
	}
	return references{few: slices.Delete(slices.Clone(rs.few), i, i+1)}, true
}

// referenceList collects references, one pod at a time.
type referenceList struct {
	list []reference
	at   map[metav1.OwnerReference]int // where in list, once they are many
}

// add counts a pod. It keeps the first pod by name of each reference, whatever the order of the calls.
func (l *referenceList) add(ref *metav1.OwnerReference, pod string) {
	if i, known := l.find(ref); known {
		l.list[i].pods++
		l.list[i].pod = min(l.list[i].pod, pod)
		return
	}
	if l.at != nil {
		l.at[referenceKey(ref)] = len(l.list)
	}
	l.list = append(l.list, reference{referenceKey(ref), naming{1, pod}})
}

// find returns where the reference is in list. Building the list is part of one pass over all pods, so the common case,
// few references, allocates nothing and makes no map.
func (l *referenceList) find(ref *metav1.OwnerReference) (int, bool) {
	if len(l.list) <= fewReferences {
		for i := range l.list {
			// The UIDs differ in all but the strangest of cases.
			if r := &l.list[i].ref; r.UID == ref.UID && r.Name == ref.Name && r.Kind == ref.Kind && r.APIVersion == ref.APIVersion {
				return i, true
			}
		}
		return 0, false
	}
	if l.at == nil {
		l.at = make(map[metav1.OwnerReference]int, 2*len(l.list))
		for i, r := range l.list {
			l.at[r.ref] = i
		}
	}
	i, known := l.at[referenceKey(ref)]
	return i, known
}

// controllerName is a controller as pods name it, of whatever UID. Its order puts the kind first, so that an answer
// about a whole kind is one range, then namespace and name, so that a workload is one range within it.
type controllerName struct{ kind, namespace, name, apiVersion string }

func nameOf(namespace string, ref metav1.OwnerReference) controllerName {
	return controllerName{ref.Kind, namespace, ref.Name, ref.APIVersion}
}

func compareControllerNames(a, b controllerName) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name),
		cmp.Compare(a.apiVersion, b.apiVersion))
}

// budgetsNaming are the budgets whose pods name a controller, each with the number of its references, which differ in
// their UID. A user chooses how many budgets and controllers there are, and this has an entry for each pair: the entry
// has what differs from pair to pair and nothing else.
type budgetsNaming = persistent.Map[string, int32]

// refer counts a reference of the budget more or fewer.
func refer(edit *persistent.Edit[controllerName, *budgetsNaming], b *policyv1.PodDisruptionBudget, ref metav1.OwnerReference, by int32) {
	at := nameOf(b.Namespace, ref)
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
