package rbacaggregate

import (
	"encoding/json"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The end state of upstream's rounds is the end state of the default (D-11), with two exceptions. First, rules that
// are stored in a member of a cycle, or in a role that the member depends on, can enter the cycle and stay in it
// forever. Second, a role without rules to collect may keep its stored rules (D-20). Both can depend on the order of the
// passes, so there are two answers:
//
//	                            settled: in some order       surelySettled: in every order
//	stored rules in a cycle     stay                         go
//	D-20                        unless it surely collects    only if it never collects and the owners of its rules are known
//
// A preview compares what a role may have with the write with what it surely has without: a rule that the order of the
// passes decides about on both sides counts as added.

// aggregatedBelow returns the members of a group, and all aggregating roles that they depend on. What is stored in one
// of them may be read by a role above before aggregation removes it there. Once it is in a cycle, the members pass it
// on to each other.
func (e *evaluation) aggregatedBelow(g *group) []*node {
	e.pass++
	var found []*node
	enter := func(n *node) {
		// A role without a group is never written, so its rules are in the cycle's rules anyway.
		if n.group != nil && n.collected.first(e.pass) {
			found = append(found, n)
		}
	}
	for _, member := range g.roles {
		enter(member)
	}
	for i := 0; i < len(found); i++ {
		for _, s := range found[i].selections {
			if s.collected.first(e.pass) {
				for _, n := range s.sources {
					enter(n)
				}
			}
		}
	}
	return found
}

// keepsStored reports whether a role may keep the rules that are stored in it when upstream applies it without rules.
// When in doubt it keeps them: a preview that leaves out a permission is worse than a preview that has one too many.
func keepsStored(object *rbacv1.ClusterRole) bool {
	stay, known := staysWithoutRules(object)
	return stay || !known
}

// surelyKept reports whether upstream never changes the rules of an aggregating role: it has nothing to collect, and
// another field manager owns the rules. Sources that aggregate count as having rules, since their aggregated rules are
// not computed here.
func (n *node) surelyKept() bool {
	stay, known := staysWithoutRules(n.object)
	return known && stay && !n.anySource(func(source *node) bool {
		return source.aggregation != nil || len(source.object.Rules) > 0
	})
}

// anySource reports whether f is true for a source of a role, itself excepted (BR-27-03).
func (n *node) anySource(f func(*node) bool) bool {
	return slices.ContainsFunc(n.selections, func(s *selection) bool {
		return slices.ContainsFunc(s.sources, func(source *node) bool { return source != n && f(source) })
	})
}

// staysWithoutRules reports whether a role keeps its rules when upstream applies it without rules: server-side apply
// removes only rules that the controller applied before and that no other field manager owns. known is false if the
// managedFields are left out or cannot be read.
//
// The entries of managedFields, and what upstream's apply without rules does:
//
//	clusterrole-aggregation-controller   Apply    f:rules      it owned them: removed
//	kubectl                              Update   f:rules      another owner: they stay
//	kubectl                              Update   f:metadata   owns no rules: does not count
//	nobody owns f:rules                                        nothing to give up: they stay
//
// A field manager is a name and an operation: an Update under the name of the controller is another owner.
func staysWithoutRules(object *rbacv1.ClusterRole) (stay, known bool) {
	mine, others := false, false
	for _, m := range object.ManagedFields {
		data, _ := json.Marshal(m.FieldsV1)
		var fields map[string]json.RawMessage
		_ = json.Unmarshal(data, &fields)
		_, owned := fields["f:rules"]
		switch {
		// If the fields of this entry cannot be read, owned is false: then the rules stay unless another entry proves
		// otherwise.
		case m.Manager == FieldManager && m.Operation == metav1.ManagedFieldsOperationApply:
			mine = mine || owned
		case fields == nil: // the fields cannot be read
			return false, false
		default:
			others = others || owned
		}
	}
	// Informers often drop managedFields to save memory: no entry at all means that nothing is known.
	return others || !mine, len(object.ManagedFields) > 0
}
