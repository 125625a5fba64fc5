package rbacaggregate

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// How a plan is made, and where:
//
//	plan (here)                         compare with the stored rules, make the action
//	└─ intended (here)                  the rules that the role should have, and the errors
//	   ├─ computable (evaluation.go)    find the sources: expand, selection, matched (filing.go)
//	   ├─ contribution (evaluation.go)  collect their rules
//	   │  ├─ group (cycle.go)           by default: all levels, sources first, cycles as one
//	   │  │  └─ complete (part.go)      the parts that each role is made of
//	   │  ├─ list (part.go)             the parts as one list, each rule once
//	   │  └─ storedList (stored.go)     under MatchUpstream: the stored rules of the direct sources
//	   └─ kept (part.go)                drop what only a failing source contributes (D-35)
//
// Rules, Explain, Preview and PlanAll take the same steps.

// Plan returns the write that the ClusterRole of this key needs. There is none if the ClusterRole is not in s, if it
// has no aggregationRule, or if its stored rules are semantically equal to its aggregated rules.
//
// The error joins a [purekube.ObjectError] for each problem of the ClusterRoles that the decision depends on. Nothing
// is planned for a ClusterRole with a selector that does not convert, for a name that several ClusterRoles have, and
// for a ClusterRole that aggregates such a name. If only a source has such a problem, there is a plan beside the error:
// the ClusterRole keeps the source's stored rules that it already has, and gets no other rules from the source (D-35).
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
	result := x.evaluatePlans(false).plan(x.lookup(key), problems)
	return result, problems.Err()
}

// PlanAll is [PlanAll] for the objects of the Index. Its cost grows with the sources of all aggregated ClusterRoles,
// each counted once.
func (x *Index) PlanAll() ([]Outcome, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	// One evaluation for all: a ClusterRole that is a source of many is read once.
	e := x.evaluatePlans(true)
	var outcomes []Outcome
	for _, r := range x.planned() {
		// The problems of a key are in its outcome, so that one broken ClusterRole does not hide the others. The error
		// of PlanAll is about the snapshot as a whole.
		var problems snapshot.Problems
		outcome := Outcome{Key: Key(r.name()), Result: e.plan(r, &problems)}
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
	// Unlike Plan, Rules answers for a ClusterRole without an aggregationRule too.
	r := x.lookup(key)
	if r == nil {
		return nil, x.errorWith(notFound(key))
	}
	problems := x.newProblems()
	rules, known := x.evaluatePlans(false).intended(r, problems)
	if !known {
		return nil, problems.Err()
	}
	return copyOf(rules), problems.Err()
}

// planned returns the roles that have a plan, sorted by name: the roles with an aggregationRule, and the ambiguous
// roles. These are the keys of PlanAll and ExplainAll.
func (x *Index) planned() []role {
	roles := make([]role, 0, x.aggregations.Len())
	for name := range x.aggregations.All() {
		roles = append(roles, x.find(name.Name))
	}
	// An ambiguous name is listed even if none of its ClusterRoles aggregates: its outcome is the error that names it.
	for _, twins := range x.objects.AmbiguousNames() {
		roles = append(roles, twins)
	}
	slices.SortFunc(roles, func(a, b role) int { return strings.Compare(a.name(), b.name()) })
	return roles
}

// plan is syncClusterRole in clusterroleaggregation_controller.go. A key whose ClusterRole is gone, or has no
// aggregationRule any more, has an empty plan and no error, as upstream: the key was queued before the deletion. The
// rules that aggregation wrote stay in a ClusterRole that has lost its aggregationRule.
func (e *evaluation) plan(r role, problems *snapshot.Problems) Result {
	if !r.planned() {
		return Result{}
	}
	rules, known := e.intended(r, problems)
	// BR-27-04: no request for rules that are stored already. Without this comparison every event would send a request
	// for every aggregated ClusterRole.
	if !known || sameRules(rules, e.stored(e.node(r[0]))) {
		return Result{}
	}
	set := SetRules{Name: r.name(), UID: r[0].UID, Rules: copyOf(rules)}
	if e.index.options.matchUpstream() {
		// Upstream sends no UID (D-26).
		set.UID = ""
		if len(rules) == 0 {
			// D-20: then upstream's apply does not mention the rules.
			set.Rules = nil
		}
	}
	return Result{Actions: []Action{set}}
}

// intended returns the rules that a role should have, if they can be computed, and adds the problems of the roles that
// it depends on. The rules point into objects of the snapshot: copy them for a result. The role must not be empty.
func (e *evaluation) intended(r role, problems *snapshot.Problems) (rules []rule, known bool) {
	if r.ambiguous() {
		problems.Add(duplicateError(r.name()))
		return nil, false
	}
	n := e.node(r[0])
	if n.aggregation == nil {
		return e.stored(n), true
	}
	// If the role itself fails, its own problems are the error. Otherwise the error has the problems of failing
	// sources, and the rules are planned beside it (D-35).
	failing := []*node{n}
	if known = e.computable(n); known {
		l := e.contribution(n)
		rules, failing = e.kept(n, l.rules), l.failing
	}
	for _, n := range failing {
		for _, problem := range n.problems {
			problems.Add(copyError(problem))
		}
	}
	return rules, known
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
