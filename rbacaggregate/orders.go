package rbacaggregate

import "slices"

// What upstream's passes write, for MatchUpstream: one pass over a role, which is its plan, and the sets F⁻ and F⁺ of
// fixpoint.go, which previews compare.

// nextPass returns the rules that a pass of upstream over a role writes: the rules that are stored in its sources
// (D-11).
//
// n roles with the same selector share one list of its rules, and cost n and not n². Only a role in which a rule is
// found first needs a list of its own, since the rule moves to the next source that has it (BR-27-03). There are at
// most as many of these roles as rules.
func (e *evaluation) nextPass(n *node) []rule {
	e.expand(n)
	for _, s := range n.selections {
		if s.round != nil {
			continue
		}
		for _, source := range s.sources {
			e.stored(source) // all rules have their numbers before the collection begins
		}
		s.round = &round{first: map[*node]bool{}}
		c := e.collect()
		for _, source := range s.sources {
			before := len(c.rules)
			if c.addRules(e.stored(source)); len(c.rules) > before {
				s.round.first[source] = true
			}
		}
		s.round.list = c.rules
	}
	c := e.collect()
	for _, s := range n.selections {
		if !s.round.first[n] {
			c.addRules(s.round.list)
			continue
		}
		for _, source := range s.sources {
			if collects(n.object.Name, source.object.Name) {
				c.addRules(e.stored(source))
			}
		}
	}
	return c.rules
}

// may returns F⁺ of a written role, of which F⁻ is given: the rules of F⁻, and behind them the rules that only some
// order leaves.
func (e *evaluation) may(n *node, surely []rule) []rule {
	var left []reached
	var cycles []*node
	for _, r := range e.below(e.written, n) {
		switch {
		case !e.written(r.node):
		case r.group.cyclic():
			cycles = append(cycles, r.node)
		case mayKeep(r.object) && !r.aggregated.some:
			left = append(left, r)
		}
	}
	left = append(left, e.below(e.written, cycles...)...)
	for _, r := range left {
		e.stored(r.node)
	}
	c := e.collect()
	c.addRules(surely)
	for _, r := range slices.Backward(left) { // sources come before the roles that collect from them
		c.addRules(e.stored(r.node))
	}
	return c.rules
}

// neverWritten says whether a role is in K: upstream never writes to it. It collects no rule in any order, and another
// field manager owns its rules. Sources that aggregate count as having rules.
func (e *evaluation) neverWritten(n *node) bool {
	if !e.index.options.matchUpstream() {
		return false
	}
	stay, known := staysWithoutRules(n.object)
	return known && stay && !slices.ContainsFunc(n.selections, func(s *selection) bool {
		return slices.ContainsFunc(s.sources, func(source *node) bool {
			return collects(n.object.Name, source.object.Name) && (source.aggregation != nil || len(source.object.Rules) > 0)
		})
	})
}
