package rbacaggregate

import "slices"

// part is a part of what roles come to: the rules of its parts, in their order, each once (BR-27-04). One part may be a
// part of many, and none is a part of itself, however roles aggregate each other.
type part struct {
	// parts are nil once the list is there.
	parts []*part
	list  list
	known bool // the list is there
	// grants reports whether there is a rule in it that stays, whatever the order of upstream's passes.
	grants bool

	collected mark // the pass in which it was collected
}

// list is rules, each once, and the roles among their sources whose aggregation fails, each once.
type list struct {
	rules   []rule
	failing []*node
}

// joined returns the part that has these parts.
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

// list returns the list of a part. It goes through all that the part has, as far as no list is there, each part once.
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

// complete makes what the members of a group come to. That of all their sources outside is there.
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

// part returns what a selection contributes to the roles of a group: for those of its own group, what its
// other sources do, and for others, what all of them do. A role does not collect its own rules (BR-27-03).
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

// sum returns what sources contribute, without those of a group.
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

// leaf returns what a role contributes that does not contribute what it aggregates: the rules that are stored in it.
// Where its aggregation fails, they are held (D-35): it is not known whether it would come to them.
func (e *evaluation) leaf(n *node) *part {
	p := &n.leaf
	if !p.known {
		rules := e.stored(n)
		if e.mode == nested && n.aggregation != nil {
			rules = slices.Clone(rules)
			for i := range rules {
				rules[i].held = true
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

// kept returns those of the rules collected for a role that it is to have: all but the rules that are held, not stored in it, and not
// contributed by anybody else. Each is in the place where it comes first, held or not. So the order is upstream's, and depends on nothing
// that is stored in the role: otherwise a write would bring about the next one.
func (e *evaluation) kept(n *node, collected []rule) []rule {
	if !slices.ContainsFunc(collected, func(r rule) bool { return r.held }) {
		return collected
	}
	has := map[ruleID]bool{}
	for _, r := range e.stored(n) {
		has[r.id] = true
	}
	for _, r := range collected {
		if !r.held {
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
