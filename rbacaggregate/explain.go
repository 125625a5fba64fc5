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
		i, found := slices.BinarySearchFunc(e.Sources, name, func(s Source, name string) int {
			return strings.Compare(s.Name, name)
		})
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
	problems := x.newProblems()
	e := x.evaluate(&ruleIDs{}, false)
	v := e.decide(key, problems)
	if v.code == "" {
		// Unlike in Plan, where the plan for an object that is gone is empty: here there is nothing to explain.
		return Explanation{}, x.errorWith(notFound(key))
	}
	return e.explain(key, v), problems.Err()
}

// ExplainAll returns what Explain returns for every ClusterRole with an aggregationRule and for every name that
// several ClusterRoles have, sorted by key. It leaves out ClusterRoles without an aggregationRule, which have no plan;
// Explain explains them. It returns the error of PlanAll. The Reasons of a ClusterRole say what is wrong with it. It
// costs the sum of what Explain costs for each of them.
func (x *Index) ExplainAll() ([]Explanation, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	e := x.evaluate(&ruleIDs{}, true)
	var all []Explanation
	for _, key := range x.planned() {
		// The problems of a single ClusterRole are in its Reasons. The error of the method is about the snapshot as a
		// whole.
		all = append(all, e.explain(key, e.decide(key, &snapshot.Problems{})))
	}
	return all, x.newProblems().Err()
}

// explain puts a verdict into words.
func (e *evaluation) explain(key purekube.Key, v verdict) Explanation {
	explanation := Explanation{Key: key, Reasons: e.reasons(key, v)}
	if !v.known() {
		return explanation
	}
	from := map[ruleID][]string{}
	explanation.Sources = e.sourcesOf(v.node, from)
	explanation.Rules = make([]Contribution, len(v.rules))
	for k, rule := range v.rules {
		// Clone: several rules of a result must not share a slice with the evaluation. The sources were found by their
		// distance, so the names have to be sorted.
		names := slices.Clone(from[rule.id])
		slices.Sort(names)
		explanation.Rules[k] = Contribution{Rule: *rule.DeepCopy(), From: names}
	}
	return explanation
}

// sourcesOf returns the sources of a role, sorted by name, and adds to from in which of them each rule is written. The
// search is by distance, so Via is the shortest way: view's rules reach admin through edit, but a ClusterRole that
// admin and edit both select is shown as selected by admin.
func (e *evaluation) sourcesOf(n *node, from map[ruleID][]string) []Source {
	// A source is either passed through, because it contributes what it aggregates, or read, because it contributes what
	// is stored in it. Under MatchUpstream, every source is read (D-11).
	o := e.index.options
	through := func(source *node) bool { return source == n || e.written(source) && !o.contributesStored() }
	var sources []Source
	for _, found := range e.below(through, n) {
		if found.via != nil {
			sources = append(sources, Source{Name: found.object.Name, Via: found.via.object.Name, Selector: found.selector,
				Aggregates: through(found.node)})
		}
		if found.via == nil && n.aggregation != nil || found.via != nil && through(found.node) {
			continue
		}
		// Each rule occurs once in the list, so a name is appended once for each rule.
		for _, r := range e.own(found.node).rules {
			from[r.id] = append(from[r.id], found.object.Name)
		}
	}
	slices.SortFunc(sources, func(a, b Source) int { return strings.Compare(a.Name, b.Name) })
	return sources
}

