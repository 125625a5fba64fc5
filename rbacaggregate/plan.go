package rbacaggregate

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// How a plan is made, and where:
//
//	decide (here)                   the rules that the role should have, the action, and the errors
//	├─ contributesStored (rules.go) D-11 chooses one of the next two
//	├─ fixpoint (fixpoint.go)       by default: all levels, sources first, cycles as one
//	│  └─ findGroups (graph.go)     the graph of roles and selections, and its cycles
//	├─ nextPass (orders.go)         under MatchUpstream: the stored rules of the direct sources
//	└─ confirmed (rules.go)         drop what only a failing source contributes (D-35)
//
// Plan, PlanAll, Rules, Explain and Preview take the same steps.

// Plan returns the write that the ClusterRole of this key needs. There is none if the ClusterRole is not in s, if it
// has no aggregationRule, or if its stored rules are semantically equal to its aggregated rules.
//
// The error joins a [purekube.ObjectError] for each problem of the ClusterRoles that the decision depends on. Nothing
// is planned for a ClusterRole with a selector that does not convert. Nothing is planned at all while several
// ClusterRoles have one name: any selector may match it. If only a source has a selector that does not convert, there
// is a plan beside the error: the ClusterRole keeps the source's stored rules that it already has, and gets no other
// rules from the source (D-35).
func Plan(s Snapshot, key purekube.Key, o Options) (Result, error) { return NewIndex(s, o).Plan(key) }

// PlanAll returns what Plan returns for every ClusterRole that needs a write or has a problem,
// sorted by key. The error is what is wrong with the snapshot as a whole: nil ClusterRoles and
// ClusterRoles without a name. They are left out of everything else.
func PlanAll(s Snapshot, o Options) ([]Outcome, error) { return NewIndex(s, o).PlanAll() }

// Plan is [Plan] for the objects of the Index. Its cost grows with the sources of the ClusterRole, through all levels.
// A ClusterRole without an aggregationRule has no sources.
func (x *Index) Plan(key purekube.Key) (Result, error) {
	if err := x.options.err(); err != nil {
		return Result{}, err
	}
	problems := x.newProblems()
	// Most ClusterRoles do not aggregate. Their plan does not read their rules.
	if object, duplicate := x.find(key); duplicate == nil && !aggregates(object) {
		return Result{}, problems.Err()
	}
	result := x.evaluate(&ruleIDs{}, false).decide(key, problems).plan(x.options)
	return result, problems.Err()
}

// PlanAll is [PlanAll] for the objects of the Index. Its cost grows with the sources of all aggregated ClusterRoles,
// each counted once.
func (x *Index) PlanAll() ([]Outcome, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	// One evaluation for all: a ClusterRole that is a source of many is read once.
	e := x.evaluate(&ruleIDs{}, true)
	var outcomes []Outcome
	for _, key := range x.planned() {
		// The problems of a key are in its outcome, so that one broken ClusterRole does not hide the others. The error
		// of PlanAll is about the snapshot as a whole.
		var problems snapshot.Problems
		outcome := Outcome{Key: key, Result: e.decide(key, &problems).plan(x.options)}
		outcome.Err = problems.Err()
		if outcome.Err != nil || !outcome.Result.Empty() {
			outcomes = append(outcomes, outcome)
		}
	}
	return outcomes, x.newProblems().Err()
}

// Rules returns the rules that a ClusterRole should have: its aggregated rules, or its stored rules if it has no
// aggregationRule. They are nil if they cannot be computed. The error is the error of Plan, or an error around
// [purekube.ErrNotFound] for a ClusterRole that is not in the Index. It costs what Plan does.
func (x *Index) Rules(key purekube.Key) ([]rbacv1.PolicyRule, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	problems := x.newProblems()
	v := x.evaluate(&ruleIDs{}, false).decide(key, problems)
	switch {
	case v.code == "":
		problems.Add(notFound(key))
	case v.known():
		// Unlike Plan, Rules answers for a ClusterRole without an aggregationRule too.
		return copyOf(v.rules), problems.Err()
	}
	return nil, problems.Err()
}

