package rbacaggregate

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// role is a name and the ClusterRole that has it.
type role struct {
	name string
	// object is nil if the name is ambiguous.
	object *rbacv1.ClusterRole
	// twins are all ClusterRoles of an ambiguous name.
	twins []*rbacv1.ClusterRole
}

// roleOf is the role of the ClusterRoles of one name.
func roleOf(objects []*rbacv1.ClusterRole) role {
	if len(objects) == 1 {
		return role{name: objects[0].Name, object: objects[0]}
	}
	return role{name: objects[0].Name, twins: objects}
}

func (r role) ambiguous() bool { return r.object == nil }

// aggregates reports whether the role has an aggregationRule. Nothing is known about an ambiguous one.
func (r role) aggregates() bool { return r.object != nil && r.object.AggregationRule != nil }

// mayAggregate reports whether one of the ClusterRoles of an ambiguous role has an aggregationRule.
func (r role) mayAggregate() bool {
	return slices.ContainsFunc(r.twins, func(o *rbacv1.ClusterRole) bool { return o.AggregationRule != nil })
}

// labels calls f for the labels of each ClusterRole of the name.
func (r role) labels(f func(map[string]string)) {
	if r.object != nil {
		f(r.object.Labels)
	}
	for _, o := range r.twins {
		f(o.Labels)
	}
}

// matchedBy reports whether the selector matches, for an ambiguous role one of its ClusterRoles.
func (r role) matchedBy(s *selector) (matched bool) {
	r.labels(func(set map[string]string) { matched = matched || s.matches(set) })
	return matched
}

func duplicateError(name string) *purekube.ObjectError {
	return snapshot.DuplicateError(kindClusterRole, types.NamespacedName{Name: name})
}

// usable returns the ClusterRoles that have a name, in their order, and what is wrong with the others.
// A namespace, which a ClusterRole has not, is left out.
func usable(objects []*rbacv1.ClusterRole) ([]*rbacv1.ClusterRole, []*purekube.ObjectError) {
	kept := make([]*rbacv1.ClusterRole, 0, len(objects))
	var sawNil, sawNameless bool
	for _, o := range objects {
		switch {
		case o == nil:
			sawNil = true
			continue
		case o.Name == "":
			sawNameless = true
			continue
		case o.Namespace != "":
			// The copy shares everything else with the original, which is only read.
			c := *o
			c.Namespace = ""
			o = &c
		}
		kept = append(kept, o)
	}
	var problems []*purekube.ObjectError
	if sawNil {
		problems = append(problems, &purekube.ObjectError{Kind: kindClusterRole, Err: purekube.ErrNil})
	}
	if sawNameless {
		problems = append(problems, snapshot.NamelessError(kindClusterRole))
	}
	return kept, problems
}

// table finds the ClusterRoles of one pass over a snapshot by name and by label. It does not change.
type table struct {
	objects []*rbacv1.ClusterRole
	byName  *snapshot.Table[rbacv1.ClusterRole, *rbacv1.ClusterRole]
	// twins are the ClusterRoles of each ambiguous name.
	twins  map[string][]*rbacv1.ClusterRole
	labels labelTable
}

// newTable keeps the slice and never writes to it.
func newTable(objects []*rbacv1.ClusterRole) *table {
	t := &table{objects: objects, byName: snapshot.NewTable(kindClusterRole, objects), labels: labelTable{objects: objects}}
	duplicates := t.byName.Duplicates()
	if len(duplicates) == 0 {
		return t
	}
	t.twins = make(map[string][]*rbacv1.ClusterRole, len(duplicates))
	for _, o := range objects {
		if t.byName.Ambiguous(types.NamespacedName{Name: o.Name}) {
			t.twins[o.Name] = append(t.twins[o.Name], o)
		}
	}
	return t
}

func (t *table) find(name string) (role, bool) {
	if twins := t.twins[name]; twins != nil {
		return role{name: name, twins: twins}, true
	}
	if o := t.byName.Find(types.NamespacedName{Name: name}); o != nil {
		return role{name: name, object: o}, true
	}
	return role{}, false
}

// at returns the role of an object by its position.
func (t *table) at(position int32) role {
	o := t.objects[position]
	if twins := t.twins[o.Name]; twins != nil {
		return role{name: o.Name, twins: twins}
	}
	return role{name: o.Name, object: o}
}

// each calls f for every role.
func (t *table) each(f func(role)) {
	for _, o := range t.objects {
		if t.twins[o.Name] == nil {
			f(role{name: o.Name, object: o})
		}
	}
	for name, twins := range t.twins {
		f(role{name: name, twins: twins})
	}
}
