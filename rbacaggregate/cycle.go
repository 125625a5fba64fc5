package rbacaggregate

import "slices"

// Roles may aggregate each other: a has a selector that matches b, and b has a selector that matches a. The API server
// admits this. Upstream reads stored rules, so such roles copy each other's rules, and a rule whose source is deleted
// stays forever (D-11). By default a rule needs a source outside the cycle.
//
// This file finds the cycles, as the strongly connected components of a graph of roles and selections:
//
//	admin ──▶ {agg: admin} ──▶ edit ──▶ {agg: edit} ──▶ view ──▶ …
//	                     └───▶ istio-admin (no aggregationRule: not in the graph)
//
// Selections are vertices of their own. Without them, n roles that share a selector that matches n roles would make n²
// edges. With them, they make 2n.

// vertex is a node or a selection. The edges lead from roles to their selections, and from selections to their
// sources.
type vertex struct {
	// Exactly one of node and selection is set. group is nil until the vertex is visited and its group is complete. It
	// stays nil for a role that does not aggregate, and for a role whose aggregation fails: both contribute their
	// stored rules.
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

// cyclic reports whether roles aggregate each other. A group of one role is no cycle, even if the role selects itself:
// a role does not collect its own rules (BR-27-03).
func (g *group) cyclic() bool { return len(g.roles) > 1 }

// leads returns the vertices to which v has an edge. A source that is not computable is left out: it contributes only
// its stored rules, so nothing flows through it.
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
// group. It is Tarjan's algorithm without recursion. Recursion would need a stack frame for each level of nesting, and
// anybody who may write ClusterRoles decides how many levels there are.
//
// "Sources first" is what makes one pass enough: when a group is completed, the rules of everything that it leads to
// are computed. The cost is linear in vertices and edges.
func (e *evaluation) group(start *node) {
	if start.group != nil {
		return
	}
	// A visit is a vertex on the way from start, with its edges that have not been followed.
	type visit struct {
		*vertex
		leads []*vertex
	}
	// path takes the place of the call stack of the recursive algorithm.
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
			// An order of 0 means not visited. A visited vertex without a group is open: the edge leads back to the
			// path, so at least all vertices from there on are one group. A vertex with a group is complete, and adds
			// nothing.
			case to.order == 0:
				enter(to)
			case to.group == nil:
				at.lowest = min(at.lowest, to.order)
			}
			continue
		}
		done := at.vertex
		path = path[:len(path)-1]
		// What v leads back to, the vertex before v on the path leads back to as well.
		if len(path) > 0 {
			before := path[len(path)-1].vertex
			before.lowest = min(before.lowest, done.lowest)
		}
		// The vertex leads back to no earlier vertex, so it is the first visited vertex of its group.
		if done.lowest == done.order {
			e.complete(e.close(done))
		}
	}
}

// close returns the group of the open vertices from v on. These are exactly the vertices of the group of v: the groups
// of all later vertices have been closed before.
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
	// Tarjan's order depends on where the search began. Sorted by name, the result depends on the snapshot only.
	slices.SortFunc(g.roles, compareNodes)
	return g
}

// completeCycle computes the aggregated rules of the members of a cycle.
//
// Every member of a cycle gets the same set of rules: all rules that enter the cycle anywhere. Each member's list has
// the order that BR-27-02 … BR-27-04 give it from the lists of its sources, so that upstream finds nothing to change.
// The list begins with the rules that the member aggregates from outside the cycle before its first source inside. The
// same rules of that source follow, and so on, once around the cycle. The remaining rules come last, in the order of
// the members' names.
//
// An example. x grants rule 1 and y grants rule 2; a has the selectors [x, b], and b has the selectors [y, a]:
//
//	a = before b: [1]   then what b has before a: [2]   = [1 2]
//	b = before a: [2]   then what a has before b: [1]   = [2 1]
//
// A pass of upstream over a collects x's [1] and b's [2 1], which is [1 2]: it has nothing to write. With any fixed
// order for both, say [1 2], upstream and the default would overwrite each other's order in b forever.
func (e *evaluation) completeCycle(g *group) {
	// Every rule that enters the cycle at one member reaches all members, because each member leads to each other
	// member.
	var entering []*part
	for _, member := range g.roles {
		entering = append(entering, e.selected(member.selections, g)...)
	}
	// In upstream's rounds the stored rules of members and of the roles below them can enter the cycle too: see
	// settled.go.
	if e.mode == settled {
		for _, n := range e.aggregatedBelow(g) {
			entering = append(entering, e.leaf(n))
		}
	}
	left := e.joined(entering...)

	// Each member has one first source inside. So a walk along first sources ends in a loop, or at a member whose rules
	// are known. Every member is walked once: n members cost n steps, and not n for each.
	e.pass++
	pass := e.pass
	for _, member := range g.roles {
		var path []*node
		at := member
		for ; at.walked.first(pass); at = firstInside(at) {
			path = append(path, at)
		}
		// The walk ran into itself, so this member is on a loop. Its list is computed without the list of another
		// member. All other members on the path, nearest first, put their own rules before the list of their first
		// source.
		if at.comesTo == nil {
			// Once around the cycle from here.
			parts := e.beforeInside(at)
			for next := firstInside(at); next != at; next = firstInside(next) {
				// The remaining rules are not sorted apart: joined drops every rule that has occurred before.
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

// firstInside returns the first source of a member of a cycle that is in the cycle. It is never the member itself
// (BR-27-03).
func firstInside(member *node) *node {
	i, which := untilInside(member)
	s := member.selections[i]
	return s.sources[s.insiders()[which]]
}

// beforeInside returns what a member of a cycle collects before its first source inside the cycle. The rules are in the
// order of selectors, then of names (BR-27-02). A selection keeps the sum, because all members with the same selector
// ask for it.
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
// member itself, which does not collect itself. The first two positions are enough: of two sources, at most one is the
// member.
func untilInside(member *node) (selection, which int) {
	// There is one, or the member would not be in the cycle.
	for i := 0; ; i++ {
		s := member.selections[i]
		// A selection outside the group leads to no member of the group, or it would be in the group.
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
// sources. It is computed once for each selection, by one search over its sources.
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
