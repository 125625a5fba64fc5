package rbacaggregate

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// Index is a [Snapshot] arranged for many questions. It never changes: With and Without return another Index, which
// shares the unchanged parts with the first. Any number of goroutines may use an Index, and derive others from it, at
// the same time.
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

// NewIndex arranges the snapshot, in one pass over it. It keeps pointers to its objects, which must not be written to,
// and none to its slices and maps. The first question about a ClusterRole that aggregates arranges the labels in
// another pass.
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

// find returns the ClusterRole of a key. It returns nil if no ClusterRole has the name, and nil with an error if
// several have it. A key of another kind, or with a namespace, names no ClusterRole.
func (x *Index) find(key purekube.Key) (object *rbacv1.ClusterRole, duplicate *purekube.ObjectError) {
	if key != Key(key.Name) {
		return nil, nil
	}
	return x.objects.Lookup(nameOf(key.Name))
}

// aggregates reports whether an object, which may be nil, has an aggregationRule.
func aggregates(object *rbacv1.ClusterRole) bool {
	return object != nil && object.AggregationRule != nil
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
