package rbacaggregate

import (
	"slices"
	"strings"
)

// vertex is a node or a selection. Roles lead to their selections, and these to their sources.
type vertex struct {
	node      *node
	selection *selection
	// order is the position in which it was visited, from 1 on; lowest the lowest that it leads back to.
	order, lowest int
	group         *group
}

// group is a strongly connected component: a role alone, a selection alone, or roles that aggregate
// each other, directly or through others, with the selections by which they do.
type group struct {
	// roles are its members, sorted by name.
	roles []*node
	// collects reports whether any rules come in from outside, and grants whether its members have
	// any; what is stored in the roles of goesRound may go round in it (mode settled).
	collects, grants bool
	goesRound        []*node
}

// cyclic reports whether roles aggregate each other.
func (g *group) cyclic() bool { return g != nil && len(g.roles) > 1 }

// leads are the vertices that one leads to.
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

// group finds the groups of a computable role and of all that it leads to, sources first (Tarjan's
// algorithm, without recursion), and calls complete for each of them.
func (e *evaluation) group(start *node, complete func(*group)) {
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
			complete(e.close(done))
		}
	}
}

// close makes the group of the open vertices from v on.
func (e *evaluation) close(v *vertex) *group {
	// From the end: what is open before it are the roles that led here, perhaps many.
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
