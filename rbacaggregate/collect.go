package rbacaggregate

import "github.com/purekube/purekube"

// collect returns the rules that a computable role comes to by aggregation, in order (BR-27-02 …
// BR-27-04), and the problems that they rest on. Its group has to be known. It goes through all that the
// role rests on, each role and rule once: the rules of a source come in where the source is met first.
func (e *evaluation) collect(root *node) *contribution {
	u := e.newUnion()
	pass := u.pass
	var resting problemSet
	// path holds what is still to be collected, the next at the end.
	type span struct {
		sources []*node
		of      *selection
	}
	var path []span
	enter := func(n *node) {
		if n.collected == pass {
			return
		}
		n.collected = pass
		switch {
		case n.contributes != nil:
			u.add(n.contributes.rules)
			resting.add(n.contributes.resting)
		case n != root && !e.contributesNested(n):
			u.add(e.stored(n))
			if e.mode != stored {
				resting.add(n.problems)
			}
		case e.mode != stored && n.group.cyclic():
			if n.group.collected == pass {
				return
			}
			n.group.collected = pass
			for _, round := range n.group.goesRound {
				u.add(e.stored(round))
			}
			path = append(path, span{sources: e.around(n, pass)})
		default:
			if e.mode == settled && !n.group.collects && keepsStored(n.object) {
				u.add(e.stored(n))
			}
			for i := len(n.selections) - 1; i >= 0; i-- {
				if s := n.selections[i]; s.collected != pass {
					path = append(path, span{s.sources, s})
				}
			}
		}
	}
	enter(root)
	for len(path) > 0 {
		at := &path[len(path)-1]
		if len(at.sources) == 0 {
			if at.of != nil {
				at.of.collected = pass
			}
			path = path[:len(path)-1]
			continue
		}
		n := at.sources[0]
		at.sources = at.sources[1:]
		enter(n)
	}
	return &contribution{u.rules, resting.found}
}

// around returns the sources outside of a cycle in the order in which a member of it collects them.
//
// Every member of a cycle comes to the same set of rules: all that enter the cycle anywhere. Their
// order is made such that each member's list is what BR-27-02 … BR-27-04 make of its sources' lists, so that
// upstream finds nothing to change in it: a member's list begins with what it aggregates from
// outside before it comes to its first source inside, goes on with the same of that source, and so on
// once round; then comes whatever is left, in the order of the members' names.
func (e *evaluation) around(start *node, pass int) []*node {
	g := start.group
	var sources []*node
	outside := func(of []*node) {
		for _, n := range of {
			if n.group != g {
				sources = append(sources, n)
			}
		}
	}
	for at := start; at != nil && at.walked != pass; {
		at.walked = pass
		whole, last, which, next := untilInside(at)
		for _, s := range whole {
			if s.collectedOutside != pass {
				s.collectedOutside = pass
				outside(s.sources)
			}
		}
		if last != nil && last.collectedOutside != pass && last.collectedBefore[which] != pass {
			last.collectedBefore[which] = pass
			outside(last.sources[:last.inside[which]])
		}
		at = next
	}
	for _, member := range g.roles {
		for _, s := range member.selections {
			if s.collectedOutside != pass {
				s.collectedOutside = pass
				outside(s.sources)
			}
		}
	}
	return sources
}

// untilInside returns what a member of a cycle collects before it comes to its first source inside: whole
// selections, and the beginning of the last one, up to its first (which is 0) or second source
// inside, and that source. A role does not collect itself, hence the second.
func untilInside(member *node) (whole []*selection, last *selection, which int, first *node) {
	for i, s := range member.selections {
		if s.group != member.group {
			continue
		}
		for which, position := range s.insiders() {
			if position < len(s.sources) && s.sources[position] != member {
				return member.selections[:i], s, which, s.sources[position]
			}
		}
	}
	return member.selections, nil, 0, nil // not in a cycle
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

// problemSet collects problems, each once however many ways lead to it.
type problemSet struct {
	seen  map[[2]string]bool
	found []*purekube.ObjectError
}

func (p *problemSet) add(problems []*purekube.ObjectError) {
	for _, e := range problems {
		// A field of a ClusterRole has one problem at most.
		at := [2]string{e.Name, e.Field}
		if p.seen[at] {
			continue
		}
		if p.seen == nil {
			p.seen = map[[2]string]bool{}
		}
		p.seen[at] = true
		p.found = append(p.found, e)
	}
}
