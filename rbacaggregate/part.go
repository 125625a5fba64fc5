package rbacaggregate

import "slices"

// part is a list of collected rules, or the ordered union of smaller parts: their rules in order, each once
// (BR-27-04). One part may be in many others. No part is in itself, however roles aggregate each other.
//
// Parts put off the work. In a chain of ClusterRoles that aggregate each other level by level, each with many rules, a
// list for each level would copy the rules of all levels below. With parts, a level is a short list of pointers, and
// only the role that is asked about gets a list:
//
//	admin   parts: [selection of {agg: admin}]
//	            parts: [edit, istio-admin]
//	            edit    parts: [selection of {agg: edit}]
//	            istio-admin   list: its stored rules
//
// The order of a walk over the parts, first to last, is the order of BR-27-02. Dropping later occurrences (BR-27-04) at
// the end gives the same list as dropping them at each level.
type part struct {
	// parts is nil once the list is computed.
	parts []*part
	list  list
	known bool // the list is computed
	// grants reports whether the part has a rule that stays, whatever the order of upstream's passes. It is read in
	// mode settled only: a role without such a rule may be found empty by upstream in some pass, and then keeps its
	// stored rules (D-20).
	grants bool

	collected mark // the pass in which it was collected
}

// list has rules, each once, and the failing sources: the roles whose aggregation fails, each once. Failing sources
// travel with the rules, because the plan of a role returns the problems of the roles below as its error, and each
// problem once, however many ways lead to it.
type list struct {
	rules   []rule
	failing []*node
}

// joined returns the ordered union of these parts, which is the part itself if there is only one.
func (e *evaluation) joined(parts ...*part) *part {
	if len(parts) == 1 {
		return parts[0]
	}
	p := &part{parts: parts, grants: grants(parts)}
	// For many roles, each list is needed anyway, and higher parts are made from the lists of lower parts.
	if e.all {
		e.list(p)
	}
	return p
}

// grants reports whether one of the parts grants.
func grants(parts []*part) bool {
	return slices.ContainsFunc(parts, func(p *part) bool { return p.grants })
}

// list returns the list of a part. It visits each part inside once, down to parts whose list is computed.
//
// Without the marks, a ladder of diamonds (two ways down at each level) would take 2ⁿ steps for n levels.
func (e *evaluation) list(p *part) list {
	if p.known {
		return p.list
	}
	u := e.newUnion()
	for path := []*part{p}; len(path) > 0; {
		at := path[len(path)-1]
		path = path[:len(path)-1]
		switch {
		case !at.collected.first(u.pass):
		case at.known:
			u.add(at.list)
		default:
			// The path is a stack: the first part must be on top.
			for _, next := range slices.Backward(at.parts) {
				path = append(path, next)
			}
		}
	}
	// The parts are let go, so that only the list remains in memory.
	p.parts, p.list, p.known = nil, u.list, true
	return p.list
}

// complete computes the aggregated rules of the members of a group. The rules of all sources outside the group are
// computed before.
func (e *evaluation) complete(g *group) {
	switch {
	// In mode stored no rules flow through a group: see storedList. A group without roles is a single selection, whose
	// part is made for the roles that ask.
	case e.mode == stored || len(g.roles) == 0:
	case g.cyclic():
		e.completeCycle(g)
	default:
		n := g.roles[0]
		parts := e.selected(n.selections, g)
		// Some order of upstream's passes, or every order, finds no rules for the role. The apply without rules then
		// leaves what is stored in the role, and the roles above collect it (D-20).
		if e.mode == settled && !grants(parts) && keepsStored(n.object) || e.mode == surelySettled && n.surelyKept() {
			parts = append(parts, e.leaf(n))
		}
		n.comesTo = e.joined(parts...)
	}
}

// selected returns what selections contribute to the roles of a group.
func (e *evaluation) selected(selections []*selection, to *group) []*part {
	parts := make([]*part, len(selections))
	for i, s := range selections {
		parts[i] = e.part(s, to)
	}
	return parts
}

// part returns what a selection contributes to the roles of a group. For its own group, these are the rules of its
// sources outside the group. For another group, these are the rules of all its sources. A role does not collect its own
// rules (BR-27-03).
//
// There are two parts, and not one for each role, so that n roles that share a selector with n sources cost n and not
// n². A role that matches its own selector is in the group of the selection, so `outside` is the part without the role.
func (e *evaluation) part(s *selection, to *group) *part {
	part := &s.outside
	if to != s.group {
		part = &s.whole
	}
	if *part == nil {
		*part = e.sum(s.sources, to)
	}
	return *part
}

// sum returns what sources contribute, without the sources in a group. The sources are in the order of their names
// (BR-27-02).
func (e *evaluation) sum(sources []*node, without *group) *part {
	parts := make([]*part, 0, len(sources))
	for _, n := range sources {
		switch {
		// The source does not aggregate, or its aggregation fails: it contributes what is stored in it.
		case n.group == nil:
			parts = append(parts, e.leaf(n))
		case n.group != without:
			parts = append(parts, n.comesTo)
		}
	}
	return e.joined(parts...)
}

// leaf returns the stored rules of a role, as the contribution of a role that does not contribute aggregated rules. If
// the aggregation of the role fails, these rules are unconfirmed (D-35): it is unknown whether aggregation would give
// them to the role.
func (e *evaluation) leaf(n *node) *part {
	p := &n.leaf
	if !p.known {
		rules := e.stored(n)
		// The clone is marked, and not the rules of the node: a comparison with the stored rules of the same role needs
		// them unmarked.
		if e.mode == nested && n.aggregation != nil {
			rules = slices.Clone(rules)
			for i := range rules {
				rules[i].unconfirmed = true
			}
		}
		u := e.newUnion()
		u.addRules(rules)
		p.list, p.known, p.grants = u.list, true, len(u.rules) > 0 && (n.group == nil || n.surelyKept())
		// The roles above are planned, and their plans return these problems as errors.
		if len(n.problems) > 0 {
			p.list.failing = []*node{n}
		}
	}
	return p
}

// kept returns the collected rules that a role should have. It drops an unconfirmed rule unless the rule is stored in
// the role or another source contributes it too. Each rule is at its first position in the collected list, unconfirmed
// or not. So the order is upstream's, and does not depend on the stored rules: otherwise each write would cause another
// write.
//
// Keeping is the careful choice in both directions. Adding a rule that somebody wrote into a failing ClusterRole would
// grant a permission that may be wrong; removing a rule that the role has would take away a permission because another
// ClusterRole is broken.
func (e *evaluation) kept(n *node, collected []rule) []rule {
	if !slices.ContainsFunc(collected, func(r rule) bool { return r.unconfirmed }) {
		return collected
	}
	// has are the rules that are kept. Each is set to false when it has been added.
	has := map[ruleID]bool{}
	for _, r := range e.stored(n) {
		has[r.id] = true
	}
	for _, r := range collected {
		if !r.unconfirmed {
			has[r.id] = true
		}
	}
	var rules []rule
	for _, r := range collected {
		if has[r.id] {
			rules = append(rules, rule{PolicyRule: r.PolicyRule, id: r.id})
			has[r.id] = false
		}
	}
	return rules
}
