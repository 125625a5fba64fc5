package rbacaggregate

import "slices"

// The two questions of this package, as sets of rules.
//
//	S(r)       the rules that are stored in the role r
//	W          the roles that aggregation writes: they have an aggregationRule, and nothing is wrong with it
//	src(r)     the roles that the selectors of r match, without r itself (BR-27-03)
//	below(r)   r, and all roles that r reaches through src, going on from roles in W only
//	S(A)       the union of S(r) for all roles r in A
//
// What is the fixpoint? The least sets with
//
//	F(r) = S(r)                           if r is not in W
//	F(r) = the union of F(s), s in src(r) if r is in W
//
// so F(r) = S(below(r) \ W): each rule has a source that aggregation does not write. One pass of the default over each
// role writes F (D-11). In a cycle, where roles aggregate each other, every member has the same set: all rules that
// enter the cycle at any member. D-35 leaves out what only a failing source has and r has not: see [confirmed].
//
// What may any order of upstream's passes leave? A pass writes the union of S(s), s in src(r), and nothing if that is
// empty and r keeps its rules then (D-20). After as many passes as there are levels, F is left, and two kinds of stored
// rules that depend on the order of the passes, or on who owns the rules:
//
//	K     the roles in W whose sources never have a rule and that surely keep their stored rules then: nothing is
//	      ever written to them, and S(r) rises from there as if r were not in W
//	F⁻(r) = S(below(r) \ (W \ K))         what every order leaves: the fixpoint with K
//	M     the roles r in W that may keep their stored rules, and for which F⁻(r) is empty: some pass may find nothing
//	C     the roles in W that are in a cycle: what is stored in a member, or in a role below it, may be read by the
//	      members before it is removed, and then they pass it on to each other for good
//	F⁺(r) = F⁻(r) ∪ S(below(r) ∩ M) ∪ S(below(below(r) ∩ C))    what some order leaves
//
// A pass of either controller copies rules from sources only. So before the end r has no rule outside S(below(r)),
// whatever the order, also if both controllers run. That is what a webhook has to judge: admission.ClusterRoleWrite.
//
// A list of rules is in the order of a walk through the sources (BR-27-02), in which the first occurrence of a rule
// counts (BR-27-04). F and F⁻ are computed here, and F⁺ in orders.go.

// fixpoint returns F of a written role, or F⁻ under MatchUpstream.
func (e *evaluation) fixpoint(n *node) []rule {
	e.findGroups(n)
	// Sources first: when a group is computed, the rules of everything that it leads to are there.
	for _, g := range e.found {
		switch {
		case len(g.roles) == 0: // a single selection, whose union is made for the roles that ask
		case g.cyclic():
			e.aggregateCycle(g)
		default:
			e.aggregate(g.roles[0])
		}
	}
	e.found = nil
	return e.list(n.aggregated)
}

// aggregate computes the aggregated rules of a role that is in no cycle.
func (e *evaluation) aggregate(n *node) {
	unions := e.selected(n.selections, n.group)
	if e.neverWritten(n) {
		unions = append(unions, e.own(n))
	}
	n.aggregated = e.union(unions...)
}

// selected returns what selections contribute to the roles of a group.
func (e *evaluation) selected(selections []*selection, to *group) []*union {
	unions := make([]*union, len(selections))
	for i, s := range selections {
		unions[i] = e.contribution(s, to)
	}
	return unions
}

// contribution returns what a selection contributes to the roles of a group. For its own group, these are the rules of
// its sources outside the group. For another group, these are the rules of all its sources.
//
// There are two unions, and not one for each role, so that n roles that share a selector with n sources cost n and not
// n². A role that matches its own selector is in the group of the selection, so `outside` is the union without the role
// (BR-27-03).
func (e *evaluation) contribution(s *selection, to *group) *union {
	u := &s.outside
	if to != s.group {
		u = &s.whole
	}
	if *u == nil {
		*u = e.sources(s.sources, to)
	}
	return *u
}

// sources returns what sources contribute, without the sources in a group. The sources are in the order of their names.
func (e *evaluation) sources(sources []*node, without *group) *union {
	unions := make([]*union, 0, len(sources))
	for _, n := range sources {
		switch {
		case n.group == nil: // it is not written
			unions = append(unions, e.own(n))
		case n.group != without:
			unions = append(unions, n.aggregated)
		}
	}
	return e.union(unions...)
}

