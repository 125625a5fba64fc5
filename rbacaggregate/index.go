package rbacaggregate

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// Index is a [Snapshot] arranged for many questions. It never changes: With and Without return another one, which
// shares with it what is the same in both. Any number of goroutines may use one, and derive others from it, at the
// same time.
//
// The functions [Plan] and [PlanAll] answer as the methods do: Plan(s, key, o) as NewIndex(s, o).Plan(key).
type Index struct {
	// All other fields are derived from objects, and replaced keeps them in step with it: aggregations has exactly
	// the names of unambiguous ClusterRoles with an aggregationRule; selectors, requests and labels say who matches
	// whom (see filing.go).
	options Options
	objects *clusterRoles
	// aggregations has the converted aggregationRules, by the name of their ClusterRole.
	aggregations *aggregations
	// selectors finds, by the labels of a role, the selectors that may match it. Some of these may no longer be in any
	// role.
	selectors *persistent.Selectors[*selector]
	// requests has the roles of each selector.
	requests *persistent.Map[request, *filedSelector]
	// labels finds the roles that a selector may match. It is arranged at the first question.
	labels *persistent.TermIndex[rbacv1.ClusterRole, *rbacv1.ClusterRole]
}

type (
	clusterRoles = persistent.Objects[rbacv1.ClusterRole, *rbacv1.ClusterRole]
	aggregations = persistent.Map[types.NamespacedName, *aggregation]
)

var _ purekube.Index[*Index, Snapshot, Action] = (*Index)(nil)

// NewIndex arranges the snapshot, in one pass over it. It keeps pointers to its objects, which must not be
// written to, and none to its slices and maps.
// The first question about a ClusterRole that
// aggregates arranges the labels in another pass.
func NewIndex(s Snapshot, o Options) *Index {
	x := &Index{options: o, objects: persistent.NewClusterObjects(kindClusterRole, s.ClusterRoles)}
	aggregations := persistent.NewMap[types.NamespacedName, *aggregation](persistent.CompareNames).Edit()
	selectors := converter{}
	// All leaves out ambiguous names: their ClusterRoles have no aggregation, since it is unknown which of them is
	// current.
	for object := range x.objects.All() {
		if object.AggregationRule != nil {
			aggregations.Set(nameOf(object.Name), selectors.aggregation(object))
		}
	}
	x.aggregations = aggregations.Map()
	x.fileSelectors()
	return x
}

// With returns the Index with these ClusterRoles, which replace ClusterRoles of the same name. It also returns the
// affected keys, sorted, each once: the keys whose [Outcome] in PlanAll may differ, in its Result or in the text of its
// Err.
//
// By default these are the keys that the changes can reach: a changed ClusterRole, if it has or had an aggregationRule
// and its rules, aggregationRule or UID changed; the ClusterRoles that aggregate it, before or after, if their sources
// or the rules that it contributes changed; and the ClusterRoles that aggregate these ClusterRoles, through all
// levels. A change of nothing else, for example a resync, names no key. The write of a [SetRules] names only the
// ClusterRole that it writes.
//
// Under MatchUpstream every change names every ClusterRole with an aggregationRule (BR-27-01; enqueue in
// clusterroleaggregation_controller.go).
//
// Nil objects and objects without a name belong to no key. Err, PlanAll and every Plan return them as errors. They add
// no key unless they change an outcome. They stay in the Index forever.
//
// It costs O(log n) for each ClusterRole and each of its labels, for n ClusterRoles in the Index, plus the selectors
// that may match it, plus what it affects. Once half of the ClusterRoles have changed, the Index is rebuilt, which
// costs O(n log n).
func (x *Index) With(changed Snapshot) (next *Index, affected []purekube.Key) {
	return x.affected(x.with(changed.ClusterRoles))
}

// Without returns the Index without the ClusterRoles of these names, and the affected keys, as With does. A name that
// is not in the Index changes nothing. It costs what [Index.With] does.
func (x *Index) Without(gone Snapshot) (next *Index, affected []purekube.Key) {
	return x.affected(x.without(gone.ClusterRoles))
}

// with and without are With and Without with the events themselves, which a preview needs.
func (x *Index) with(objects []*rbacv1.ClusterRole) (next *Index, events []event) {
	return x.replaced(x.objects.With(objects))
}

