package rbacaggregate

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Change is what happens to the rules of a ClusterRole that aggregates. Both lists are in the
// order in which the ClusterRole has them, and at least one of them is not empty.
type Change struct {
	Name           string
	Added, Removed []rbacv1.PolicyRule
}

// Preview returns what would become of the ClusterRoles if changed were written, created or in
// the place of the one of its name, and aggregation came to rest; sorted by name. It is for a
// webhook that is to say no when a label gives rules away.
//
// For another ClusterRole a change is the difference between what aggregation makes of it without and
// with the write, so what is out of date already is not held against the write. For
// changed itself it is the difference between the rules that are being written and those that
// aggregation replaces them with; one that does not aggregate keeps what it says and is not
// listed. Nor is a ClusterRole that has the same rules in another order.
//
// Under MatchUpstream the changes are those of the first round of writes: rules go up one level a
// round.
//
// Errors are those of the ClusterRoles that would have to be written, before or after; these are
// left out where their rules cannot be known. A changed that is nil or has no name is an error too.
func Preview(s Snapshot, changed *rbacv1.ClusterRole, o Options) ([]Change, error) {
	var problems snapshot.Problems
	switch {
	case changed == nil:
		problems.Add(&purekube.ObjectError{Kind: kindClusterRole, Err: purekube.ErrNil})
		return nil, problems.Err()
	case changed.Name == "":
		problems.Add(snapshot.NamelessError(kindClusterRole))
		return nil, problems.Err()
	}
	ids := &ruleIDs{}
	before := newGraph(s, o, ids)
	after := newGraph(s.after(nil, changed), o, ids)
	problems = after.problems

	var changes []Change
	for i := range after.roles {
		name := after.roles[i].name
		if !after.roles[i].aggregates() {
			continue
		}
		var is []rule
		known := true
		if name == changed.Name {
			is = after.written(i)
		} else if was, found := before.find(name); found {
			is, known = before.intended(was, &problems)
		}
		becomes, ok := after.intended(i, &problems)
		if !known || !ok {
			continue
		}
		c := Change{Name: name, Added: without(becomes, is), Removed: without(is, becomes)}
		if len(c.Added)+len(c.Removed) > 0 {
			changes = append(changes, c)
		}
	}
	return changes, problems.Err()
}

// without returns copies of the rules in a that are not in b, each once; nil if there are none.
func without(a, b []rule) []rbacv1.PolicyRule {
	var u union
	u.add(b)
	inB := len(u.rules)
	u.add(a)
	if len(u.rules) == inB {
		return nil
	}
	return copyOf(u.rules[inB:])
}
