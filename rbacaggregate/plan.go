package rbacaggregate

import (
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Plan returns the write that the ClusterRole of this name needs: none if s does not hold it, if it
// does not aggregate, or if its rules are semantically equal to what they come to.
//
// The error joins what is wrong with the ClusterRoles that the decision rests on, each an
// [purekube.ObjectError]. Nothing is planned for a ClusterRole of which a selector does not convert,
// which s holds twice, or that aggregates one which s holds twice. For others it is one whose
// rules stay as they stand in it.
func Plan(s Snapshot, name string, o Options) (Result, error) {
	g := newGraph(s, o, &ruleIDs{})
	problems := g.problems
	i, found := g.find(name)
	if !found {
		return Result{}, problems.Err()
	}
	r := g.plan(i, &problems)
	return r, problems.Err()
}

// PlanAll returns what Plan returns for every ClusterRole that needs a write or has a problem,
// sorted by name. The error is what is wrong with the snapshot as a whole: nil ClusterRoles and
// ClusterRoles without a name. They are left out of everything else.
func PlanAll(s Snapshot, o Options) ([]Outcome, error) {
	g := newGraph(s, o, &ruleIDs{})
	var outcomes []Outcome
	for i := range g.roles {
		var problems snapshot.Problems
		outcome := Outcome{Key: g.roles[i].name, Result: g.plan(i, &problems)}
		outcome.Err = problems.Err()
		if outcome.Err != nil || !outcome.Result.Empty() {
			outcomes = append(outcomes, outcome)
		}
	}
	return outcomes, g.problems.Err()
}

// Rules returns the rules that a ClusterRole should have: those that aggregation gives it, or, if it
// has no aggregationRule, those that it has. They are nil if they cannot be known. The error is that of
// [Plan], or for a ClusterRole that s does not hold, one around [purekube.ErrNotFound].
func Rules(s Snapshot, name string, o Options) ([]rbacv1.PolicyRule, error) {
	g := newGraph(s, o, &ruleIDs{})
	problems := g.problems
	i, found := g.find(name)
	if !found {
		problems.Add(notFound(name))
		return nil, problems.Err()
	}
	rules, known := g.intended(i, &problems)
	if !known {
		return nil, problems.Err()
	}
	return copyOf(rules), problems.Err()
}

// plan is syncClusterRole in clusterroleaggregation_controller.go.
func (g *graph) plan(i int, problems *snapshot.Problems) Result {
	rules, known := g.intended(i, problems)
	if !known || !g.roles[i].aggregates() || sameRules(rules, g.written(i)) {
		return Result{}
	}
	object := g.roles[i].objects[0]
	set := SetRules{Name: object.Name, UID: object.UID, Rules: copyOf(rules)}
	if g.options.matchUpstream() {
		set.UID = ""
		if len(rules) == 0 {
			// D-20: upstream's apply does not mention the rules then.
			set.Rules = nil
		}
	}
	return Result{Actions: []Action{set}}
}

// intended returns the rules that a role should have, if they can be known, and adds the problems
// that this rests on.
func (g *graph) intended(i int, problems *snapshot.Problems) (rules []rule, known bool) {
	switch r := &g.roles[i]; {
	case r.ambiguous():
		problems.Add(r.duplicateError())
		return nil, false
	case !r.aggregates():
		return g.written(i), true
	}
	rules, rests, ok := g.aggregate(i)
	for _, e := range rests {
		problems.Add(copyError(e))
	}
	return rules, ok
}

// copyError keeps the outcomes of one plan from sharing an error.
func copyError(e *purekube.ObjectError) *purekube.ObjectError {
	c := *e
	return &c
}

// notFound is the error for a question about a ClusterRole that is not there.
func notFound(name string) *purekube.ObjectError {
	return &purekube.ObjectError{Kind: kindClusterRole, Name: name, Err: purekube.ErrNotFound}
}
