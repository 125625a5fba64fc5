package rbacaggregate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/snapshot"
)

// Explanation says where the rules of a ClusterRole come from. It is data: two explanations can be
// compared with go-cmp.
type Explanation struct {
	// Key is the name of the ClusterRole.
	Key string
	// Reasons are the steps to its rules: those about the ClusterRole as a whole, those about each
	// selector and the ClusterRoles that it is the first to match, in order, and what the plan is.
	Reasons []Reason
	// Rules are the rules that [Rules] returns, in that order; none if they cannot be known.
	Rules []Contribution
	// Sources are the ClusterRoles that it aggregates, directly or through others, sorted by name.
	// A ClusterRole that has no aggregationRule has none. Under MatchUpstream only those that it
	// aggregates directly are sources, since the rules that are stored in them count.
	Sources []Source
}

// Contribution is one rule and where it is written.
type Contribution struct {
	Rule rbacv1.PolicyRule
	// From are the names of the ClusterRoles in which the rule is written, sorted: sources, or the
	// explained ClusterRole itself if it has no aggregationRule.
	From []string
}

// Source is a ClusterRole that another one aggregates.
type Source struct {
	Name string
	// Via is the name of the ClusterRole that aggregates it: the explained one, or another source. Where
	// there are several ways to a source, Via is on the shortest of them, and of two that are as
	// short, on the one through the ClusterRole that is aggregated first.
	Via string
	// Selector is the position of the selector of Via that is the first to match it.
	Selector int
	// Aggregates reports whether it contributes what it aggregates itself. Otherwise it contributes
	// the rules that are stored in it.
	Aggregates bool
}

// Path returns the names on the way from the explained ClusterRole to a source, the source last, for
// example [edit view system:aggregate-to-view]. It is nil for a name that is not a source.
func (e Explanation) Path(source string) []string {
	var path []string
	for name := source; name != e.Key; {
		i, found := slices.BinarySearchFunc(e.Sources, name, func(s Source, name string) int { return strings.Compare(s.Name, name) })
		if !found || len(path) > len(e.Sources) {
			return nil
		}
		path = append(path, name)
		name = e.Sources[i].Via
	}
	slices.Reverse(path)
	return path
}

// Explain returns where each rule of a ClusterRole comes from and what the plan for it is. The error
// is that of [Plan], or for a ClusterRole that s does not hold, one around [purekube.ErrNotFound].
func Explain(s Snapshot, name string, o Options) (Explanation, error) {
	g := newGraph(s, o, &ruleIDs{})
	problems := g.problems
	i, found := g.find(name)
	if !found {
		problems.Add(notFound(name))
		return Explanation{}, problems.Err()
	}
	e := g.explain(i, &problems)
	return e, problems.Err()
}

// ExplainAll returns what Explain returns for every ClusterRole with an aggregationRule and every name
// that s holds twice, sorted by name. The error is that of [PlanAll]; what is wrong with one
// ClusterRole is in its Reasons.
func ExplainAll(s Snapshot, o Options) ([]Explanation, error) {
	g := newGraph(s, o, &ruleIDs{})
	var all []Explanation
	for i := range g.roles {
		if g.roles[i].ambiguous() || g.roles[i].aggregates() {
			var problems snapshot.Problems
			all = append(all, g.explain(i, &problems))
		}
	}
	return all, g.problems.Err()
}

func (g *graph) explain(i int, problems *snapshot.Problems) Explanation {
	e := Explanation{Key: g.roles[i].name, Reasons: g.reasons(i)}
	rules, known := g.intended(i, problems)
	if !known {
		return e
	}
	var from map[ruleID][]string
	from, e.Sources = g.sourcesOf(i)
	e.Rules = make([]Contribution, len(rules))
	for k, r := range rules {
		slices.Sort(from[r.id])
		e.Rules[k] = Contribution{Rule: *r.DeepCopy(), From: slices.Clone(from[r.id])}
	}
	return e
}

// sourcesOf returns, by breadth-first search, the sources of a role and in which of them each rule
// is written.
func (g *graph) sourcesOf(start int) (from map[ruleID][]string, sources []Source) {
	from = map[ruleID][]string{}
	contribute := func(i int) {
		counted := map[ruleID]bool{}
		for _, r := range g.written(i) {
			if !counted[r.id] {
				counted[r.id] = true
				from[r.id] = append(from[r.id], g.roles[i].name)
			}
		}
	}
	if !g.roles[start].aggregates() {
		contribute(start)
		return from, nil
	}
	visited := map[int]bool{start: true}
	for queue := []int{start}; len(queue) > 0; queue = queue[1:] {
		edges := g.from(queue[0])
		for k, i := range edges.sources {
			if visited[i] {
				continue
			}
			visited[i] = true
			source := Source{Name: g.roles[i].name, Via: g.roles[queue[0]].name, Selector: edges.selectedBy[k]}
			if !g.options.matchUpstream() && g.computable(i) {
				source.Aggregates = true
				queue = append(queue, i)
			} else {
				contribute(i)
			}
			sources = append(sources, source)
		}
	}
	slices.SortFunc(sources, func(a, b Source) int { return strings.Compare(a.Name, b.Name) })
	return from, sources
}

