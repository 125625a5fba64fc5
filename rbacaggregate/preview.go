package rbacaggregate

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// Change is what a write does to the rules of a ClusterRole, once aggregation has finished. Without
// any rules there is no change.
type Change struct {
	// Key names the ClusterRole.
	Key purekube.Key `json:"key"`
	// Added are the rules that it has with the write and does not have without it, and Removed those that it
	// has without and does not have with it, each once, in the order in which the ClusterRole has them.
	// What is out of date already is not held against the write.
	Added   []rbacv1.PolicyRule `json:"added,omitempty"`
	Removed []rbacv1.PolicyRule `json:"removed,omitempty"`
	// Overwritten are the rules that the write itself stores in the ClusterRole, that it has neither now nor
	// after aggregation without the write, and that aggregation takes out again. They are granted until then.
	Overwritten []rbacv1.PolicyRule `json:"overwritten,omitempty"`
}

// Empty reports whether the write does not change the rules. Another order of the same rules is no
// change.
func (c Change) Empty() bool { return len(c.Added)+len(c.Removed)+len(c.Overwritten) == 0 }

// Preview returns what becomes of the aggregated ClusterRoles if changed is written, created or in the
// place of the one of its name, and aggregation has finished; sorted by key. The ClusterRole changed is itself
// among them if it has an aggregationRule, before or with the write; otherwise it has just the rules that it says.
//
// An admission webhook must use [Index.Grants] instead. A preview says what one kind of controller ends with: it leaves
// out rules that are granted until then, and rules that stay only with the other kind.
//
// Under MatchUpstream it is the end state of a stock cluster, after as many rounds of writes as it takes. Where the end
// state depends on the order of upstream's passes, a ClusterRole has every rule that some order leaves in it. That
// differs from the default in two cases. A rule that is stored in a member of a cycle of ClusterRoles, or in an
// aggregated one below, stays in all members. And a ClusterRole that some order leaves without rules to collect keeps
// those that are stored in it, unless its managedFields say that the controller owns them and no other field
// manager does (D-20).
//
// The error joins what is wrong with the ClusterRoles that the affected ones rest on with the write, and
// with the snapshot as a whole. Where rules cannot be known, the changes are as if aggregation did
// not write that ClusterRole, as it will not. A webhook that gets an error should refuse. A changed
// that is nil or has no name is an error too.
func Preview(s Snapshot, changed *rbacv1.ClusterRole, o Options) ([]Change, error) {
	return NewIndex(s, o).Preview(changed)
}

// PreviewRole returns what becomes of one ClusterRole if changed is written: what [Preview] says of
// it, with only the errors that this one rests on. It also answers for a ClusterRole without an
// aggregationRule: if that is changed, for the difference between its rules before and with the
// write, and otherwise without any change. A role that is neither in s nor changed is an error around
// [purekube.ErrNotFound].
func PreviewRole(s Snapshot, changed *rbacv1.ClusterRole, role purekube.Key, o Options) (Change, error) {
	return NewIndex(s, o).PreviewRole(changed, role)
}

// PreviewDelete returns what becomes of the aggregated ClusterRoles if the one of this name is deleted: see
// [Preview]. The deleted one is itself among them if it has an aggregationRule; it loses all its rules.
// A name that s does not hold is an error around [purekube.ErrNotFound].
func PreviewDelete(s Snapshot, key purekube.Key, o Options) ([]Change, error) {
	return NewIndex(s, o).PreviewDelete(key)
}

// Preview is [Preview] for the objects of the Index. It costs what the affected ones rest
// on.
func (x *Index) Preview(changed *rbacv1.ClusterRole) ([]Change, error) {
	p, err := x.preview(changed)
	if err != nil {
		return nil, err
	}
	return p.all()
}

