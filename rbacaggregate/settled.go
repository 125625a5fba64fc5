package rbacaggregate

import (
	"encoding/json"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The end state of upstream's rounds is the end state of the default (D-11), with two exceptions. First, rules that
// are stored in a member of a cycle, or in a role that the member depends on, can enter the cycle and stay in it
// forever. Whether they do depends on the order of the passes, so here they always do. Second, a role without rules to
// collect may keep its stored rules (D-20). Whether it has rules to collect can also depend on the order of the passes;
// if so, it keeps its stored rules here.

// aggregatedBelow returns the members of a group, and all aggregating roles that they depend on.
func (e *evaluation) aggregatedBelow(g *group) []*node {
	e.pass++
	var found []*node
	enter := func(n *node) {
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
func keepsStored(object *rbacv1.ClusterRole) bool {
	stay, known := staysWithoutRules(object)
	return stay || !known
}

// staysWithoutRules reports whether a role keeps its rules when upstream applies it without rules: server-side apply
// removes only rules that the controller applied before and that no other field manager owns. known is false if the
// managedFields are left out or cannot be read.
func staysWithoutRules(object *rbacv1.ClusterRole) (stay, known bool) {
	mine, others := false, false
	for _, m := range object.ManagedFields {
		data, _ := json.Marshal(m.FieldsV1)
		var fields map[string]json.RawMessage
		_ = json.Unmarshal(data, &fields)
		_, owned := fields["f:rules"]
		switch {
		case m.Manager == FieldManager && m.Operation == metav1.ManagedFieldsOperationApply:
			mine = mine || owned
		case fields == nil: // the fields cannot be read
			return false, false
		default:
			others = others || owned
		}
	}
	return others || !mine, len(object.ManagedFields) > 0
}
