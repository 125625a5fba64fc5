package rbacaggregate

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube"
)

// This file answers the question of an admission webhook: "what does somebody get through this write?"
//
// A comparison of aggregated rules before and after the write is not enough, because Kubernetes grants what is stored,
// at every moment, and more than one controller may write:
//
//	a role is created with the label for view, an aggregationRule without a match and a rule
//	    by default                aggregation empties the role; view never gets the rule
//	    kube-controller-manager   the role keeps the rule (D-20), and view gets it for good
//
// So the answer is an upper bound: every rule that any order of passes, of either controller, may bring into the role,
// less the rules that the role has and would have kept without the write.

// Grant is a rule that a write may give to a ClusterRole, for a moment or for good. "For a moment" matters: a moment is
// enough to read a Secret.
type Grant struct {
	Rule rbacv1.PolicyRule `json:"rule"`
	// Reasons name the ClusterRoles that the rule comes from: the ClusterRole that gets it first, and the others
	// sorted by name. Their codes are [ReasonWrittenDirectly], [ReasonNotRemoved],
	// [ReasonContributesRules] and [ReasonContributesStored].
	Reasons []Reason `json:"reasons"`
}

// Grants returns the rules that one write may give to the ClusterRole role at any time after the write. Use it in an
// admission webhook: refuse the write unless an allow-list has every returned rule.
//
// oldObj and newObj are oldObject and object of the review. oldObj is nil for a create, newObj for a delete. They
// replace what the Index has under that name, because the cache may be out of date.
//
// The answer does not depend on [Options]. It holds for the default decisions, for kube-controller-manager v1.36 and
// v1.37, for both at once, and for any order of their passes. These rules are granted:
//
//   - [ReasonContributesRules]: the rules of the ClusterRoles that the role aggregates, through all levels.
//   - [ReasonContributesStored]: the rules that are stored in a ClusterRole on the way. Upstream passes them on until
//     that ClusterRole is written (D-11). They stay for good in a cycle, or where upstream writes nothing
//     (D-20).
//   - [ReasonWrittenDirectly]: the rules that newObj stores in the role itself. They stay until the next pass, or for
//     good.
//   - [ReasonNotRemoved]: rules that the role has, that would be removed without the write, and that may stay with
//     it. For example, the write makes another field manager a co-owner, removes the last source, or ends the
//     aggregation.
//
// A rule that the role has, and keeps without the write, is not granted by it. Nothing is granted by a write that the
// role does not depend on, before or after. Every other write counts as granting everything that the role may get. For
// example, while the role waits for the rules of one source, a write of another source grants the rules of both.
//
// Grants does not include a controller pass that began before the write. Such a pass grants the rules of the time at
// which it began.
//
// The grants are in the order in which the rules are stored: first the rules of the role, then the rules of the other
// ClusterRoles, sorted by name.
//
// An error means that the grants cannot be known: refuse the write. A role that does not exist after the write is an
// error around [purekube.ErrNotFound], unless the write deletes it, or the Index has a ClusterRole that is nil or has no
// name: then the error is about that one. A role that does not exist grants nothing to
// anybody. The write that creates it grants all rules that the role will have.
//
// It costs O(n) for n rules in the ClusterRoles that the role depends on, before and after the write, and O(log
// n) for each of their selectors.
func (x *Index) Grants(oldObj, newObj *rbacv1.ClusterRole, role purekube.Key) ([]Grant, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	name, wrong := nameOfWrite(oldObj, newObj)
	if wrong != nil {
		return nil, x.errorWith(wrong)
	}
	// Two Indexes are compared: the cluster as the review describes it before the write, and after. Both share
	// everything except this one ClusterRole with x. The rules have the same numbers in both, so that sets of rules can
	// be compared.
	was, _ := x.put(name, oldObj)
	is, _ := was.put(name, newObj)
	ids := &ruleIDs{}
	// The role after the write decides whether there is an answer at all. The role before the write may be missing: the
	// write creates it.
	after := is.dependency(role, ids)
	switch {
	case after != nil:
	// The write deletes the role. A ClusterRole that does not exist grants nothing.
	case role == Key(name) && newObj == nil:
		return nil, x.newProblems().Err()
	default:
		// A ClusterRole that is nil or has no name may be this one, so it is not known that the role does not exist.
		if unnamed := x.objects.Unnamed(""); unnamed != nil {
			return nil, x.errorWith(unnamed)
		}
		return nil, x.errorWith(notFound(role))
	}
	before := was.dependency(role, ids)
	problems := x.newProblems()
	for _, name := range after.ambiguous {
		problems.Add(duplicateError(name))
	}
	// Most writes end here. A write of a role that the role in question does not depend on can neither give rules nor
	// prevent that rules are removed.
	if after.root == nil || !before.on(name) && !after.on(name) {
		return nil, problems.Err()
	}
	// A problem anywhere below makes the answer uncertain, so the webhook gets an error and refuses. The grants that
	// are known come with it.
	for _, n := range after.roles {
		for _, problem := range n.problems {
			problems.Add(copyError(problem))
		}
	}
	return grantedBy(before, after), problems.Err()
}