// reasons are the steps to the verdict.
func (e *evaluation) reasons(key purekube.Key, v verdict) []Reason {
	switch v.code {
	// No object of the name is described: which of them the API server has is unknown.
	case ReasonDuplicate:
		return []Reason{{Code: v.code, Object: key, Message: "several ClusterRoles in the snapshot have this name"},
			rulesUnknown}
	case ReasonNotAggregated:
		return []Reason{{Code: v.code, Message: "there is no aggregationRule: the ClusterRole keeps its rules"}}
	}
	n := v.node
	var reasons []Reason
	if name := e.index.firstAmbiguous(); name != "" {
		reasons = append(reasons, Reason{Code: ReasonDuplicate, Object: Key(name),
			Message: fmt.Sprintf("several ClusterRoles have the name %s, and any selector may match it", name)})
	}
	if v.known() {
		e.findGroups(n) // for cycles, if they have not been looked for
	}
	if len(n.aggregation.selectors) == 0 {
		reasons = append(reasons,
			Reason{Code: ReasonNoSelectors, Message: "the aggregationRule has no selectors: no rules are collected"})
	}
	// A ClusterRole is named for the first selector that matches it, because its rules are collected there (BR-27-02).
	taken := map[string]bool{}
	problems := n.aggregation.problems // one for each selector that does not convert, in order
	for i, s := range n.aggregation.selectors {
		field := selectorField(i)
		if s != nil {
			reasons = append(reasons, e.selectorReasons(n, s, field, taken)...)
			continue
		}
		// The message is the error of the plan, so that a user can find one by the other.
		reasons = append(reasons, Reason{Field: field, Code: ReasonInvalidSelector, Message: problems[0].Err.Error()})
		problems = problems[1:]
	}
	switch v.code {
	case ReasonRulesUnknown:
		return append(reasons, rulesUnknown)
	case ReasonUpToDate:
		return append(reasons, Reason{Code: v.code, Message: "the stored rules are up to date"})
	default:
		return append(reasons, Reason{Code: v.code, Message: e.difference(v.rules, e.stored(n))})
	}
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
	sel, o := e.selection(s), e.index.options
	others := len(sel.sources)
	if sel.has(n) {
		others--
		add(ReasonSelectsItself, "", "it matches the ClusterRole itself, which is ignored")
	}
	// A reason about the role itself is not an answer to "what does this selector bring?".
	aboutItself := len(reasons)
	for _, source := range sel.sources {
		if !collects(n.object.Name, source.object.Name) || taken[source.object.Name] {
			continue
		}
		taken[source.object.Name] = true
		name, count := source.object.Name, len(source.object.Rules)
		switch {
		case source.aggregation == nil:
			add(ReasonContributesRules, name, "it matches %s, which has %s", name, message.Count(count, "rule"))
		// Two reasons follow from the failure of a source. By default only rules that are stored in both are kept
		// (D-35). Upstream does not look at the source's selectors, and takes its stored rules.
		case !e.written(source) && o.unconfirmed(source.object):
			add(ReasonSourceFails, name,
				"it matches %s, which has %s and whose own aggregation fails: rules that both have stay, others are not added",
				name, message.Count(count, "rule"))
		case !e.written(source):
			add(ReasonContributesStored, name, "it matches %s, which has %s and whose own aggregation fails", name,
				message.Count(count, "rule"))
		case o.contributesStored():
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

// difference says what is different between the rules that are written and the stored rules.
func (e *evaluation) difference(rules, stored []rule) string {
	// Both counts can be 0 although the lists differ: by their order, or by a repetition.
	added, removed := len(e.without(rules, stored)), len(e.without(stored, rules))
	switch {
	case added > 0 && removed > 0:
		return fmt.Sprintf("%s added and %d removed", areRules(added), removed)
	case added > 0:
		return areRules(added) + " added"
	case removed > 0:
		return areRules(removed) + " removed"
	// The stored list has a rule twice, for example after an edit by hand. Aggregation collects it once.
	case len(rules) < len(stored):
		return "repeated rules are removed"
	default:
		// The order counts in the comparison with the stored rules (BR-27-04), but no permission changes.
		return "the same rules are written in another order"
	}
}

// areRules is a count with its verb: "1 rule is", "2 rules are".
func areRules(n int) string {
	if n == 1 {
		return "1 rule is"
	}
	return fmt.Sprintf("%d rules are", n)
}