// reasons are the steps to the rules of a role.
func (g *graph) reasons(i int) []Reason {
	r := &g.roles[i]
	switch {
	case r.ambiguous():
		return []Reason{
			{Code: DuplicateName, Message: "the snapshot holds more than one ClusterRole of this name"},
			{Code: RulesUnknown, Message: "nothing is written, since its rules cannot be known"},
		}
	case !r.aggregates():
		return []Reason{{Code: NotAggregated, Message: "it has no aggregationRule and keeps its rules"}}
	}
	var reasons []Reason
	if len(r.selectors()) == 0 {
		reasons = append(reasons, Reason{Code: NoSelectors, Message: "its aggregationRule has no selectors and collects nothing"})
	}
	for k := range r.selectors() {
		reasons = append(reasons, g.selectorReasons(i, k)...)
	}
	return append(reasons, g.planReason(i))
}

// selectorReasons are the steps of one selector.
func (g *graph) selectorReasons(i, k int) []Reason {
	field := fmt.Sprintf("aggregationRule.clusterRoleSelectors[%d]", k)
	selector, err := compile(&g.roles[i].selectors()[k])
	if err != nil {
		return []Reason{{Field: field, Code: InvalidSelector, Message: err.Error()}}
	}
	var reasons []Reason
	add := func(code Code, object, format string, args ...any) {
		reasons = append(reasons, Reason{
			Field: field, Code: code, Object: types.NamespacedName{Name: object}, Message: fmt.Sprintf(format, args...),
		})
	}
	if g.roles[i].matchedBy(selector) {
		add(SelectsItself, "", "it matches the ClusterRole itself, which adds nothing")
	}
	aboutItself := len(reasons)
	edges := g.from(i)
	for _, name := range edges.ambiguous[k] {
		add(AmbiguousSource, name, "it matches the name %s, which more than one ClusterRole has", name)
	}
	for n, source := range edges.sources {
		if edges.selectedBy[n] != k {
			continue
		}
		name := g.roles[source].name
		switch {
		case !g.roles[source].aggregates():
			add(ContributesRules, name, "it matches %s, which has %s", name, countRules(len(g.written(source))))
		case g.options.matchUpstream():
			add(ContributesStored, name, "it matches %s, in which %s stored", name, areRules(len(g.written(source))))
		case !g.computable(source):
			add(ContributesStored, name, "it matches %s, whose aggregation fails and in which %s stored", name, areRules(len(g.written(source))))
		default:
			add(ContributesNested, name, "it matches %s, which aggregates %s", name, countRules(len(g.brings(source))))
			if g.inCycle(i, source) {
				add(Cycle, name, "%s aggregates this ClusterRole in turn", name)
			}
		}
	}
	if len(reasons) == aboutItself {
		if edges.matched[k] {
			add(SelectedBefore, "", "whatever it matches is matched by a selector before it")
		} else {
			add(NothingSelected, "", "it matches no other ClusterRole")
		}
	}
	return reasons
}

// inCycle reports whether two roles aggregate each other, directly or through others.
func (g *graph) inCycle(i, source int) bool {
	return g.computable(i) && g.components.of(g, i) == g.components.of(g, source)
}

// planReason says what the plan for a role is.
func (g *graph) planReason(i int) Reason {
	rules, known := g.intended(i, &snapshot.Problems{})
	written := g.written(i)
	switch {
	case !known:
		return Reason{Code: RulesUnknown, Message: "nothing is written, since its rules cannot be known"}
	case sameRules(rules, written):
		return Reason{Code: UpToDate, Message: "its rules are what aggregation gives it"}
	}
	added, removed := len(without(rules, written)), len(without(written, rules))
	what := cmp.Or(
		when(added > 0 && removed > 0, fmt.Sprintf("%s added and %d removed", areRules(added), removed)),
		when(added > 0, fmt.Sprintf("%s added", areRules(added))),
		when(removed > 0, fmt.Sprintf("%s removed", areRules(removed))),
		"the same rules are written in another order",
	)
	return Reason{Code: RulesDiffer, Message: what}
}

func when(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}

// countRules is "1 rule" or "3 rules", areRules "1 rule is" or "3 rules are".
func countRules(n int) string {
	if n == 1 {
		return "1 rule"
	}
	return fmt.Sprintf("%d rules", n)
}

func areRules(n int) string {
	if n == 1 {
		return "1 rule is"
	}
	return fmt.Sprintf("%d rules are", n)
}
