package rbacaggregate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What an Index has computed for one question, it uses for the next. That changes no answer, and loses no error.
func TestIndexThatWasAskedBefore(t *testing.T) {
	broken := sum("broken", "up", "", nodes)
	broken.AggregationRule.ClusterRoleSelectors = []metav1.LabelSelector{{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "x", Operator: "What"}}}}
	s := snapshotOf(plain("a", "is", pods, secrets), sum("mid", "up", "is"), broken, sum("top", "over", "up"), sum("above", "", "over", nodes),
		plain("r", "ring", jobs), sum("ring-1", "ring over", "ring"), sum("ring-2", "ring", "ring"))
	names := []string{"mid", "broken", "top", "above", "ring-1", "ring-2", "a"}
	type answer struct {
		Rules   []rbacv1.PolicyRule
		Problem string
		Actions []Action
	}
	ask := func(x *Index, name string) answer {
		rules, err := x.Rules(Key(name))
		r, planErr := x.Plan(Key(name))
		a := answer{Rules: rules, Actions: r.Actions}
		if err != nil {
			a.Problem = err.Error()
		}
		if planErr != nil {
			a.Problem += " " + planErr.Error()
		}
		return a
	}
	for _, first := range names {
		x := NewIndex(s, Options{})
		ask(x, first)
		for range 2 { // the second time after everything else
			for _, name := range names {
				require.Empty(t, cmp.Diff(ask(NewIndex(s, Options{}), name), ask(x, name)), "%s after %s", name, first)
			}
			_, err := x.PlanAll()
			require.NoError(t, err) // of the snapshot as a whole
		}
	}
	require.Contains(t, ask(NewIndex(s, Options{}), "broken").Problem, "What")
	require.Equal(t, []rbacv1.PolicyRule{jobs, nodes, pods, secrets}, ask(NewIndex(s, Options{}), "above").Rules, "it keeps what broken has")
	require.Equal(t, []rbacv1.PolicyRule{pods, secrets}, ask(NewIndex(s, Options{}), "top").Rules, "it gets nothing from broken (D-35)")
}

// A ClusterRole that does not say its UID is not known to be another one.
func TestApplyToARoleWithoutAUID(t *testing.T) {
	for _, tc := range []struct {
		name, reason     string
		planned, latests types.UID
		want             []rbacv1.PolicyRule
	}{
		{"the same", "it is the role of the plan", "1", "1", []rbacv1.PolicyRule{pods}},
		{"another", "it was made since", "1", "2", []rbacv1.PolicyRule{nodes}},
		{"no UID in the plan", "any role will do", "", "2", []rbacv1.PolicyRule{pods}},
		{"no UID in the latest", "as in a fixture: nothing says that it is another one", "1", "", []rbacv1.PolicyRule{pods}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			latest := plain("view", "", nodes)
			latest.UID = tc.latests
			require.Equal(t, tc.want, SetRules{Name: "view", UID: tc.planned, Rules: []rbacv1.PolicyRule{pods}}.Apply(latest).Rules, tc.reason)
		})
	}
}
