package rbacaggregate

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube/internal/snapshot"
)

// An evaluation sees the ClusterRoles as a graph:
//
//	role (node) ─▶ selector (selection) ─▶ roles that it matches (nodes) ─▶ their selectors ─▶ …
//
// It builds only the part of the graph below the roles that a question is about, and finds the cycles in it. What flows
// through the graph is in fixpoint.go and orders.go.

// evaluation computes rules for one question. It reads only what the question depends on, and each role, selector and
// rule once. It belongs to one goroutine. nodes, and selections by the text of the selector, are what has been found
// so far. ids may be shared by two evaluations that are compared, before and after a write.
//
// An evaluation is thrown away after the question, so that an Index never changes and any number of goroutines can ask
// it.
type evaluation struct {
	index      *Index
	ids        *ruleIDs
	nodes      map[*rbacv1.ClusterRole]*node
	selections map[string]*selection
	// all reports that the question is about many roles, so the list of each union is kept. For one role, lists of
	// intermediate unions would only copy the same rules once for each level.
	all bool
	// visited counts the visited vertices. open has the vertices whose group is not complete. found has the groups whose
	// rules have not been computed, sources first.
	visited int
	open    []*vertex
	found   []*group
	// pass counts collections. A mark with the current pass means that the thing has been collected. This takes the
	// place of a set that each collection would have to make.
	pass   mark
	marked []ruleMarks // by ruleID
}

// mark is the pass in which something was collected last. The zero mark is older than every pass, since the first pass
// is 1.
type mark int

// first sets the mark, and reports whether it is the first time in this pass.
func (m *mark) first(pass mark) bool {
	if *m == pass {
		return false
	}
	*m = pass
	return true
}

// evaluate begins an evaluation, for the question about one role or about all roles. It computes nothing yet.
func (x *Index) evaluate(ids *ruleIDs, all bool) *evaluation {
	return &evaluation{index: x, ids: ids, nodes: map[*rbacv1.ClusterRole]*node{}, selections: map[string]*selection{},
		all: all}
}

// node is a ClusterRole whose name no other ClusterRole has, with its selections.
type node struct {
	vertex
	object *rbacv1.ClusterRole
	// aggregation is nil for a role that does not aggregate.
	aggregation *aggregation
	// selections are the selections of the selectors, in order, each once. selectedBy has the positions of the selectors.
	// They are missing until the role is expanded.
	selections []*selection
	selectedBy []int
	expanded   bool

	// storedRules are the rules in the object, numbered. Each occurrence counts, also of a rule that is stored twice.
	storedRules []rule // nil until they are needed

	// aggregated has its aggregated rules, once they are computed. own has its stored rules, each once.
	aggregated *union
	own        union

	collected mark // the last pass in which it was collected
}

// selection is what one selector matches. Selectors with the same text share a selection, so that n roles that match
// everything do not make n² edges. What a selection contributes is computed once too, for all roles that have the
// selector.
type selection struct {
	vertex
	// sources are the matched roles, sorted by name (BR-27-02). A role that has the selector may be among them. It skips
	// itself where it reads them (BR-27-03).
	sources []*node

	// addedTo makes expand add a selection once to a role that has the same selector twice. Expansion works on one node
	// at a time, so one field is enough.
	addedTo *node // the last node that it was added to

	// What it contributes, computed when it is needed: to roles of its own group (outside), to other roles (whole), to
	// roles of its own group before their first source inside (before), and in one round of upstream's writes (round).
	outside, whole *union
	members        *[2]int // see firstMembers
	before         [2]*union
	round          *round

	collected mark // the pass in which it was collected
}

// round is what one selection contributes to a pass of upstream: the stored rules of its sources, each once. first are
// the sources in which one of these rules is found first.
type round struct {
	list  []rule
	first map[*node]bool
}

// compareNodes sorts by name.
func compareNodes(a, b *node) int { return byName(a.object, b.object) }

// node returns the node of a ClusterRole whose name no other ClusterRole has. Its selectors are looked at in expand,
// once something depends on the node.
func (e *evaluation) node(object *rbacv1.ClusterRole) *node {
	n := e.nodes[object]
	if n == nil {
		n = &node{object: object}
		n.vertex.node = n
		n.aggregation, _ = e.index.aggregations.Get(nameOf(object.Name))
		e.nodes[object] = n
	}
	return n
}

// stored returns the rules that are stored in a role. It does not copy them: the rules point into the object.
func (e *evaluation) stored(n *node) []rule {
	if n.storedRules == nil {
		n.storedRules = e.ids.all(n.object.Rules)
	}
	return n.storedRules
}

