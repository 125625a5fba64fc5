package rbacaggregate

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube"
)

// An evaluation computes which rules flow into a role. It sees the ClusterRoles as a graph:
//
//	role (node) ─▶ selector (selection) ─▶ roles that it matches (nodes) ─▶ their selectors ─▶ …
//
// It builds only the part of the graph below the roles that a question is about. The mode decides what an aggregating
// role passes on, and so which controller's decision is computed.

// mode says what a source with an aggregationRule contributes.
type mode int

const (
	// nested: the rules that it aggregates, through all levels at once (D-11). The default decisions use it. One
	// plan reaches all levels.
	nested mode = iota
	// stored: the rules that are stored in it, as in one round of upstream's writes. Plans use it under
	// MatchUpstream: syncClusterRole reads the rules that the cache has.
	stored
	// settled: the rules that it may have after as many rounds of upstream's writes as needed, in some order of the
	// passes. Previews use it under MatchUpstream: what is written at first is not what a stock cluster ends
	// with.
	settled
	// surelySettled: the rules that it has after these rounds in every order of the passes.
	surelySettled
)

// evaluation computes rules for one question. It reads only what the question depends on, and each role, selector and
// rule once. It belongs to one goroutine. nodes, and selections by the text of the selector, are what has been found
// so far. ids may be shared by two evaluations that are compared, before and after a write.
//
// An evaluation is thrown away after the question, so that an Index never changes and any number of goroutines can ask
// it.
type evaluation struct {
	index      *Index
	mode       mode
	ids        *ruleIDs
	nodes      nodesByRole
	selections map[string]*selection
	// all reports that the question is about many roles, so the list of each part is kept. For one role, lists of
	// intermediate parts would only copy the same rules once for each level.
	all bool
	// visited counts the visited vertices. open has the vertices whose group is not complete.
	visited int
	open    []*vertex
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

// evaluate begins an evaluation. It computes nothing yet.
func (x *Index) evaluate(m mode, ids *ruleIDs) *evaluation {
	return &evaluation{index: x, mode: m, ids: ids, nodes: nodesByRole{}, selections: map[string]*selection{}}
}

// evaluatePlans begins an evaluation for the plan of one role, or of all roles.
func (x *Index) evaluatePlans(all bool) *evaluation {
	m := nested
	if x.options.matchUpstream() {
		m = stored
	}
	e := x.evaluate(m, &ruleIDs{})
	e.all = all
	return e
}

// node is a ClusterRole whose name no other ClusterRole has, with its selections. A name that several ClusterRoles have
// is no node: which of them the API server has is unknown, so what it contributes is unknown too.
type node struct {
	vertex
	object *rbacv1.ClusterRole
	// aggregation is nil for a role that does not aggregate.
	aggregation *aggregation
	// selections are the selections of the selectors that convert, in order, each once. selectedBy has the positions of
	// the selectors. They are missing until the role is expanded. In mode stored, a plan expands only the planned role,
	// since it reads what is stored in the sources.
	selections []*selection
	selectedBy []int
	expanded   bool
	// problems say why its rules cannot be computed: invalid selectors, and ambiguous names that a selector matches. If
	// there are any, the role is not written at all. Half of its rules would take permissions away from whoever is
	// bound to it.
	problems []*purekube.ObjectError

	// storedRules are the rules in the object, numbered. Each occurrence counts, also of a rule that is stored twice.
	storedRules []rule // nil until they are needed

	// comesTo has its aggregated rules, once its group is complete. leaf has its stored rules.
	comesTo *part
	leaf    part

	// The last passes in which it was collected, visited on a walk around a cycle, and counted as failing.
	collected, walked, failed mark
}

// selection is what one selector matches. Selectors with the same text share a selection, so that n roles that match
// everything do not make n² edges. What a selection contributes is computed once too, for all roles that have the
// selector.
type selection struct {
	vertex
	// sources are the matched roles without ambiguous ones, sorted by name (BR-27-02). A role that has the selector may
	// be among them. It skips itself where it reads them (BR-27-03).
	sources []*node
	// ambiguous are the ambiguous names, sorted. They make the aggregation fail for every role that has the selector.
	ambiguous []string

	// addedTo makes expand add a selection once to a role that has the same selector twice. Expansion works on one node
	// at a time, so one field is enough.
	addedTo *node // the last node that it was added to
	inside  *[2]int

	// What it contributes, computed when it is needed: to roles of its own group (outside), to other roles (whole), to
	// roles of its own group before their first source inside (before), and in one round of upstream's writes (stored).
	outside, whole *part
	before         [2]*part
	stored         []*occurrence

	collected mark // the pass in which it was collected
}

// nodesByRole has the nodes by their ClusterRoles.
type nodesByRole map[*rbacv1.ClusterRole]*node

// compareNodes sorts by name.
func compareNodes(a, b *node) int { return strings.Compare(a.object.Name, b.object.Name) }

// node returns the node of a ClusterRole whose name no other ClusterRole has. Their selectors are looked at in expand,
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

// expand finds what a role aggregates. It does nothing for a role that does not aggregate, and nothing the second time.
func (e *evaluation) expand(n *node) {
	if n.expanded || n.aggregation == nil {
		return
	}
	n.expanded = true
	// Clone, because the slice belongs to the Index, and the problems of ambiguous names are appended to it.
	n.problems = slices.Clone(n.aggregation.problems)
	for i, s := range n.aggregation.selectors {
		if s == nil {
			continue
		}
		sel := e.selection(s)
		// The same selector twice in one role brings nothing more, and would list its ambiguous names twice.
		if sel.addedTo == n {
			continue
		}
		sel.addedTo = n
		n.selections = append(n.selections, sel)
		n.selectedBy = append(n.selectedBy, i)
		for _, name := range sel.ambiguous {
			n.problems = append(n.problems, duplicateError(name))
		}
	}
}

// selection returns the selection of a selector, and finds the matching ClusterRoles the first time.
func (e *evaluation) selection(s *selector) *selection {
	sel := e.selections[s.text]
	if sel == nil {
		sel = &selection{}
		sel.vertex.selection = sel
		var objects []*rbacv1.ClusterRole
		objects, sel.ambiguous = e.index.matched(s)
		sel.sources = make([]*node, len(objects))
		for i, object := range objects {
			sel.sources[i] = e.node(object)
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

// computable reports whether a role aggregates and everything that it aggregates is known. If it is false, the role
// contributes its stored rules: for good, because nothing is going to write them.
func (e *evaluation) computable(n *node) bool {
	e.expand(n)
	return n.aggregation != nil && len(n.problems) == 0
}

// contribution returns the aggregated rules of a computable role.
func (e *evaluation) contribution(n *node) list {
	if e.mode == stored {
		return e.storedList(n)
	}
	// group computes the rules of n, and before them the rules of every role that n depends on.
	e.group(n)
	return e.list(n.comesTo)
}
