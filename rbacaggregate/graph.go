package rbacaggregate

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

const kindClusterRole = "ClusterRole"

// role is a name of the snapshot.
type role struct {
	name string
	// objects has one entry; more, if the name is ambiguous.
	objects []*rbacv1.ClusterRole
}

func (r *role) ambiguous() bool { return len(r.objects) > 1 }

// aggregates reports whether the controller looks after the role's rules: whether it has an
// aggregationRule. Nothing is known about an ambiguous one.
func (r *role) aggregates() bool {
	return !r.ambiguous() && r.objects[0].AggregationRule != nil
}

func (r *role) selectors() []metav1.LabelSelector {
	if !r.aggregates() {
		return nil
	}
	return r.objects[0].AggregationRule.ClusterRoleSelectors
}

// matchedBy reports whether the selector matches, for an ambiguous role any of its objects.
func (r *role) matchedBy(s labels.Selector) bool {
	for _, object := range r.objects {
		if s.Matches(labels.Set(object.Labels)) {
			return true
		}
	}
	return false
}

func (r *role) duplicateError() *purekube.ObjectError {
	return snapshot.DuplicateError(kindClusterRole, types.NamespacedName{Name: r.name})
}

// graph is a snapshot in which roles are numbers, in the order of their names. What it derives is
// derived on demand and once.
type graph struct {
	options  Options
	roles    []role
	labelled labelIndex
	ids      *ruleIDs
	// problems are those that belong to no name.
	problems snapshot.Problems

	writtenRules [][]rule
	edges        []*edges
	components   components
}

// newGraph indexes the snapshot. Graphs with the same ids number rules the same way.
func newGraph(s Snapshot, o Options, ids *ruleIDs) *graph {
	g := &graph{options: o, ids: ids}
	sorted := snapshot.Named(kindClusterRole, s.ClusterRoles, &g.problems)
	slices.SortFunc(sorted, func(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
	g.roles = make([]role, 0, len(sorted))
	for len(sorted) > 0 {
		same := 1
		for same < len(sorted) && sorted[same].Name == sorted[0].Name {
			same++
		}
		g.roles = append(g.roles, role{sorted[0].Name, sorted[:same:same]})
		sorted = sorted[same:]
	}
	g.labelled = newLabelIndex(g.roles)
	g.writtenRules = make([][]rule, len(g.roles))
	g.edges = make([]*edges, len(g.roles))
	return g
}

// find returns the number of a name.
func (g *graph) find(name string) (int, bool) {
	return slices.BinarySearchFunc(g.roles, name, func(r role, name string) int { return strings.Compare(r.name, name) })
}

// written returns the rules that stand in a role that is not ambiguous.
func (g *graph) written(i int) []rule {
	if g.writtenRules[i] == nil {
		g.writtenRules[i] = g.ids.all(g.roles[i].objects[0].Rules)
	}
	return g.writtenRules[i]
}

// edges are the roles that one role aggregates.
type edges struct {
	// sources are they, in the order of the first selector that matches each, and under one
	// selector by name (BR-27-02); without the role itself (BR-27-03) and without
	// ambiguous ones.
	sources []int
	// selectedBy has, for each of sources, the position of that selector.
	selectedBy []int
	// ambiguous are the names that each selector is the first to match and that are ambiguous.
	ambiguous map[int][]string
	// matched has the selectors that match another role.
	matched map[int]bool
	// selectors are those that convert.
	selectors []labels.Selector
	// problems say why the rules cannot be computed: selectors that do not convert and sources
	// that are ambiguous.
	problems []*purekube.ObjectError
}

// from returns the edges of a role; none for one that does not aggregate.
func (g *graph) from(i int) *edges {
	if g.edges[i] == nil {
		g.edges[i] = g.findEdges(i)
	}
	return g.edges[i]
}

func (g *graph) findEdges(i int) *edges {
	e := &edges{ambiguous: map[int][]string{}, matched: map[int]bool{}}
	taken := map[int]struct{}{}
	ls := g.roles[i].selectors()
	for k := range ls {
		selector, err := compile(&ls[k])
		if err != nil {
			e.problems = append(e.problems, &purekube.ObjectError{
				Kind: kindClusterRole, Name: g.roles[i].name,
				Field: fmt.Sprintf("aggregationRule.clusterRoleSelectors[%d]", k), Err: err,
			})
			continue
		}
		e.selectors = append(e.selectors, selector)
		consider := func(j int) {
			if j == i || !g.roles[j].matchedBy(selector) {
				return
			}
			e.matched[k] = true
			if _, again := taken[j]; again {
				return
			}
			taken[j] = struct{}{}
			if g.roles[j].ambiguous() {
				e.problems = append(e.problems, g.roles[j].duplicateError())
				e.ambiguous[k] = append(e.ambiguous[k], g.roles[j].name)
				return
			}
			e.sources = append(e.sources, j)
			e.selectedBy = append(e.selectedBy, k)
		}
		if some, all := g.labelled.candidates(&ls[k]); all {
			for j := range g.roles {
				consider(j)
			}
		} else {
			for _, j := range some {
				consider(j)
			}
		}
	}
	return e
}

// computable reports whether the role aggregates and all that it aggregates is known.
func (g *graph) computable(i int) bool {
	return g.roles[i].aggregates() && len(g.from(i).problems) == 0
}