func (x *Index) without(objects []*rbacv1.ClusterRole) (next *Index, events []event) {
	return x.replaced(x.objects.Without(objects))
}

// replaced returns the Index of these objects, which are the objects of x after these changes.
func (x *Index) replaced(objects *clusterRoles, changes []persistent.Change[*rbacv1.ClusterRole]) (next *Index, events []event) {
	// The first nil object, or the first object without a name, is no change of a name, but changes what Err returns.
	if len(changes) == 0 && !objects.MoreUnnamed(x.objects) {
		return x, nil
	}
	// A copy of the struct: x stays as it is for everybody who has it.
	c := *x
	next = &c
	next.objects = objects
	selectors := converter{}
	// Without a change of an aggregating role the map stays the same map, by which refileSelectors sees that it has
	// nothing to do.
	if slices.ContainsFunc(changes, func(c persistent.Change[*rbacv1.ClusterRole]) bool {
		return role(c.Before).aggregates() || role(c.After).aggregates()
	}) {
		next.aggregations = persistent.Follow(x.aggregations, changes, func(object *rbacv1.ClusterRole) (*aggregation, bool) {
			return selectors.aggregation(object), object.AggregationRule != nil
		})
	}
	for _, change := range changes {
		events = append(events, newEvent(change))
	}
	// The objects have been collected in a new pass, and the labels are arranged for the collection before it. Filing
	// again also drops the entries of selectors that no role has any more.
	if objects.Renewed(x.objects) {
		next.fileSelectors()
		return next, events
	}
	next.refileSelectors(changes, x.aggregations)
	next.labels = x.labels.With(objects, changes)
	return next, events
}

// Err returns what is wrong with the ClusterRoles as a whole: nil ClusterRoles, ClusterRoles without a name, and names
// that several ClusterRoles have.
func (x *Index) Err() error {
	if err := x.options.err(); err != nil {
		return err
	}
	problems := x.newProblems()
	x.objects.AddDuplicatesTo(problems)
	return problems.Err()
}

// newProblems returns the problems of the Index as a whole, to which a question adds its own.
func (x *Index) newProblems() *snapshot.Problems {
	problems := &snapshot.Problems{}
	x.objects.AddTo(problems)
	return problems
}

// nameOf is the name of a ClusterRole in the shared collections. It has no namespace.
func nameOf(name string) types.NamespacedName { return types.NamespacedName{Name: name} }

// role has the ClusterRoles of one name: none, one, or several if the name is ambiguous.
//
// An ambiguous name does not occur in a cluster. It occurs in a snapshot of two dumps, or in manifests that define a
// ClusterRole twice.
type role []*rbacv1.ClusterRole

// find returns the role of a name. It is nil if no ClusterRole has the name.
func (x *Index) find(name string) role { return x.objects.Versions(nameOf(name)) }

// lookup returns the role of a key. It is nil for a key of another kind, or with a namespace: such a key names no
// ClusterRole.
func (x *Index) lookup(key purekube.Key) role {
	if key != Key(key.Name) {
		return nil
	}
	return x.find(key.Name)
}

// name returns the name. The role must not be empty.
func (r role) name() string { return r[0].Name }

func (r role) ambiguous() bool { return len(r) > 1 }

// aggregates reports whether the role has an aggregationRule. It is false for an ambiguous role.
func (r role) aggregates() bool { return len(r) == 1 && r[0].AggregationRule != nil }

// planned reports whether the role has a plan. The plan of an ambiguous role is an error.
func (r role) planned() bool { return r.ambiguous() || r.aggregates() }

// matchedBy reports whether the selector matches one of the ClusterRoles of the role. One match is enough for an
// ambiguous role: the matching ClusterRole may be the current one.
func (r role) matchedBy(s *selector) bool {
	for _, object := range r {
		if s.matches(object.Labels) {
			return true
		}
	}
	return false
}

// duplicateError is the problem of an ambiguous name.
func duplicateError(name string) *purekube.ObjectError {
	return snapshot.DuplicateError(kindClusterRole, nameOf(name))
}

// copyError returns a copy, so that no two results share an error. The errors of selectors are made once and belong to
// the Index.
func copyError(e *purekube.ObjectError) *purekube.ObjectError {
	c := *e
	return &c
}
