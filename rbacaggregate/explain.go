package rbacaggregate

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/internal/snapshot"
)

// Explanation says where the rules of a ClusterRole come from. It is data: two explanations can be
// compared with go-cmp.
type Explanation struct {
	// Key names the ClusterRole.
	Key purekube.Key `json:"key"`
	// Reasons are the steps to its rules, in this order: the ClusterRole as a whole, each selector with the
	// ClusterRoles that it is the first to match, and the plan.
	Reasons []Reason `json:"reasons"`
	// Rules are the rules that [Index.Rules] returns, in the same order. There are none if they cannot be computed.
	Rules []Contribution `json:"rules,omitempty"`
	// Sources are the ClusterRoles that it aggregates, directly or through others, sorted by name. A ClusterRole
	// without an aggregationRule has no sources. Under MatchUpstream only directly aggregated ClusterRoles are sources,
	// since their stored rules count.
	Sources []Source `json:"sources,omitempty"`
}

// Contribution is one rule and where it is written. Upstream's ruleExists drops a rule that it has collected already,
// so a stock cluster does not show that a rule has several sources. This is what From is for: a rule stays until its
// last source is gone.
type Contribution struct {
	Rule rbacv1.PolicyRule `json:"rule"`
	// From are the names of the ClusterRoles in which the rule is written, sorted: sources, or the
	// explained ClusterRole itself if it has no aggregationRule.
	From []string `json:"from"`
}

// Source is a ClusterRole that another one aggregates.
type Source struct {
	Name string `json:"name"`
	// Via is the name of the ClusterRole that aggregates it: the explained one, or another source. If there are
	// several ways to a source, Via is on the shortest way. If several ways are equally short, Via is on the way
	// through the ClusterRole that is aggregated first.
	Via string `json:"via"`
	// Selector is the position of the first selector of Via that matches it.
	Selector int `json:"selector"`
	// Aggregates reports whether the source contributes the rules that it aggregates. Otherwise it contributes its
	// stored rules. If its aggregation fails, it contributes only stored rules that the explained ClusterRole also has
	// (D-35).
	Aggregates bool `json:"aggregates"`
}