// PreviewRole is [PreviewRole] for the objects of the Index. It costs what the
// ClusterRole rests on, before and with the write.
func (x *Index) PreviewRole(changed *rbacv1.ClusterRole, role purekube.Key) (Change, error) {
	p, err := x.preview(changed)
	if err != nil {
		return Change{}, err
	}
	if p.after.index.lookup(role) == nil {
		return Change{}, x.errorWith(notFound(role))
	}
	problems := x.newProblems()
	c := p.of(role.Name, problems)
	return c, problems.Err()
}

// PreviewDelete is [PreviewDelete] for the objects of the Index.
func (x *Index) PreviewDelete(key purekube.Key) ([]Change, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	if x.lookup(key) == nil {
		return nil, x.errorWith(notFound(key))
	}
	return x.previewOf(key.Name, nil).all()
}

// preview is a write and what is before and after it.
type preview struct {
	before, after *evaluation
	event         event
}

func (x *Index) preview(changed *rbacv1.ClusterRole) (*preview, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	if wrong := unnamed(changed); wrong != nil {
		return nil, x.errorWith(wrong)
	}
	return x.previewOf(changed.Name, changed), nil
}

func (x *Index) previewOf(name string, object *rbacv1.ClusterRole) *preview {
	next, events := x.put(name, object)
	m := nested
	if x.options.matchUpstream() {
		m = settled
	}
	ids := &ruleIDs{}
	return &preview{before: x.evaluate(m, ids), after: next.evaluate(m, ids), event: events[0]}
}

// put returns the Index with this ClusterRole, or without the name where it is nil.
func (x *Index) put(name string, object *rbacv1.ClusterRole) (next *Index, events []event) {
	if object == nil {
		return x.without([]*rbacv1.ClusterRole{{ObjectMeta: metav1.ObjectMeta{Name: name}}})
	}
	return x.with([]*rbacv1.ClusterRole{object})
}

// unnamed returns what is wrong if one of the objects of a write is nil or has no name.
func unnamed(objects ...*rbacv1.ClusterRole) *purekube.ObjectError {
	return persistent.NewClusterObjects(kindClusterRole, objects).Unnamed("")
}

// all returns the changes of the aggregated ClusterRoles.
func (p *preview) all() ([]Change, error) {
	p.before.all, p.after.all = true, true
	problems := p.before.index.newProblems()
	names := p.before.index.reach(p.after.index, []event{p.event}, p.after.mode == settled)
	var changes []Change
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if c := p.of(name, problems); !c.Empty() {
			changes = append(changes, c)
		}
	}
	return changes, problems.Err()
}

// of returns the change of one role, and adds the problems that it rests on.
func (p *preview) of(name string, problems *snapshot.Problems) Change {
	c := Change{Key: Key(name)}
	var before, storedBefore, after []rule
	if r := p.before.index.find(name); r != nil {
		// Problems that the write mends do not count, but for one: what an ambiguous name grants cannot be known.
		if r.ambiguous() {
			problems.Add(duplicateError(name))
			return c
		}
		before = p.before.granted(r, &snapshot.Problems{})
		storedBefore = p.before.stored(p.before.node(r[0]))
	}
	if r := p.after.index.find(name); r != nil { // not ambiguous: the write is of one ClusterRole
		after = p.after.granted(r, problems)
		if name == p.event.name {
			written := p.after.stored(p.after.node(r[0]))
			c.Overwritten = copyNew(p.after, p.after.without(written, after), slices.Concat(before, storedBefore))
		}
	}
	c.Added, c.Removed = copyNew(p.after, after, before), copyNew(p.after, before, after)
	return c
}

// granted returns the rules that a role, not ambiguous, grants when aggregation has come to rest: if
// they cannot be computed, those that are stored in it.
func (e *evaluation) granted(r role, problems *snapshot.Problems) []rule {
	rules, known := e.intended(r, problems)
	if !known {
		return e.stored(e.node(r[0]))
	}
	return rules
}

// copyNew returns copies of the rules in a that are not in b, each once; nil if there are none.
func copyNew(e *evaluation, a, b []rule) []rbacv1.PolicyRule {
	rules := e.without(a, b)
	if len(rules) == 0 {
		return nil
	}
	return copyOf(rules)
}
