package rbacaggregate

import (
	"encoding/json"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The end state of upstream's rounds is that of the default (D-11) but for two things. In a cycle, what
// is stored in a member, or in a role that it rests on, can get into the cycle and go round for ever; whether it
// does depends on the order of the passes, so here it does. And a role without any rules left may keep
// those that are stored in it (D-20). Whether any are left can depend on that order too, so then it keeps them.

// aggregatedBelow returns the members of a group and all roles that they rest on and that aggregate.
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
// removes only what the controller applied before and nobody else owns. It is not known if the managedFields are left
// out or cannot be read.
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
		case fields == nil: // there is no object in it that could be read
			return false, false
		default:
			others = others || owned
		}
	}
	return others || !mine, len(object.ManagedFields) > 0
}