// Path returns the names on the way from the explained ClusterRole to a source, the source last, for
// example [edit view system:aggregate-to-view]. It is nil for a name that is not a source.
func (e Explanation) Path(source string) []string {
	var path []string
	// The way is read backwards, from the source along Via. An Explanation is data that a caller can build or change,
	// so a missing Via and a circle end the loop with nil instead of a panic or an endless loop.
	for name := source; name != e.Key.Name; {
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

// Explain returns where each rule of a ClusterRole comes from and what the plan for it is. It returns the error of
// Plan, or an error around [purekube.ErrNotFound] for a ClusterRole that is not in the Index. It costs O(n) for n rules
// in the ClusterRoles that the ClusterRole depends on.
func (x *Index) Explain(key purekube.Key) (Explanation, error) {
	if err := x.options.err(); err != nil {
		return Explanation{}, err
	}
	r := x.lookup(key)
	if r == nil {
		// Unlike in Plan, where the plan for an object that is gone is empty: here there is nothing to explain.
		return Explanation{}, x.errorWith(notFound(key))
	}
	problems := x.newProblems()
	explanation := x.evaluatePlans(false).explain(r, problems)
	return explanation, problems.Err()
}

// ExplainAll returns what Explain returns for every ClusterRole with an aggregationRule and for every name that
// several ClusterRoles have, sorted by key. It leaves out ClusterRoles without an aggregationRule, which have no plan;
// Explain explains them. It returns the error of PlanAll. The Reasons of a ClusterRole say what is wrong with it. It
// costs the sum of what Explain costs for each of them.
func (x *Index) ExplainAll() ([]Explanation, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	e := x.evaluatePlans(true)
	var all []Explanation
	for _, r := range x.planned() {
		// The problems of a single ClusterRole are in its Reasons. The error of the method is about the snapshot as a
		// whole.
		all = append(all, e.explain(r, &snapshot.Problems{}))
	}
	return all, x.newProblems().Err()
}

// explain is the explanation of one role. It adds the problems of the roles that its rules depend on, as a plan does,
// so that Plan and Explain return the same error.
func (e *evaluation) explain(r role, problems *snapshot.Problems) Explanation {
	rules, known := e.intended(r, problems)
	explanation := Explanation{Key: Key(r.name()), Reasons: e.reasons(r, rules, known)}
	if !known {
		return explanation
	}
	from, sources := e.sources(e.node(r[0]))
	explanation.Sources = sources
	explanation.Rules = make([]Contribution, len(rules))
	for k, rule := range rules {
		// Clone: several rules of a result must not share a slice with the evaluation. Breadth-first search visits the
		// sources by distance, so the names have to be sorted.
		names := slices.Clone(from[rule.id])
		slices.Sort(names)
		explanation.Rules[k] = Contribution{Rule: *rule.DeepCopy(), From: names}
	}
	return explanation
}

// sources returns, by breadth-first search, the sources of a role and in which of them each rule is written. Breadth
// first makes Via the shortest way: view's rules reach admin through edit, but a ClusterRole that admin and edit both
// select is shown as selected by admin. A source is visited once, so a cycle ends the search.
func (e *evaluation) sources(start *node) (from map[ruleID][]string, sources []Source) {
	from = map[ruleID][]string{}
	// The rules of leaf occur once in it, so a name is appended once for each rule.
	contribute := func(n *node) {
		for _, r := range e.leaf(n).list.rules {
			from[r.id] = append(from[r.id], n.object.Name)
		}
	}
	if start.aggregation == nil {
		contribute(start)
		return from, nil
	}
	e.pass++
	pass := e.pass
	nodes := map[*node]bool{start: true}
	var leaves []*node
	for queue := []*node{start}; len(queue) > 0; queue = queue[1:] {
		via := queue[0]
		for i, s := range via.selections {
			// Skipping the selection keeps the search linear when n roles have one selector.
			if !s.collected.first(pass) {
				continue // a role that is nearer has the same selector
			}
			for _, n := range s.sources {
				if nodes[n] {
					continue
				}
				nodes[n] = true
				source := Source{Name: n.object.Name, Via: via.object.Name, Selector: via.selectedBy[i]}
				// A source is either passed through, because it contributes what it aggregates, or read, because it
				// contributes what is stored in it. In mode stored, every source is read (D-11).
				if e.mode != stored && e.computable(n) {
					source.Aggregates = true
					queue = append(queue, n)
				} else {
					leaves = append(leaves, n)
				}
				sources = append(sources, source)
			}
		}
	}
	for _, n := range leaves {
		contribute(n)
	}
	slices.SortFunc(sources, func(a, b Source) int { return strings.Compare(a.Name, b.Name) })
	return from, sources
}

// reasons are the steps to the rules of a role.
func (e *evaluation) reasons(r role, rules []rule, known bool) []Reason {
	switch {
	// No object of the name is described: which of them the API server has is unknown.
	case r.ambiguous():
		return []Reason{
			{Code: ReasonDuplicate, Object: KeyOf(r[0]), Message: "several ClusterRoles in the snapshot have this name"},
			rulesUnknown,
		}
	case !r.aggregates():
		return []Reason{{Code: ReasonNotAggregated, Message: "there is no aggregationRule: the ClusterRole keeps its rules"}}
	}
	n := e.node(r[0])
	if known {
		e.group(n) // for cycles, if they have not been looked for
	}
	var reasons []Reason
	if len(n.aggregation.selectors) == 0 {
		reasons = append(reasons, Reason{Code: ReasonNoSelectors, Message: "the aggregationRule has no selectors: no rules are collected"})
	}
	// A ClusterRole is named for the first selector that matches it, because its rules are collected there (BR-27-02).
	taken := map[string]bool{}
	for i, s := range n.aggregation.selectors {
		field := selectorField(i)
		if s != nil {
			reasons = append(reasons, e.selectorReasons(n, s, field, taken)...)
			continue
		}
		// The message is the error of the plan, so that a user can find one by the other.
		for _, problem := range n.problems {
			if problem.Field == field {
				reasons = append(reasons, Reason{Field: field, Code: ReasonInvalidSelector, Message: problem.Err.Error()})
			}
		}
	}
	if !known {
		return append(reasons, rulesUnknown)
	}
	return append(reasons, e.planReason(rules, e.stored(n)))
}

// rulesUnknown is the last reason wherever there is no plan for an aggregating role.
var rulesUnknown = Reason{Code: ReasonRulesUnknown, Message: "nothing is written: the rules cannot be computed"}

// selectorReasons are the steps of one selector. taken has the names that an earlier selector matched. Each selector
// has at least one reason, so that a selector with a typing error in a label is visible: it is valid, and matches
// nothing.
func (e *evaluation) selectorReasons(n *node, s *selector, field string, taken map[string]bool) []Reason {
	var reasons []Reason
	add := func(code Code, name, format string, args ...any) {
		var object purekube.Key
		if name != "" {
			object = Key(name)
		}
		reasons = append(reasons, Reason{Field: field, Code: code, Object: object, Message: fmt.Sprintf(format, args...)})
	}
	sel := e.selection(s)
	others := len(sel.sources) + len(sel.ambiguous)
	if sel.has(n) {
		others--
		add(ReasonSelectsItself, "", "it matches the ClusterRole itself, which is ignored")
	}
	// A reason about the role itself is not an answer to "what does this selector bring?".
	aboutItself := len(reasons)
	for _, name := range sel.ambiguous {
		if !taken[name] {
			taken[name] = true
			add(ReasonDuplicate, name, "it matches %s, a name that several ClusterRoles have", name)
		}
	}
	for _, source := range sel.sources {
		if source == n || taken[source.object.Name] {
			continue
		}
		taken[source.object.Name] = true
		name, count := source.object.Name, len(source.object.Rules)
		switch {
		case source.aggregation == nil:
			add(ReasonContributesRules, name, "it matches %s, which has %s", name, message.Count(count, "rule"))
		// Two reasons follow from the failure of a source. By default only rules that are stored in both are kept
		// (D-35). Upstream does not look at the source's selectors, and takes its stored rules.
		case e.mode == nested && !e.computable(source):
			add(ReasonSourceFails, name, "it matches %s, which has %s and whose own aggregation fails: rules that both have stay, others are not added", name, message.Count(count, "rule"))
		case !e.computable(source):
			add(ReasonContributesStored, name, "it matches %s, which has %s and whose own aggregation fails", name, message.Count(count, "rule"))
		case e.mode == stored:
			add(ReasonContributesStored, name, "it matches %s, which has %s", name, message.Count(count, "rule"))
		default:
			add(ReasonContributesNested, name, "it matches %s, which aggregates other ClusterRoles", name)
		}
		// Groups are compared, and not direct selections: in a ▶ b ▶ c ▶ a, each aggregates both others.
		if n.group != nil && n.group == source.group {
			add(ReasonCycle, name, "%s also aggregates this ClusterRole", name)
		}
	}
	switch {
	case len(reasons) > aboutItself:
	case others > 0:
		add(ReasonSelectedBefore, "", "an earlier selector already matches every ClusterRole that it matches")
	default:
		add(ReasonNothingSelected, "", "it matches no other ClusterRole")
	}
	return reasons
}

// planReason says what the plan for a role is.
func (e *evaluation) planReason(rules, written []rule) Reason {
	if sameRules(rules, written) {
		return Reason{Code: ReasonUpToDate, Message: "the stored rules are up to date"}
	}
	// Both counts can be 0 although the lists differ: by their order, or by a repetition.
	added, removed := len(e.without(rules, written)), len(e.without(written, rules))
	// The order counts in the comparison with the stored rules (BR-27-04), but no permission changes.
	what := "the same rules are written in another order"
	switch {
	case added > 0 && removed > 0:
		what = fmt.Sprintf("%s added and %d removed", areRules(added), removed)
	case added > 0:
		what = areRules(added) + " added"
	case removed > 0:
		what = areRules(removed) + " removed"
	// The stored list has a rule twice, for example after an edit by hand. Aggregation collects it once.
	case len(rules) < len(written):
		what = "repeated rules are removed"
	}
	return Reason{Code: ReasonRulesDiffer, Message: what}
}

// areRules is a count with its verb: "1 rule is", "2 rules are".
func areRules(n int) string {
	if n == 1 {
		return "1 rule is"
	}
	return fmt.Sprintf("%d rules are", n)
}
