package disruption

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/internal/persistent"
)

// reference is a controller that pods of a budget name.
type reference struct {
	// ref has only the fields that tell controllers apart; see referenceKey.
	ref metav1.OwnerReference
	// pods is how many pods name the controller. pod is the first of these pods by name; it is empty if that pod was
	// removed and the next pod is unknown.
	pods int32
	pod  string
}

// referenceKey returns the reference with only the fields that identify a controller.
func referenceKey(ref *metav1.OwnerReference) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID}
}

func compareReferences(a, b metav1.OwnerReference) int {
	return cmp.Or(
		cmp.Compare(a.APIVersion, b.APIVersion),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.UID, b.UID),
	)
}

// A list of at most fewReferences is searched faster than a map and copied faster than a tree changes. Most budgets
// have one or two references.
const fewReferences = 8

// references are the references of the pods of one budget. The value never changes: with and without return another.
type references struct {
	few  []reference
	many *persistent.Map[metav1.OwnerReference, reference]
	// memo is what the controllers of many references want.
	memo *scaleMemo
}

// newReferences keeps the slice.
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

// with counts one more pod. added: the pod is the first with this reference.
func (rs references) with(ref metav1.OwnerReference, pod string) (next references, added bool) {
	i := slices.IndexFunc(rs.few, func(r reference) bool { return r.ref == ref })
	r := reference{ref: ref, pod: pod}
	switch {
	case rs.many != nil:
		if known, found := rs.many.Get(ref); found {
			r = known
		}
	case i >= 0:
		r = rs.few[i]
	}
	r.pods++
	if r.pod != "" {
		r.pod = min(r.pod, pod)
	}
	switch {
	case rs.many != nil:
		added = r.pods == 1
		return references{many: rs.many.With(ref, r), memo: rs.memo.next(func(s *scaleSum) *scaleSum {
			if added {
				return s.with(ref)
			}
			return s
		})}, added
	case i < 0:
		return newReferences(append(slices.Clone(rs.few), r)), true
	}
	few := slices.Clone(rs.few)
	few[i] = r
	return references{few: few}, false
}

// without counts one pod fewer. removed: the pod was the last with this reference.
func (rs references) without(ref metav1.OwnerReference, pod string) (next references, removed bool) {
	i := slices.IndexFunc(rs.few, func(r reference) bool { return r.ref == ref })
	var r reference
	if rs.many != nil {
		r, _ = rs.many.Get(ref)
	} else if i >= 0 {
		r = rs.few[i]
	}
	if r.pods == 0 {
		return rs, false
	}
	if r.pods--; r.pod == pod {
		r.pod = ""
	}
	switch {
	case rs.many != nil && r.pods == 0:
		return references{many: rs.many.Without(ref), memo: rs.memo.next(func(s *scaleSum) *scaleSum { return s.without(ref) })}, true
	case rs.many != nil:
		return references{many: rs.many.With(ref, r), memo: rs.memo.next(func(s *scaleSum) *scaleSum { return s })}, false
	case r.pods == 0:
		return references{few: slices.Delete(slices.Clone(rs.few), i, i+1)}, true
	}
	few := slices.Clone(rs.few)
	few[i] = r
	return references{few: few}, false
}

// referenceList collects references, one pod at a time.
type referenceList struct {
	list []reference
	at   map[metav1.OwnerReference]int // where in list, once they are many
}

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
