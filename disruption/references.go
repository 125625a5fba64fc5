package disruption

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/internal/persistent"
)

// The controllers that the pods of one budget name. A budget usually has one reference (the ReplicaSet or StatefulSet),
// and two or three during a rollout. A budget over a whole namespace may have thousands, and a pod event must not cost
// a pass over them. So there are two representations: a slice for few, a sorted tree for many.

// reference is a controller that pods of a budget name. Pods that name the same controller share one reference.
type reference struct {
	// ref has only the fields that tell controllers apart; see referenceKey.
	ref metav1.OwnerReference
	// pods is how many pods name the controller. pod is the first of these pods by name; it is empty if that pod was
	// removed and the next pod is unknown.
	pods int32
	pod  string
}

// referenceKey returns the reference with only the fields that identify a controller. The result is comparable:
// controller and blockOwnerDeletion are pointers, which would make equal references different map keys.
func referenceKey(ref *metav1.OwnerReference) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID}
}

// compareReferences sorts references that referenceKey made. The order breaks ties between references whose first pods
// have one name, which happens only with ambiguous names.
func compareReferences(a, b metav1.OwnerReference) int {
	return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.UID, b.UID))
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
	many *persistent.Map[metav1.OwnerReference, reference]
	// memo is what the controllers of many references want.
	memo *scaleMemo
}

// newReferences keeps the slice. Each reference may occur once; referenceList makes such a slice.
func newReferences(list []reference) references {
	if len(list) <= fewReferences {
		return references{few: list}
	}
	edit := persistent.NewMap[metav1.OwnerReference, reference](compareReferences).Edit()
	for _, r := range list {
		edit.Set(r.ref, r)
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
	for _, r := range rs.many.All() {
		list = append(list, r)
	}
	return list
}

// find returns the reference as it is counted, and where it is in few. Without pods there is none.
func (rs references) find(ref metav1.OwnerReference) (r reference, i int) {
	if rs.many != nil {
		r, _ = rs.many.Get(ref)
	} else if i = slices.IndexFunc(rs.few, func(r reference) bool { return r.ref == ref }); i >= 0 {
		r = rs.few[i]
	}
	return r, i
}

// with counts one more pod. added: the pod is the first with this reference, so the Index must file the budget under
// it. It costs O(fewReferences) or O(log n). ref is a result of referenceKey.
func (rs references) with(ref metav1.OwnerReference, pod string) (next references, added bool) {
	r, i := rs.find(ref)
	if added = r.pods == 0; added {
		r = reference{ref: ref, pod: pod}
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
		if added {
			return s.with(r)
		}
		return s
	}), added
}

// put replaces what find has found, and the sum of the scales.
func (rs references) put(i int, r reference, sum func(*scaleSum) *scaleSum) references {
	if rs.many != nil {
		return references{many: rs.many.With(r.ref, r), memo: rs.memo.next(sum)}
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
	l.list = append(l.list, reference{ref: referenceKey(ref), pods: 1, pod: pod})
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
