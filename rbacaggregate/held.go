package rbacaggregate

import "slices"

// storedIn returns the rules that are stored in a source which does not contribute what it aggregates. Where that is because
// its aggregation fails, they are held (D-35): it is not known whether it would come to them.
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
