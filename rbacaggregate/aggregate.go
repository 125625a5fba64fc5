package rbacaggregate

import "github.com/purekube/purekube"

// aggregate returns the rules that a role comes to by aggregation (ok), and the problems that
// this rests on. Not ok: it does not aggregate, or what it aggregates is not all known.
func (g *graph) aggregate(i int) (rules []rule, problems []*purekube.ObjectError, ok bool) {
	if !g.computable(i) {
		return nil, g.from(i).problems, false
	}
	if g.options.matchUpstream() {
		// One level: a source has the rules that stand in it.
		var u union
		for _, source := range g.from(i).sources {
			u.add(g.written(source))
		}
		return u.rules, nil, true
	}
	// D-11: through all levels at once.
	c := g.components.of(g, i)
	return c.rules[i], c.problems, true
}

// brings returns what a role, not ambiguous, adds to those that aggregate it: D-11, the rules that
// it comes to. Where these cannot be known it is not written, and goes on granting the rules that
// stand in it; so it is these.
func (g *graph) brings(i int) []rule {
	if rules, _, ok := g.aggregate(i); ok && !g.options.matchUpstream() {
		return rules
	}
	return g.written(i)
}
