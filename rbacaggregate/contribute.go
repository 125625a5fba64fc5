package rbacaggregate

import (
	"slices"

	"github.com/purekube/purekube"
)

// contribute computes what a computable role comes to by aggregation, and the same for all that it rests
// on, each once. It is for questions about many roles and returns what collect does for each of them. A
// role costs the lists of its sources; where several selectors are the same, that is once for all of them.
func (e *evaluation) contribute(n *node) *contribution {
	switch {
	case n.contributes != nil:
	case e.mode == stored:
		n.contributes = e.contributeStored(n)
	default:
		e.group(n, e.complete)
	}
	return n.contributes
}

// complete computes the members of a group, all sources of which are known but those inside it.
func (e *evaluation) complete(g *group) {
	e.completeSettled(g)
	switch {
	case len(g.roles) == 1:
		n := g.roles[0]
		var parts []*contribution
		for _, s := range n.selections {
			parts = append(parts, e.part(s, g))
		}
		if e.mode == settled && !g.collects && keepsStored(n.object) {
			parts = append(parts, e.leaf(n))
		}
		n.contributes = e.joined(parts)
	case g.cyclic():
		e.completeCycle(g)
	}
}

// completeCycle computes the members of a cycle, in the order that around describes: the list of a member
// is what it collects before its first source inside, and then the list of that source.
func (e *evaluation) completeCycle(g *group) {
	e.pass++
	pass := e.pass
	var parts []*contribution
	for _, member := range g.roles {
		for _, s := range member.selections {
			if s.collectedOutside.first(pass) {
				parts = append(parts, e.part(s, g))
			}
		}
	}
	for _, n := range g.goesRound {
		parts = append(parts, e.leaf(n))
	}
	entering := e.joined(parts)

	for _, member := range g.roles {
		var path []*node
		at := member
		for at.walked.first(pass) {
			path = append(path, at)
			_, _, _, at = untilInside(at)
		}
		if at.contributes == nil {
			// Once round from here.
			parts := e.beforeInside(at)
			for _, _, _, next := untilInside(at); next != at; _, _, _, next = untilInside(next) {
				parts = append(parts, e.beforeInside(next)...)
			}
			at.contributes = e.joined(append(parts, entering))
		}
		for _, n := range slices.Backward(path) {
			_, _, _, next := untilInside(n)
			n.contributes = e.joined(append(e.beforeInside(n), next.contributes))
		}
	}
}

// beforeInside returns what a member of a cycle collects before it comes to its first source inside.
func (e *evaluation) beforeInside(member *node) []*contribution {
	var parts []*contribution
	whole, last, which, _ := untilInside(member)
	for _, s := range whole {
		parts = append(parts, e.part(s, member.group))
	}
	if last.before[which] == nil {
		last.before[which] = e.sum(last.sources[:last.insiders()[which]], member.group)
	}
	return append(parts, last.before[which])
}

// part returns what a selection contributes to the roles of a group: for those of its own group, what its
// other sources do, and for others, what all of them do.
func (e *evaluation) part(s *selection, to *group) *contribution {
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
func (e *evaluation) sum(sources []*node, without *group) *contribution {
	var parts []*contribution
	for _, n := range sources {
		switch {
		case n.group == nil:
			parts = append(parts, e.leaf(n))
		case n.group != without:
			parts = append(parts, n.contributes)
		}
	}
	return e.joined(parts)
}

// leaf returns what a role contributes that does not contribute what it aggregates.
func (e *evaluation) leaf(n *node) *contribution {
	if n.leaf == nil {
		u := e.newUnion()
		u.add(e.storedIn(n))
		n.leaf = &contribution{u.rules, n.problems}
	}
	return n.leaf
}

// joined returns the rules of the parts, each once, and their problems, each once. The rules are those of
// one of the parts, if that begins with all the others.
func (e *evaluation) joined(parts []*contribution) *contribution {
	var u *union
	var problems problemSet
	all := &contribution{}
	for _, p := range parts {
		problems.add(p.resting)
		switch {
		case u != nil:
			u.add(p.rules)
		case continues(p.rules, all.rules):
			all.rules = p.rules
		case !continues(all.rules, p.rules):
			u = e.newUnion()
			u.add(all.rules)
			u.add(p.rules)
		}
	}
	if u != nil {
		all.rules = u.rules
	}
	all.resting = problems.found
	return all
}

// continues reports whether a list begins with another one: with the very same rules, since two that are
// semantically equal may be written differently, and the first one counts.
func continues(list, with []rule) bool {
	return len(list) >= len(with) && slices.EqualFunc(list[:len(with)], with, func(a, b rule) bool { return a.PolicyRule == b.PolicyRule })
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