// nameOfWrite returns the name of the ClusterRole that is created, updated or deleted. A review without both objects,
// without a name, or with two names is an error: no rule can be granted by an unknown write.
func nameOfWrite(oldObj, newObj *rbacv1.ClusterRole) (string, *purekube.ObjectError) {
	objects := slices.DeleteFunc([]*rbacv1.ClusterRole{oldObj, newObj}, func(o *rbacv1.ClusterRole) bool { return o == nil })
	// Two nil objects are reported as one nil ClusterRole.
	if len(objects) == 0 {
		objects = append(objects, nil)
	}
	if wrong := unnamed(objects...); wrong != nil {
		return "", wrong
	}
	first, last := objects[0].Name, objects[len(objects)-1].Name
	if first != last {
		return "", &purekube.ObjectError{
			Kind: kindClusterRole, Name: last, Field: "metadata.name", Err: fmt.Errorf("the write is of ClusterRole %s", first),
		}
	}
	return first, nil
}

// dependency has all roles that the rules of one role can come from. It is wider than the sources of a plan: stored
// rules of aggregating roles count too, because upstream passes them on.
type dependency struct {
	*evaluation
	// root is the role. It is nil if several ClusterRoles have its name.
	root *node
	// roles are the root and all roles that it aggregates, through all levels, sorted by name.
	roles []*node
	names map[string]bool
	// ambiguous are the names among the roles that several ClusterRoles have.
	ambiguous []string
	// roundabout reports whether the root is one of its own sources, through other roles.
	roundabout bool
}

// dependency returns what a role depends on. It returns nil if no ClusterRole has its name.
func (x *Index) dependency(key purekube.Key, ids *ruleIDs) *dependency {
	r := x.lookup(key)
	if r == nil {
		return nil
	}
	d := &dependency{evaluation: x.evaluate(nested, ids), names: map[string]bool{}}
	if r.ambiguous() {
		d.ambiguous = append(d.ambiguous, r.name())
		return d
	}
	d.root = d.node(r[0])
	d.pass++
	d.add(d.root)
	for i := 0; i < len(d.roles); i++ {
		n := d.roles[i]
		if n.aggregation == nil {
			continue
		}
		computable := d.computable(n)
		for _, s := range n.selections {
			if !computable {
				// Nothing is written to it, so it contributes only its stored rules.
				d.ambiguous = append(d.ambiguous, s.ambiguous...)
				continue
			}
			// The root's own selectors do not count: a role does not collect its own rules directly (BR-27-03). Through
			// another role it may, and then upstream reads the root's stored rules back from there, and keeps them
			// (D-11).
			d.roundabout = d.roundabout || n != d.root && s.has(d.root)
			if s.collected.first(d.pass) {
				for _, source := range s.sources {
					d.add(source)
				}
			}
		}
	}
	slices.SortFunc(d.roles, compareNodes)
	return d
}

// add adds a role once. The roles added are the queue of the search, so a cycle ends it.
func (d *dependency) add(n *node) {
	if !d.names[n.object.Name] {
		d.names[n.object.Name] = true
		d.roles = append(d.roles, n)
	}
}

// on reports whether the role depends on the role of this name, which may be the role itself.
func (d *dependency) on(name string) bool { return d != nil && d.names[name] }

// fate says what happens to the stored rules of a role of a dependency.
type fate int

const (
	lastingRules fate = iota // they stay: nothing is written to it
	keptRules                // upstream leaves them, and the default removes them (D-20)
	passingRules             // they stay until the next pass
)

