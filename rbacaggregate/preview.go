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

// A preview compares two end states, before and after a write that has not happened. Its reader is a person who reviews
// a change of ClusterRoles, for example in a pull request: "what will admin be able to do after this?"

// Change says how a write changes the rules of a ClusterRole, once aggregation has finished. If all its lists are
// empty, nothing changes.
type Change struct {
	// Key names the ClusterRole.
	Key purekube.Key `json:"key"`
	// Added are the rules that the ClusterRole has only with the write. Removed are the rules that it has only without
	// the write. Each rule is listed once, in the order of the ClusterRole. Both sides are compared after aggregation,
	// so rules that are out of date already do not count.
	Added   []rbacv1.PolicyRule `json:"added,omitempty"`
	Removed []rbacv1.PolicyRule `json:"removed,omitempty"`
	// Overwritten are the rules that the write itself stores in the ClusterRole and that aggregation removes again.
	// The ClusterRole has them neither now nor, without the write, after aggregation. They are granted until
	// aggregation removes them.
	Overwritten []rbacv1.PolicyRule `json:"overwritten,omitempty"`
}

// Empty reports whether the write does not change the rules. A different order of the same rules is no change.
func (c Change) Empty() bool { return len(c.Added)+len(c.Removed)+len(c.Overwritten) == 0 }

// Preview returns how the rules of the aggregated ClusterRoles change if changed is created, or replaces the
// ClusterRole of its name, and aggregation has finished. The changes are sorted by key. They include the ClusterRole
// changed itself if it has an aggregationRule before or after the write. Otherwise it simply has the rules that are
// written.
//
// An admission webhook must use admission.ClusterRoleWrite instead. A preview is the end state with one kind of
// controller. It leaves out rules that are granted only until then, and rules that stay only with the other kind of
// controller.
//
// Under MatchUpstream it is the end state of a stock cluster, after as many rounds of writes as needed. If that
// depends on the order of upstream's passes, Added has every rule that some order leaves with the write and some order
// removes without it, and Removed has no rule that some order leaves with the write. That differs from the default in
// two cases. First, a rule that is stored in a member of a cycle of ClusterRoles, or in an aggregated ClusterRole below
// the cycle, may stay in all members. Second, if some order leaves a ClusterRole without rules to collect, the
// ClusterRole may keep its stored rules, unless its managedFields say that only the controller owns them (D-20).
//
// The error joins what is wrong with the snapshot as a whole, and with the ClusterRoles that the affected ClusterRoles
// depend on after the write. Aggregation does not write a ClusterRole whose rules cannot be computed, and its change is
// computed accordingly. If changed is nil or has no name, that is an error too.
//
// Its cost grows with the ClusterRoles that the affected ClusterRoles depend on.
func (x *Index) Preview(changed *rbacv1.ClusterRole) ([]Change, error) {
	p, err := x.preview(changed)
	if err != nil {
		return nil, err
	}
	return p.all()
}

// PreviewRole returns how the rules of one ClusterRole change if changed is written: its change in Preview, with only
// the errors that this ClusterRole depends on. It also answers for a ClusterRole without an aggregationRule: if it is
// changed itself, with the difference between its rules before and after the write, and otherwise with an empty Change.
// For a role that is neither in the Index nor changed, it returns an error around [purekube.ErrNotFound]. Its cost
// grows with the ClusterRoles that this ClusterRole depends on, before and after the write.
func (x *Index) PreviewRole(changed *rbacv1.ClusterRole, role purekube.Key) (Change, error) {
	p, err := x.preview(changed)
	if err != nil {
		return Change{}, err
	}
	if object, duplicate := p.after.index.find(role); object == nil && duplicate == nil {
		return Change{}, x.errorWith(notFound(role))
	}
	problems := x.newProblems()
	c := p.of(role.Name, problems)
	return c, problems.Err()
}

