package rbacaggregate

import (
	"slices"
	"strings"
)

// vertex is a node or a selection. The edges lead from roles to their selections, and from selections to their
// sources.
type vertex struct {
	node      *node
	selection *selection
	// order is the position in which the vertex was visited, from 1 on. lowest is the lowest order to which it leads
	// back.
	order, lowest int
	group         *group
}

// group is a strongly connected component: a single role, a single selection, or roles that aggregate each other,
// directly or through others, with their selections.
type group struct {
	// roles are its members, sorted by name.
	roles []*node
}

// cyclic reports whether roles aggregate each other.
func (g *group) cyclic() bool { return g != nil && len(g.roles) > 1 }

// leads returns the vertices to which v has an edge.
func (e *evaluation) leads(v *vertex) []*vertex {
	var leads []*vertex
	if v.node != nil {
		for _, s := range v.node.selections {
			leads = append(leads, &s.vertex)
		}
		return leads
	}
	for _, n := range v.selection.sources {
		if e.computable(n) {
			leads = append(leads, &n.vertex)
		}
	}
	return leads
}

// group finds the groups of a computable role and of all vertices that it leads to, sources first, and completes each
// group. It is Tarjan's algorithm without recursion.
func (e *evaluation) group(start *node) {
	if start.group != nil {
		return
	}
	type visit struct {
		*vertex
		leads []*vertex
	}
	var path []visit
	enter := func(v *vertex) {
		e.visited++
		v.order, v.lowest = e.visited, e.visited
		e.open = append(e.open, v)
		path = append(path, visit{v, e.leads(v)})
	}
	enter(&start.vertex)
	for len(path) > 0 {
		at := &path[len(path)-1]
		if len(at.leads) > 0 {
			to := at.leads[0]
			at.leads = at.leads[1:]
			switch {
			case to.order == 0:
				enter(to)
			case to.group == nil:
				at.lowest = min(at.lowest, to.order)
			}
			continue
		}
		done := at.vertex
		path = path[:len(path)-1]
		if len(path) > 0 {
			before := path[len(path)-1].vertex
			before.lowest = min(before.lowest, done.lowest)
		}
		if done.lowest == done.order {
			e.complete(e.close(done))
		}
	}
}

// close returns the group of the open vertices from v on.
func (e *evaluation) close(v *vertex) *group {
	// Search from the end: there may be many open vertices before v, the roles that led here.
	first := len(e.open) - 1
	for e.open[first] != v {
		first--
	}
	g := &group{}
	for _, member := range e.open[first:] {
		member.group = g
		if member.node != nil {
			g.roles = append(g.roles, member.node)
		}
	}
	e.open = e.open[:first]
	slices.SortFunc(g.roles, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	return g
}

// completeCycle computes the aggregated rules of the members of a cycle.
//
// Every member of a cycle gets the same set of rules: all rules that enter the cycle anywhere. Each member's list has
// the order that BR-27-02 … BR-27-04 give it from the lists of its sources, so that upstream finds nothing to change.
// The list begins with the rules that the member aggregates from outside the cycle before its first source inside. The
// same rules of that source follow, and so on, once around the cycle. The remaining rules come last, in the order of
// the members' names.
func (e *evaluation) completeCycle(g *group) {
	var entering []*part
	for _, member := range g.roles {
		entering = append(entering, e.selected(member.selections, g)...)
	}
	if e.mode == settled {
		for _, n := range e.aggregatedBelow(g) {
			entering = append(entering, e.leaf(n))
		}
	}
	left := e.joined(entering...)

	e.pass++
	pass := e.pass
	for _, member := range g.roles {
		var path []*node
		at := member
		for ; at.walked.first(pass); at = firstInside(at) {
			path = append(path, at)
		}
		if at.comesTo == nil {
			// Once around the cycle from here.
			parts := e.beforeInside(at)
			for next := firstInside(at); next != at; next = firstInside(next) {
				parts = append(parts, e.beforeInside(next)...)
			}
			at.comesTo = e.joined(append(parts, left)...)
		}
		for _, n := range slices.Backward(path) {
			if n.comesTo == nil {
				n.comesTo = e.joined(append(e.beforeInside(n), firstInside(n).comesTo)...)
			}
		}
	}
}

// firstInside returns the first source of a member of a cycle that is in the cycle.
func firstInside(member *node) *node {
	i, which := untilInside(member)
	s := member.selections[i]
	return s.sources[s.insiders()[which]]
}

// beforeInside returns what a member of a cycle collects before its first source inside the cycle.
func (e *evaluation) beforeInside(member *node) []*part {
	i, which := untilInside(member)
	last := member.selections[i]
	if last.before[which] == nil {
		last.before[which] = e.sum(last.sources[:last.insiders()[which]], member.group)
	}
	return append(e.selected(member.selections[:i], member.group), last.before[which])
}

// untilInside returns the first selection of a member of a cycle that has a source inside the cycle, and whether the
// member's source is the first (0) or the second (1) such source of the selection. It is the second if the first is the
// member itself, which does not collect itself.
func untilInside(member *node) (selection, which int) {
	// There is one, or the member would not be in the cycle.
	for i := 0; ; i++ {
		s := member.selections[i]
		if s.group != member.group {
			continue
		}
		for which, position := range s.insiders() {
			if position < len(s.sources) && s.sources[position] != member {
				return i, which
			}
		}
	}
}

// insiders returns the positions of its first two sources that are in its group. A missing position is the number of
// sources.
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
