package rbacaggregate

import "slices"

// occurrence is a rule that is stored in a source of a selection. at is its position among the rules of all sources.
type occurrence struct {
	rule
	at int
	in *node
	// again is the occurrence of the rule in another source, or nil if there is none.
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

// occurrences returns the first occurrence of each rule that is stored in the sources of a selection.
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
	if !slices.ContainsFunc(occurrences, own) {
		return occurrences
	}
	left := make([]*occurrence, 0, len(occurrences))
	for _, o := range occurrences {
		if own(o) {
			o = o.again
		}
		if o != nil {
			left = append(left, o)
		}
	}
	slices.SortFunc(left, func(a, b *occurrence) int { return a.at - b.at })
	return left
}