// fateOf returns the fate of the rules that are stored in a role.
func (d *dependency) fateOf(n *node) fate {
	switch {
	case !d.computable(n):
		return lastingRules
	// Only what is sure counts here. If managedFields were left out of the cache, it is unknown who owns the rules, so
	// they may disappear, and a write that keeps them grants them.
	case n.surelyKept():
		return keptRules
	default:
		return passingRules
	}
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

// mayBeEmptied reports whether upstream may collect no rules for an aggregating role in some pass. A source that nobody
// writes and that has rules prevents it, in every pass. A source that aggregates may be empty itself for a while.
func (d *dependency) mayBeEmptied(n *node) bool {
	return !n.anySource(func(source *node) bool { return !d.computable(source) && len(source.object.Rules) > 0 })
}

// anySource reports whether f is true for a source of a role, itself excepted (BR-27-03).
func (n *node) anySource(f func(*node) bool) bool {
	return slices.ContainsFunc(n.selections, func(s *selection) bool {
		return slices.ContainsFunc(s.sources, func(source *node) bool { return source != n && f(source) })
	})
}

// ruleSet is a set of rules, by their numbers.
type ruleSet map[ruleID]bool

func (s ruleSet) add(rules []rule) {
	for _, r := range rules {
		s[r.id] = true
	}
}

// lasting returns the rules that the root has and keeps, whatever the order of the passes: by default, and as upstream.
// These are the rules that a write cannot grant, since they are there in any case. The sets are lower bounds: when in
// doubt, a rule is left out, and its grant is reported. Both are empty for a role that does not exist before the write.
func (d *dependency) lasting() (byDefault, asUpstream ruleSet) {
	byDefault, asUpstream = ruleSet{}, ruleSet{}
	if d == nil || d.root == nil {
		return byDefault, asUpstream
	}
	own := d.stored(d.root)
	switch d.fateOf(d.root) {
	// The root does not aggregate, or its aggregation fails: no controller writes its rules, and both keep all rules.
	case lastingRules:
		byDefault.add(own)
		return byDefault, byDefault
	case keptRules:
		asUpstream.add(own)
	case passingRules:
	}
	// A rule of the root lasts if a source has it whose own rules last. Upstream also collects rules that a source
	// keeps only because upstream never writes the source (D-20).
	lasting, kept := ruleSet{}, ruleSet{}
	for _, n := range d.sources() {
		switch d.fateOf(n) {
		case lastingRules:
			lasting.add(d.stored(n))
		case keptRules:
			kept.add(d.stored(n))
		case passingRules:
		}
	}
	for _, r := range own {
		byDefault[r.id] = lasting[r.id]
		asUpstream[r.id] = asUpstream[r.id] || lasting[r.id] || kept[r.id]
	}
	return byDefault, asUpstream
}

// sources are the roles of a dependency without the root, sorted by name.
func (d *dependency) sources() []*node {
	return slices.DeleteFunc(slices.Clone(d.roles), func(n *node) bool { return n == d.root })
}

// grantedBy compares the rules that a role has and keeps without a write with all rules that it may have with the
// write.
func grantedBy(before, after *dependency) []Grant {
	has := ruleSet{}
	if before != nil && before.root != nil {
		has.add(before.stored(before.root))
	}
	byDefault, asUpstream := before.lasting()
	// If the aggregation of the root fails after the write, no controller changes its rules any more. A write that adds
	// an invalid selector therefore keeps every rule that aggregation was about to remove.
	fails := !after.computable(after.root)
	// A rule of the role itself stays if upstream writes nothing, or finds the rule in a source.
	upstreamKeeps := after.roundabout || keepsStored(after.root.object) && after.mayBeEmptied(after.root)

	// First the rules in the root itself, then the rules of each role below.
	c := grantCollector{reasons: map[ruleID][]Reason{}}
	for _, r := range after.stored(after.root) {
		switch {
		case !has[r.id]:
			c.add(r, ReasonWrittenDirectly, after.root, "the write contains the rule")
		case fails && !byDefault[r.id] || upstreamKeeps && !asUpstream[r.id]:
			c.add(r, ReasonNotRemoved, after.root, "the ClusterRole already has the rule, and the write may prevent its removal")
		}
	}
	for _, n := range after.sources() {
		// Rules that last reach the root with both controllers, and count as known only if the root keeps them with
		// both. Stored rules of other aggregating roles reach it with upstream only.
		lasts := after.fateOf(n) == lastingRules
		for _, r := range after.stored(n) {
			switch {
			case lasts && byDefault[r.id] || !lasts && asUpstream[r.id]:
			case n.aggregation == nil:
				c.add(r, ReasonContributesRules, n, n.object.Name+" has the rule")
			default:
				c.add(r, ReasonContributesStored, n, "the rule is stored in "+n.object.Name+", an aggregated ClusterRole that passes it on")
			}
		}
	}
	return c.grants()
}

// grantCollector collects the reasons for each rule. The rules are in the order of their first reason.
type grantCollector struct {
	rules   []rule
	reasons map[ruleID][]Reason
}

// add notes one reason for a rule.
func (c *grantCollector) add(r rule, code Code, from *node, message string) {
	known := c.reasons[r.id]
	switch {
	case len(known) == 0:
		c.rules = append(c.rules, r)
	// Roles are added one after the other, so a repetition of a role is the last reason.
	case known[len(known)-1].Object.Name == from.object.Name:
		return // it is stored twice there
	}
	c.reasons[r.id] = append(known, Reason{Code: code, Object: Key(from.object.Name), Message: message})
}

// grants returns copies, which belong to the caller; nil if nothing is granted.
func (c *grantCollector) grants() []Grant {
	var grants []Grant
	for _, r := range c.rules {
		grants = append(grants, Grant{Rule: *r.DeepCopy(), Reasons: c.reasons[r.id]})
	}
	return grants
}
