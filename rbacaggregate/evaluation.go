package rbacaggregate

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube"
)

// mode says what a source contributes that has an aggregationRule itself.
type mode int

const (
	// nested: the rules that it aggregates, through all levels at once (D-11).
	nested mode = iota
	// stored: the rules that are stored in it, as upstream has it in one round of writes.
	stored
	// settled: the rules that upstream comes to in the end, after as many rounds as it takes.
	settled
)

// evaluation computes rules for one question. It looks only at what the question leads to, and at each
// role, selector and rule once. It belongs to one goroutine.
type evaluation struct {
	index      *Index
	mode       mode
	ids        *ruleIDs
	nodes      map[string]*node
	selections map[string]*selection
	// all: many roles are asked for, so the list of each part is kept. Otherwise a list costs no more than what
	// it rests on.
	all bool
	// visited counts vertices, and open are those whose group is not complete.
	visited int
	open    []*vertex
	// pass counts collections; what is marked with the current one has been collected.
	pass   mark
	marked []ruleMarks // by ruleID
}

// mark is the pass in which something was collected last.
type mark int

// first marks, and reports whether it is the first time in this pass.
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

// evaluatePlans begins the evaluation of what plans say: of one role, or of all.
func (x *Index) evaluatePlans(all bool) *evaluation {
	m := nested
	if x.options.matchUpstream() {
		m = stored
	}
	e := x.evaluate(m, &ruleIDs{})
	e.all = all
	return e
}

// node is a ClusterRole, whose name no other one has, with what it aggregates.
type node struct {
	vertex
	name   string
	object *rbacv1.ClusterRole
	// aggregation is nil for a role that does not aggregate.
	aggregation *aggregation
	// selections are those of the selectors that convert, in order, each once; selectedBy has the
	// position of the selector.
	selections []*selection
	selectedBy []int
	expanded   bool
	// problems say why its rules cannot be computed.
	problems []*purekube.ObjectError

	storedRules []rule // nil until somebody asks for them

	// comesTo is what it comes to by aggregation, once its group is complete. leaf is what is stored in it.
	comesTo *part
	leaf    part

	// The passes in which it was collected, walked by in a cycle, and counted as failing.
	collected, walked, failed mark
}

// selection is what one selector matches. Selectors of one text share it, whoever has them: that keeps n
// roles that match everything from being n² edges.
type selection struct {
	vertex
	// sources are the roles, not ambiguous, sorted by name (BR-27-02).
	sources []*node
	// ambiguous are the ambiguous names, sorted.
	ambiguous []string

	addedTo *node // the last one that it was added to
	inside  *[2]int

	// What it contributes, once somebody asks: to roles of its own group, to others, and to those of its own
	// group before the first and the second source inside; and in one round of upstream's writes.
	outside, whole *part
	before         [2]*part
	stored         []*occurrence

	collected mark // the pass in which it was collected
}

// node returns the node of a ClusterRole whose name no other one has.
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

// computable reports whether a role aggregates and all that it aggregates is known.
func (e *evaluation) computable(n *node) bool {
	e.expand(n)
	return n.aggregation != nil && len(n.problems) == 0
}

// contribution returns what a computable role comes to by aggregation.
func (e *evaluation) contribution(n *node) list {
	if e.mode == stored {
		return e.storedList(n)
	}
	e.group(n)
	return e.list(n.comesTo)
}