// PreviewDelete returns how the rules of the aggregated ClusterRoles change if the ClusterRole of this key is deleted:
// see Preview. If the deleted ClusterRole has an aggregationRule, it is included, and loses all its rules. For a key
// that is not in the Index, it returns an error around [purekube.ErrNotFound].
func (x *Index) PreviewDelete(key purekube.Key) ([]Change, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	if object, duplicate := x.find(key); object == nil && duplicate == nil {
		return nil, x.errorWith(notFound(key))
	}
	return x.previewOf(x.without([]*rbacv1.ClusterRole{{ObjectMeta: metav1.ObjectMeta{Name: key.Name}}})).all()
}

// preview is a write, with the evaluations before and after it. Both number rules alike, so that rules can be compared.
type preview struct {
	before, after *evaluation
	event         event
}

// preview returns the preview of a create or update. The error is about the argument and the options.
func (x *Index) preview(changed *rbacv1.ClusterRole) (*preview, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	changes := []*rbacv1.ClusterRole{changed}
	if wrong := persistent.NewClusterObjects(kindClusterRole, changes).Unnamed(""); wrong != nil {
		return nil, x.errorWith(wrong)
	}
	return x.previewOf(x.with(changes)), nil
}

// previewOf returns the preview of one event, which makes next from x.
func (x *Index) previewOf(next *Index, events []event) *preview {
	ids := &ruleIDs{}
	return &preview{x.evaluate(ids, false), next.evaluate(ids, false), events[0]}
}

// all returns the changes of the aggregated ClusterRoles. It computes only the roles that the write can reach, so a
// preview in a large cluster costs what an event costs.
func (p *preview) all() ([]Change, error) {
	p.before.all, p.after.all = true, true
	problems := p.before.index.newProblems()
	names := p.before.index.reachAll(p.after.index, []event{p.event})
	var changes []Change
	for _, name := range slices.Sorted(maps.Keys(names)) {
		// Roles that are reached may turn out unchanged, for example if another source has the same rule.
		if c := p.of(name, problems); !c.Empty() {
			changes = append(changes, c)
		}
	}
	return changes, problems.Err()
}

// of returns the change of one role, and adds the problems of the roles that it depends on. A role that is missing
// before or after the write has no rules there: a created role has all its rules added.
func (p *preview) of(name string, problems *snapshot.Problems) Change {
	c := Change{Key: Key(name)}
	was, duplicate := p.before.index.find(c.Key)
	is, _ := p.after.index.find(c.Key)
	// Problems that the write solves do not count, except an ambiguous name: its rules before the write are unknown.
	if duplicate != nil {
		problems.Add(duplicate)
		return c
	}
	surely, before := p.before.left(was, &snapshot.Problems{})
	_, after := p.after.left(is, problems)
	// Only the written role can have rules that the write itself stored.
	if name == p.event.name && is != nil {
		had := surely
		if was != nil {
			had = slices.Concat(surely, p.before.stored(p.before.node(was)))
		}
		c.Overwritten = copyNew(p.after, p.after.without(p.after.stored(p.after.node(is)), after), had)
	}
	c.Added, c.Removed = copyNew(p.after, after, surely), copyNew(p.after, before, after)
	return c
}

// left returns the rules that aggregation leaves in a ClusterRole, surely and in some order of the passes: they differ
// under MatchUpstream only. A ClusterRole that aggregation does not write keeps what is stored in it. None, nil, has no
// rules.
func (e *evaluation) left(object *rbacv1.ClusterRole, problems *snapshot.Problems) (surely, may []rule) {
	if object == nil {
		return nil, nil
	}
	n := e.node(object)
	if e.written(n) && e.index.options.matchUpstream() {
		surely = e.fixpoint(n)
		e.addFailing(n, problems)
		return surely, e.may(n, surely)
	}
	v := e.decide(KeyOf(object), problems)
	if !v.known() {
		v.rules = e.stored(n)
	}
	return v.rules, v.rules
}

// copyNew returns copies of the rules in a that are not in b, each once; nil if there are none.
func copyNew(e *evaluation, a, b []rule) []rbacv1.PolicyRule {
	rules := e.without(a, b)
	if len(rules) == 0 {
		return nil
	}
	return copyOf(rules)
}
