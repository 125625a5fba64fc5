package rbacaggregate

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube"
)

// mode says what a source with an aggregationRule contributes.
type mode int

const (
	// nested: the rules that it aggregates, through all levels at once (D-11).
	nested mode = iota
	// stored: the rules that are stored in it, as in one round of upstream's writes.
	stored
	// settled: the rules that it has after as many rounds of upstream's writes as needed.
	settled
)

// evaluation computes rules for one question. It reads only what the question depends on, and each role, selector and
// rule once. It belongs to one goroutine.
type evaluation struct {
	index      *Index
	mode       mode
	ids        *ruleIDs
	nodes      map[string]*node
	selections map[string]*selection
	// all reports that the question is about many roles, so the list of each part is kept.
	all bool
	// visited counts the visited vertices. open has the vertices whose group is not complete.
	visited int
	open    []*vertex
	// pass counts collections. A mark with the current pass means that the thing has been collected.
	pass   mark
	marked []ruleMarks // by ruleID
}

// mark is the pass in which something was collected last.
type mark int

// first sets the mark, and reports whether it is the first time in this pass.
func (m *mark) first(pass mark) bool {
	if *m == pass {
		return false
	}
	*m = pass
	return true
}

func (x *Index) evaluate(m mode, ids *ruleIDs) *evaluation {
	return &evaluation{index: x, mode: m, ids: ids, nodes: map[string]*node{}, selections: map[string]*selection{}}
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

// node is a ClusterRole whose name no other ClusterRole has, with its selections.
type node struct {
	vertex
	name   string
	object *rbacv1.ClusterRole
	// aggregation is nil for a role that does not aggregate.
	aggregation *aggregation
	// selections are the selections of the selectors that convert, in order, each once. selectedBy has the positions
	// of the selectors.
	selections []*selection
	selectedBy []int
	expanded   bool
	// problems say why its rules cannot be computed.
	problems []*purekube.ObjectError

	storedRules []rule // nil until they are needed

	// comesTo has its aggregated rules, once its group is complete. leaf has its stored rules.
	comesTo *part
	leaf    part

	// The last passes in which it was collected, visited on a walk around a cycle, and counted as failing.
	collected, walked, failed mark
}

// selection is what one selector matches. Selectors with the same text share a selection, so that n roles that match
// everything do not make n² edges.
type selection struct {
	vertex
	// sources are the matched roles without ambiguous ones, sorted by name (BR-27-02).
	sources []*node
	// ambiguous are the ambiguous names, sorted.
	ambiguous []string

	addedTo *node // the last node that it was added to
	inside  *[2]int

	// What it contributes, computed when it is needed: to roles of its own group (outside), to other roles (whole), to
	// roles of its own group before their first source inside (before), and in one round of upstream's writes (stored).
	outside, whole *part
	before         [2]*part
	stored         []*occurrence

	collected mark // the pass in which it was collected
}

// node returns the node of a ClusterRole whose name no other ClusterRole has.
func (e *evaluation) node(object *rbacv1.ClusterRole) *node {
	n := e.nodes[object.Name]
	if n == nil {
		n = &node{name: object.Name, object: object}
		n.vertex.node = n
		n.aggregation, _ = e.index.aggregations.Get(nameOf(object.Name))
		e.nodes[object.Name] = n
	}
	return n
}

// stored returns the rules that are stored in a role.
func (e *evaluation) stored(n *node) []rule {
	if n.storedRules == nil {
		n.storedRules = e.ids.all(n.object.Rules)
	}
	return n.storedRules
}

// expand finds what a role aggregates.
func (e *evaluation) expand(n *node) {
	if n.expanded || n.aggregation == nil {
		return
	}
	n.expanded = true
	n.problems = slices.Clone(n.aggregation.problems)
	for i, s := range n.aggregation.selectors {
		if s == nil {
			continue
		}
		sel := e.selection(s)
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

// has reports whether a role is among the sources.
func (s *selection) has(n *node) bool {
	_, found := slices.BinarySearchFunc(s.sources, n.name, func(source *node, name string) int { return strings.Compare(source.name, name) })
	return found
}

// computable reports whether a role aggregates and everything that it aggregates is known.
func (e *evaluation) computable(n *node) bool {
	e.expand(n)
	return n.aggregation != nil && len(n.problems) == 0
}

// contribution returns the aggregated rules of a computable role.
func (e *evaluation) contribution(n *node) list {
	if e.mode == stored {
		return e.storedList(n)
	}
	e.group(n)
	return e.list(n.comesTo)
}