// planned returns the keys that have a plan, sorted: the roles with an aggregationRule, and the names that several
// ClusterRoles have. These are the keys of PlanAll and ExplainAll.
func (x *Index) planned() []purekube.Key {
	keys := make([]purekube.Key, 0, x.aggregations.Len())
	for name := range x.aggregations.All() {
		keys = append(keys, Key(name.Name))
	}
	// An ambiguous name is listed even if none of its ClusterRoles aggregates: its outcome is the error that names it.
	for name := range x.objects.AmbiguousNames() {
		keys = append(keys, Key(name.Name))
	}
	slices.SortFunc(keys, purekube.Key.Compare)
	return keys
}

// verdict is what is decided about a key, and why. Plan turns it into an action, and Explain into words.
type verdict struct {
	// node is the ClusterRole, or nil if none or several have the name.
	node *node
	// rules are the rules that it should have. They point into objects of the snapshot: copy them for a result.
	rules []rule
	// code is empty if no ClusterRole has the name.
	code Code
}

// known reports whether the rules are known.
func (v verdict) known() bool { return v.node != nil && v.code != ReasonRulesUnknown }

// decide is syncClusterRole in clusterroleaggregation_controller.go. It adds the problems of the roles that the
// decision depends on.
//
// A key whose ClusterRole is gone, or has no aggregationRule any more, has no action and no error, as upstream: the key
// was queued before the deletion. The rules that aggregation wrote stay in a ClusterRole that has lost its
// aggregationRule.
func (e *evaluation) decide(key purekube.Key, problems *snapshot.Problems) verdict {
	object, duplicate := e.index.find(key)
	switch {
	case duplicate != nil:
		problems.Add(duplicate)
		return verdict{code: ReasonDuplicate}
	case object == nil:
		return verdict{}
	}
	n := e.node(object)
	v := verdict{node: n, code: ReasonUpToDate}
	switch {
	case n.aggregation == nil:
		return verdict{node: n, rules: e.stored(n), code: ReasonNotAggregated}
	case !e.written(n):
		e.index.addProblems(n.aggregation, problems)
		return verdict{node: n, code: ReasonRulesUnknown}
	case e.index.options.contributesStored():
		v.rules = e.nextPass(n)
	default:
		v.rules = confirmed(e.fixpoint(n), e.stored(n))
		e.addFailing(n, problems)
	}
	// BR-27-04: no request for rules that are stored already. Without this comparison every event would send a request
	// for every aggregated ClusterRole.
	if !sameRules(v.rules, e.stored(n)) {
		v.code = ReasonRulesDiffer
	}
	return v
}

// plan returns the action of a verdict, if there is one.
func (v verdict) plan(o Options) Result {
	if v.code != ReasonRulesDiffer {
		return Result{}
	}
	return Result{
		Actions: []Action{SetRules{Name: v.node.object.Name, UID: o.appliedUID(v.node.object), Rules: o.applied(v.rules)}}}
}

// addFailing adds the problems of the failing sources of a role, whose rules are computed: the role is planned beside
// the error (D-35). Each problem comes once, however many ways lead to it.
func (e *evaluation) addFailing(n *node, problems *snapshot.Problems) {
	if !n.aggregated.fails {
		return
	}
	for _, r := range e.below(e.written, n) {
		if r.aggregation != nil {
			e.index.addProblems(r.aggregation, problems)
		}
	}
}

// notFound returns the error for a question about a ClusterRole that is not in the snapshot.
func notFound(key purekube.Key) *purekube.ObjectError {
	return &purekube.ObjectError{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Err: purekube.ErrNotFound}
}

// errorWith joins a problem with the problems of the Index as a whole.
func (x *Index) errorWith(problem *purekube.ObjectError) error {
	problems := x.newProblems()
	problems.Add(problem)
	return problems.Err()
}
