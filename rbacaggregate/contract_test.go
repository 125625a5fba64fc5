package rbacaggregate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/contract"
)

// Contract is what holds for every Index, for this package.
var Contract = contract.Core[*Index, Snapshot, Action, Options, Explanation]{
	NewIndex: NewIndex, Plan: Plan, PlanAll: PlanAll,
	Options: []Options{{}, upstream},
	Draw: func(r *rand.Rand, bad bool) Snapshot {
		roles := randomRoles(r, true)
		if bad {
			roles = spoil(r, roles)
		}
		return Snapshot{ClusterRoles: roles}
	},
	Words:         []string{"a", "b", "c", "r01", "true", "In", "NotIn", "Exists", "DoesNotExist", "get", "*", "pods"},
	ClusterScoped: true,
	Ask:           ask,
	Also:          explainsRules,
	Undecided:     func(e Explanation) bool { return len(e.Reasons) > 0 && e.Reasons[0].Code == ReasonNotAggregated },
	Most:          0.8,
	Actions:       []string{"SetRules"},
	Permits:       grants,
	Damaged:       unreadable,
	// An empty list in a rule, and one that is not there, are the same to the API server.
	Ignored: cmp.Options{cmp.Comparer(func(a, b rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(a, b) })},
}

func ask(x *Index, s Snapshot) (answers []contract.Answer) {
	add := func(question string, value any, err error) {
		answers = append(answers, contract.Answer{Question: question, Value: value, Err: err})
	}
	for i, role := range contract.Sorted(s.ClusterRoles) {
		if role != nil {
			rules, err := x.Rules(KeyOf(role))
			add(fmt.Sprintf("Rules %d", i), rules, err)
			changes, err := x.PreviewDelete(KeyOf(role))
			add(fmt.Sprintf("PreviewDelete %d", i), changes, err)
			role = role.DeepCopy()
			role.Labels = map[string]string{"a": "true", "b": "true"}
			role.AggregationRule = nil
		}
		changes, err := x.Preview(role)
		add(fmt.Sprintf("Preview %d", i), changes, err)
		change, err := x.PreviewRole(role, Key("r00"))
		add(fmt.Sprintf("PreviewRole %d", i), change, err)
	}
	return answers
}

// explainsRules: every rule comes from somewhere, and the last reason says what is planned.
func explainsRules(t testing.TB, x *Index, key purekube.Key, out Outcome, e Explanation) {
	_, planErr := x.Plan(key)
	rules, err := x.Rules(key)
	require.Equal(t, lines(planErr), lines(err))
	_, err = x.Explain(key)
	require.Equal(t, lines(planErr), lines(err))
	require.Len(t, e.Rules, len(rules), key)
	for k, c := range e.Rules {
		require.Equal(t, rules[k], c.Rule)
		require.NotEmpty(t, c.From, "%s: %v comes from somewhere", key, c.Rule)
		require.True(t, slices.IsSorted(c.From))
		for _, from := range c.From {
			require.True(t, from == key.Name && len(e.Sources) == 0 || e.Path(from) != nil, "%s: no way to %s", key, from)
		}
	}
	require.Equal(t, !out.Result.Empty(), e.Reasons[len(e.Reasons)-1].Code == ReasonRulesDiffer, key)
}

// grants are the rules that each ClusterRole has once the plans are carried out, and those that it has stored: these are
// nothing new.
func grants(s Snapshot, o Options) map[contract.Permit]int {
	granted := map[contract.Permit]int{}
	add := func(name string, rules []rbacv1.PolicyRule) {
		for i := range rules {
			granted[contract.Permit{Key: Key(name), What: string(appendRuleKey(nil, &rules[i]))}] = 1
		}
	}
	for _, role := range s.ClusterRoles {
		if role != nil && role.Name != "" {
			add(role.Name, role.Rules)
		}
	}
	for _, p := range planAll(s, o) {
		for _, a := range p.Result.Actions {
			add(p.Key.Name, a.(SetRules).Rules)
		}
	}
	return granted
}

// unreadable makes selectors unreadable. A source more takes no rule away.
func unreadable(t testing.TB, s Snapshot, o Options, visit func(what string, damaged Snapshot)) {
	for i, role := range s.ClusterRoles {
		if role == nil || role.AggregationRule == nil {
			continue
		}
		for j := range role.AggregationRule.ClusterRoleSelectors {
			damaged := contract.Copy(s)
			damaged.ClusterRoles[i].AggregationRule.ClusterRoleSelectors[j].MatchLabels = map[string]string{"a/b/c": "?"}
			visit(fmt.Sprintf("selector %d of %s unreadable", j, role.Name), damaged)
		}
	}
	if NewIndex(s, o).Err() != nil || o.matchUpstream() {
		return
	}
	before := grants(s, o)
	for _, role := range s.ClusterRoles {
		if role.AggregationRule != nil {
			continue
		}
		source := role.DeepCopy()
		source.Name = "one source more"
		source.Rules = []rbacv1.PolicyRule{on("one", "more")}
		after := grants(s.with(snapshotOf(source)), o)
		for p := range before {
			if _, err := NewIndex(s, o).Rules(p.Key); err == nil {
				require.NotZero(t, after[p], "with one source more, like %s, %s is not granted %q any more", role.Name, p.Key, p.What)
			}
		}
	}
}

func TestContract(t *testing.T)              { Contract.Test(t, 400) }
func TestIndexInManyGoroutines(t *testing.T) { Contract.TestGoroutines(t) }
func TestNeverMorePermissive(t *testing.T)   { Contract.TestMissing(t) }
func FuzzWholeSnapshot(f *testing.F)         { Contract.Fuzz(f) }
