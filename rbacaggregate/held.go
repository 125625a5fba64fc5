package rbacaggregate

import "slices"

// storedIn returns what a source contributes that does not contribute what it aggregates: the rules that are
// stored in it. If they are stored in it because its aggregation fails, they are held (D-35): with the failure mended, it might
// not have them.
func (e *evaluation) storedIn(n *node) []rule {
	rules := e.stored(n)
	if e.mode != nested || n.aggregation == nil {
		return rules
	}
	rules = slices.Clone(rules)
	for i := range rules {
		rules[i].held = true
	}
	return rules
}

// kept returns those of the rules collected for a role that it is to have: all but the rules that are held and not
// stored in it. The place of a rule that another source contributes, not held, does not depend on what is stored in the
// role: otherwise a write would bring about the next one.
func (e *evaluation) kept(n *node, collected []rule) []rule {
	if !slices.ContainsFunc(collected, func(r rule) bool { return r.held }) {
		return collected
	}
	stays := map[ruleID]bool{}
	for _, r := range e.stored(n) {
		stays[r.id] = true
	}
	for _, r := range collected {
		if !r.held {
			delete(stays, r.id)
		}
	}
	var rules []rule
	for _, r := range collected {
		if !r.held || stays[r.id] {
			r.held = false
			rules = append(rules, r)
		}
	}
	return rules
}