// own returns the stored rules of a role, as the contribution of a role that is not written.
func (e *evaluation) own(n *node) *union {
	u := &n.own
	if u.known {
		return u
	}
	rules := e.stored(n)
	if e.index.options.unconfirmed(n.object) {
		// The clone is marked, and not the rules of the node: a comparison with the stored rules of the same role needs
		// them unmarked.
		rules = slices.Clone(rules)
		for i := range rules {
			rules[i].unconfirmed = true
		}
	}
	c := e.collect()
	c.addRules(rules)
	*u = union{rules: c.rules, known: true, some: len(c.rules) > 0, fails: n.aggregation != nil}
	return u
}

// aggregateCycle computes the aggregated rules of the members of a cycle. They are the same set for all members. Each
// member's list has the order that BR-27-02 … BR-27-04 give it from the lists of its sources, so that upstream finds
// nothing to change. The list begins with the rules that the member aggregates from outside the cycle before its first
// source inside. The same rules of that source follow, and so on, once around the cycle. The remaining rules come last,
// in the order of the members' names.
//
// An example. x grants rule 1 and y grants rule 2; a has the selectors [x, b], and b has the selectors [y, a]:
//
//	a = before b: [1]   then what b has before a: [2]   = [1 2]
//	b = before a: [2]   then what a has before b: [1]   = [2 1]
//
// A pass of upstream over a collects x's [1] and b's [2 1], which is [1 2]: it has nothing to write. With any fixed
// order for both, say [1 2], upstream and the default would overwrite each other's order in b forever.
func (e *evaluation) aggregateCycle(g *group) {
	var entering []*union
	for _, member := range g.roles {
		entering = append(entering, e.selected(member.selections, g)...)
	}
	left := e.union(entering...)

	// Each member has one first source inside. So a walk along first sources ends in a loop, or at a member whose rules
	// are known. Every member is walked once: n members cost n steps, and not n for each.
	e.pass++
	pass := e.pass
	for _, member := range g.roles {
		var path []*node
		at := member
		for ; at.collected.first(pass); at = firstInside(at) {
			path = append(path, at)
		}
		// The walk ran into itself, so this member is on a loop. Its list is computed without the list of another
		// member. All other members on the path, nearest first, put their own rules before the list of their first
		// source.
		if at.aggregated == nil {
			// Once around the cycle from here.
			around := e.beforeInside(at)
			for next := firstInside(at); next != at; next = firstInside(next) {
				around = append(around, e.beforeInside(next)...)
			}
			// The remaining rules are not sorted apart: a rule that has occurred before is dropped.
			at.aggregated = e.union(append(around, left)...)
		}
		for _, n := range slices.Backward(path) {
			if n.aggregated == nil {
				n.aggregated = e.union(append(e.beforeInside(n), firstInside(n).aggregated)...)
			}
		}
	}
}

// firstInside returns the first source of a member of a cycle that is in the cycle. It is never the member itself
// (BR-27-03).
func firstInside(member *node) *node {
	i, which := firstSelection(member)
	s := member.selections[i]
	return s.sources[s.firstMembers()[which]]
}

// beforeInside returns what a member of a cycle collects before its first source inside the cycle. The rules are in the
// order of selectors, then of names (BR-27-02). A selection keeps the union, because all members with the same selector
// ask for it.
func (e *evaluation) beforeInside(member *node) []*union {
	i, which := firstSelection(member)
	last := member.selections[i]
	if last.before[which] == nil {
		last.before[which] = e.sources(last.sources[:last.firstMembers()[which]], member.group)
	}
	return append(e.selected(member.selections[:i], member.group), last.before[which])
}

// firstSelection returns the first selection of a member of a cycle that has a source inside the cycle, and whether the
// member's source is the first (0) or the second (1) such source of the selection. It is the second if the first is the
// member itself, which does not collect itself. The first two positions are enough: of two sources, at most one is the
// member.
func firstSelection(member *node) (selection, which int) {
	// There is one, or the member would not be in the cycle.
	for i := 0; ; i++ {
		s := member.selections[i]
		// A selection outside the group leads to no member of the group, or it would be in the group.
		if s.group != member.group {
			continue
		}
		for which, position := range s.firstMembers() {
			if position < len(s.sources) && s.sources[position] != member {
				return i, which
			}
		}
	}
}

// firstMembers returns the positions of the first two sources that are in the selection's group. A missing position is
// the number of sources. It is computed once for each selection, by one search over its sources.
func (s *selection) firstMembers() [2]int {
	if s.members == nil {
		s.members = &[2]int{len(s.sources), len(s.sources)}
		found := 0
		for i, n := range s.sources {
			if n.group == s.group {
				s.members[found] = i
				if found++; found == len(s.members) {
					break
				}
			}
		}
	}
	return *s.members
}
