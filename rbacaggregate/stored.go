package rbacaggregate

import "slices"

// One round of upstream's writes, for MatchUpstream: a role gets the rules that are stored in its direct sources.
//
// Upstream collects per role, in time quadratic in the rules. Here n roles that share a selector share one list of its
// rules. The difficulty is BR-27-03: each role has to leave out its own rules, and so needs a slightly different list:
//
//	sources          a: [1 2]   b: [2 3]   c: [4]
//	shared list      1 (a)   2 (a, again in b)   3 (b)   4 (c)
//	for the role a           2 (from b)          3       4
//	for the role b   1       2                           4
//
// So an occurrence knows the first other source of its rule, and the list without a role is made in one pass.

// occurrence is a rule that is stored in a source of a selection. at is its position among the rules of all sources. in
// is the source.
type occurrence struct {
	rule
	at int
	in *node
	// again is the occurrence of the rule in another source, or nil if there is none. One is enough: a role leaves out
	// only itself.
	again *occurrence
}

// storedList returns the rules that one round of upstream's writes gives a role: the rules that are stored in its
// sources.
func (e *evaluation) storedList(n *node) list {
	for _, s := range n.selections {
		if s.stored == nil {
			s.stored = e.occurrences(s)
		}
	}
	u := e.newUnion() // now that all rules have their numbers
	for _, s := range n.selections {
		for _, o := range without(n, s.stored) {
			u.addRule(o.rule)
		}
	}
	return u.list
}

// occurrences returns the first occurrence of each rule that is stored in the sources of a selection. They are in the
// order of the sources' names, then of the rules in a source (BR-27-02).
func (e *evaluation) occurrences(s *selection) []*occurrence {
	occurrences := []*occurrence{}
	first := map[ruleID]*occurrence{}
	at := 0
	for _, n := range s.sources {
		for _, rule := range e.stored(n) {
			at++
			o := &occurrence{rule: rule, at: at, in: n}
			switch known := first[rule.id]; {
			case known == nil:
				first[rule.id] = o
				occurrences = append(occurrences, o)
			// A repetition in the same source goes with the first occurrence, when that role leaves out its own rules.
			case known.in != n && known.again == nil:
				known.again = o
			}
		}
	}
	return occurrences
}

// without returns the occurrences for the role n, which does not collect its own rules (BR-27-03).
func without(n *node, occurrences []*occurrence) []*occurrence {
	own := func(o *occurrence) bool { return o.in == n }
	// The selector does not match the role, or nothing is first found in the role: the shared list is the role's list.
	if !slices.ContainsFunc(occurrences, own) {
		return occurrences
	}
	left := make([]*occurrence, 0, len(occurrences))
	for _, o := range occurrences {
		if own(o) {
			// The rule moves to the place where the next source has it, as if the role were not among the sources.
			o = o.again
		}
		if o != nil {
			left = append(left, o)
		}
	}
	slices.SortFunc(left, func(a, b *occurrence) int { return a.at - b.at })
	return left
}
