package rbacaggregate

import (
	"slices"

	"github.com/purekube/purekube"
)

// collect returns the rules that a computable role comes to by aggregation, in order (BR-27-02 …
// BR-27-04), and the problems that they rest on. Its group has to be known. It goes through all that the
// role rests on, each role and rule once: the rules of a source come in where the source is met first.
func (e *evaluation) collect(root *node) *contribution {
	u := e.newUnion()
	pass := u.pass
	var resting []*purekube.ObjectError
	// path holds what is still to be collected, the next at the end.
	var path []span
	enter := func(n *node) {
		if !n.collected.first(pass) {
			return
		}
		switch {
		case n != root && !e.contributesNested(n):
			u.add(e.storedIn(n))
			if e.mode != stored {
				resting = append(resting, n.problems...)
			}
		case n.group.cyclic():
			// This is what every member comes to.
			for _, member := range n.group.roles {
				member.collected = pass
			}
			path = append(path, span{sources: n.group.goesRound, collected: new(mark), stored: true})
			for _, s := range slices.Backward(e.around(n)) {
				path = append(path, s)
			}
		default:
			if e.mode == settled && !n.group.collects && keepsStored(n.object) {
				u.add(e.stored(n))
			}
			for _, s := range slices.Backward(n.selections) {
				path = append(path, span{sources: s.sources, collected: &s.collected})
			}
		}
	}
	enter(root)
	for len(path) > 0 {
		at := &path[len(path)-1]
		if len(at.sources) == 0 || *at.collected == pass {
			*at.collected = pass
			path = path[:len(path)-1]
			continue
		}
		n := at.sources[0]
		at.sources = at.sources[1:]
		if at.stored {
			u.add(e.stored(n))
		} else {
			enter(n)
		}
	}
	return &contribution{u.rules, resting}
}

// span is what is still to be collected of some sources.
type span struct {
	sources []*node
	// collected is the pass in which all of them were, here or elsewhere.
	collected *mark
	// stored is whether no more counts than the rules that are stored in them.
	stored bool
}

// around returns the sources of a cycle in the order in which a member of it collects them. Those inside
// may be among them.
//
// Every member of a cycle comes to the same set of rules: all that enter the cycle anywhere. Their
// order is made such that each member's list is what BR-27-02 … BR-27-04 make of its sources' lists, so that
// upstream finds nothing to change in it: a member's list begins with what it aggregates from
// outside before it comes to its first source inside, goes on with the same of that source, and so on
// once round; then comes whatever is left, in the order of the members' names.
func (e *evaluation) around(start *node) []span {
	// A pass of its own: what a cycle above has still to collect is none of this one's.
	e.pass++
	pass := e.pass
	var sources []span
	outside := func(s *selection) {
		if s.collectedOutside.first(pass) {
			sources = append(sources, span{sources: s.sources, collected: &s.collected})
		}
	}
	for at := start; at.walked.first(pass); {
		whole, last, which, next := untilInside(at)
		for _, s := range whole {
			outside(s)
		}
		if last.collectedBefore[which].first(pass) {
			sources = append(sources, span{sources: last.sources[:last.inside[which]], collected: new(mark)})
		}
		at = next
	}
	for _, member := range start.group.roles {
		for _, s := range member.selections {
			outside(s)
		}
	}
	return sources
}

// untilInside returns what a member of a cycle collects before it comes to its first source inside: whole
// selections, and the beginning of the last one, up to its first (which is 0) or second source
// inside, and that source. A role does not collect itself, hence the second.
func untilInside(member *node) (whole []*selection, last *selection, which int, first *node) {
	// It has one, or it would not be in the cycle.
	for i := 0; ; i++ {
		s := member.selections[i]
		if s.group != member.group {
			continue
		}
		for which, position := range s.insiders() {
			if position < len(s.sources) && s.sources[position] != member {
				return member.selections[:i], s, which, s.sources[position]
			}
		}
	}
}

// insiders returns the positions of its first two sources that are in its group, the number of sources
// for one that there is not.
func (s *selection) insiders() [2]int {
	if s.inside == nil {
		s.inside = &[2]int{len(s.sources), len(s.sources)}
		found := 0
		for i, n := range s.sources {
			if n.group == s.group {
				s.inside[found] = i
				if found++; found == len(s.inside) {
					break
				}
			}
		}
	}
	return *s.inside
}