// written reports whether aggregation writes a role: it aggregates, and nothing is wrong with its aggregation. If it is
// false, what is stored in the role stays for good.
func (e *evaluation) written(n *node) bool { return e.index.written(n.aggregation) }

// expand finds what a written role aggregates. It does nothing the second time.
func (e *evaluation) expand(n *node) {
	if n.expanded {
		return
	}
	n.expanded = true
	for i, s := range n.aggregation.selectors {
		// The same selector twice in one role brings nothing more.
		if sel := e.selection(s); sel.addedTo != n {
			sel.addedTo = n
			n.selections = append(n.selections, sel)
			n.selectedBy = append(n.selectedBy, i)
		}
	}
}

// selection returns the selection of a selector, and finds the matching ClusterRoles the first time.
func (e *evaluation) selection(s *selector) *selection {
	sel := e.selections[s.text]
	if sel == nil {
		sel = &selection{}
		sel.vertex.selection = sel
		for _, object := range e.index.matched(s) {
			sel.sources = append(sel.sources, e.node(object))
		}
		e.selections[s.text] = sel
	}
	return sel
}

// has reports whether a role is among the sources. It costs O(log n), since the sources are sorted by name.
func (s *selection) has(n *node) bool {
	_, found := slices.BinarySearchFunc(s.sources, n, compareNodes)
	return found
}

// Roles may aggregate each other: a has a selector that matches b, and b has a selector that matches a. The API server
// admits this. The cycles are the strongly connected components of the graph of written roles and their selections:
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
	// stays nil for a role that is not written: it contributes its stored rules.
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

// leads returns the vertices to which v has an edge. A source that is not written is left out: nothing flows through
// it.
func (e *evaluation) leads(v *vertex) []*vertex {
	var leads []*vertex
	if v.node != nil {
		e.expand(v.node)
		for _, s := range v.node.selections {
			leads = append(leads, &s.vertex)
		}
		return leads
	}
	for _, n := range v.selection.sources {
		if e.written(n) {
			leads = append(leads, &n.vertex)
		}
	}
	return leads
}

// findGroups finds the groups of a written role and of all vertices that it leads to, sources first. It is Tarjan's
// algorithm without recursion: recursion needs a stack frame for each level of nesting, and anybody who may write
// ClusterRoles decides how many levels there are. The cost is linear in vertices and edges.
func (e *evaluation) findGroups(start *node) {
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
			e.close(done)
		}
	}
}

// close makes a group of the open vertices from v on. These are exactly the vertices of the group of v: the groups of
// all later vertices have been closed before.
func (e *evaluation) close(v *vertex) {
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
	e.found = append(e.found, g)
}

// reached is a role that was found below another one: by the selector at this position in via, which is nil for the
// role where the search began.
type reached struct {
	*node
	via      *node
	selector int
}

// below returns the roles in starts and all roles that their rules can come from, nearest first. It goes on from a role
// where through says so, and such a role must be expanded. A role is found once, so a cycle ends the search.
func (e *evaluation) below(through func(*node) bool, starts ...*node) []reached {
	e.pass++
	var found []reached
	add := func(r reached) {
		if r.collected.first(e.pass) {
			found = append(found, r)
		}
	}
	for _, n := range starts {
		add(reached{node: n})
	}
	for i := 0; i < len(found); i++ {
		via := found[i].node
		if !through(via) {
			continue
		}
		for k, s := range via.selections {
			// Skipping a selection that was seen keeps the search linear when n roles have one selector.
			if s.collected.first(e.pass) {
				for _, n := range s.sources {
					add(reached{n, via, via.selectedBy[k]})
				}
			}
		}
	}
	return found
}

// written reports whether aggregation writes a ClusterRole of this aggregation, which is nil if there is none. It keeps
// its rules if something is wrong: half of the aggregated rules would take permissions away from whoever is bound to
// it.
//
// A name that several ClusterRoles have is wrong for every aggregation: which of the ClusterRoles is current is
// unknown, and so which labels the name has, and who selects it.
func (x *Index) written(a *aggregation) bool {
	return a != nil && len(a.problems) == 0 && !x.objects.AnyAmbiguous()
}

// addProblems adds what is wrong with an aggregation.
func (x *Index) addProblems(a *aggregation, problems *snapshot.Problems) {
	for _, problem := range a.problems {
		problems.Add(copyError(problem))
	}
	if name := x.firstAmbiguous(); name != "" {
		problems.Add(duplicateError(name))
	}
}

// firstAmbiguous returns the first name that several ClusterRoles have, or "". One is enough for an error of each
// ClusterRole that aggregates: Err names them all.
func (x *Index) firstAmbiguous() string {
	for name := range x.objects.AmbiguousNames() {
		return name.Name
	}
	return ""
}
