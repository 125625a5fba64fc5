package rbacaggregate

import "slices"

// part is a list of collected rules, or the ordered union of smaller parts: their rules in order, each once
// (BR-27-04). One part may be in many others. No part is in itself, however roles aggregate each other.
type part struct {
	// parts is nil once the list is computed.
	parts []*part
	list  list
	known bool // the list is computed
	// grants reports whether the part has a rule that stays, whatever the order of upstream's passes.
	grants bool

	collected mark // the pass in which it was collected
}

// list has rules, each once, and the failing sources: the roles whose aggregation fails, each once.
type list struct {
	rules   []rule
	failing []*node
}

// joined returns the ordered union of these parts.
func (e *evaluation) joined(parts ...*part) *part {
	p := &part{parts: parts, grants: grants(parts)}
	if e.all {
		e.list(p)
	}
	return p
}

func grants(parts []*part) bool {
	return slices.ContainsFunc(parts, func(p *part) bool { return p.grants })
}

// list returns the list of a part. It visits each part inside once, down to parts whose list is computed.
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
			for _, next := range slices.Backward(at.parts) {
				path = append(path, next)
			}
		}
	}
	p.parts, p.list, p.known = nil, u.list, true
	return p.list
}

// complete computes the aggregated rules of the members of a group. The rules of all sources outside the group are
// computed before.
func (e *evaluation) complete(g *group) {
	switch {
	case e.mode == stored || len(g.roles) == 0:
	case g.cyclic():
		e.completeCycle(g)
	default:
		n := g.roles[0]
		parts := e.selected(n.selections, g)
		if e.mode == settled && !grants(parts) && keepsStored(n.object) {
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

// sum returns what sources contribute, without the sources in a group.
func (e *evaluation) sum(sources []*node, without *group) *part {
	parts := make([]*part, 0, len(sources))
	for _, n := range sources {
		switch {
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
		if e.mode == nested && n.aggregation != nil {
			rules = slices.Clone(rules)
			for i := range rules {
				rules[i].unconfirmed = true
			}
		}
		u := e.newUnion()
		u.addRules(rules)
		p.list, p.known, p.grants = u.list, true, len(u.rules) > 0 && (n.group == nil || n.surelyKept())
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
func (e *evaluation) kept(n *node, collected []rule) []rule {
	if !slices.ContainsFunc(collected, func(r rule) bool { return r.unconfirmed }) {
		return collected
	}
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
