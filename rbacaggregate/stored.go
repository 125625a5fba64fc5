package rbacaggregate

import "slices"

// storedRules are the rules that are stored in the sources of a selection: what the selection contributes
// to any role in one round of upstream's writes.
type storedRules struct {
	// all has each rule once, where it comes first; at is its position among those of all sources.
	all contribution
	at  []int
	// firstIn is the source in which it comes first, and again where it comes in another one.
	firstIn []*node
	again   []occurrence
	// of has, for each source, the rules that come first in it.
	of map[*node][]int
}

// occurrence is a rule at a position; the zero position is none.
type occurrence struct {
	at   int
	rule rule
}

// contributeStored is contribute for mode stored: one level, and no source's rules but those stored in it.
func (e *evaluation) contributeStored(n *node) *contribution {
	var parts []*contribution
	for _, s := range n.selections {
		if s.stored == nil {
			s.stored = e.storedRules(s)
		}
		parts = append(parts, s.stored.without(n))
	}
	return e.joined(parts)
}

func (e *evaluation) storedRules(s *selection) *storedRules {
	r := &storedRules{of: map[*node][]int{}}
	known := map[ruleID]int{}
	var at int // from 1 on
	for _, n := range s.sources {
		for _, rule := range e.stored(n) {
			at++
			i, again := known[rule.id]
			switch {
			case !again:
				known[rule.id] = len(r.at)
				r.of[n] = append(r.of[n], len(r.at))
				r.all.rules = append(r.all.rules, rule)
				r.at, r.firstIn, r.again = append(r.at, at), append(r.firstIn, n), append(r.again, occurrence{})
			case r.firstIn[i] != n && r.again[i].at == 0:
				r.again[i] = occurrence{at, rule}
			}
		}
	}
	return r
}

// without returns what the selection contributes to one of its own sources (BR-27-03).
func (r *storedRules) without(n *node) *contribution {
	own := r.of[n]
	if len(own) == 0 {
		return &r.all
	}
	var moved []occurrence
	for _, i := range own {
		if r.again[i].at != 0 {
			moved = append(moved, r.again[i])
		}
	}
	slices.SortFunc(moved, func(a, b occurrence) int { return a.at - b.at })
	rules := make([]rule, 0, len(r.all.rules))
	for i, rule := range r.all.rules {
		for len(moved) > 0 && moved[0].at < r.at[i] {
			rules = append(rules, moved[0].rule)
			moved = moved[1:]
		}
		if r.firstIn[i] != n {
			rules = append(rules, rule)
		}
	}
	for _, m := range moved {
		rules = append(rules, m.rule)
	}
	return &contribution{rules: rules}
}
