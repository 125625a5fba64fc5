package rbacaggregate

import (
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/internal/persistent"
)

// Selectors of one text become one selector, whoever has them.
func TestConverterSharesSelectors(t *testing.T) {
	c := converter{}
	a, b := c.aggregation(sum("a", "", "is")), c.aggregation(sum("b", "", "other is"))
	require.Same(t, a.selectors[0], b.selectors[1])
	require.NotSame(t, a.selectors[0], b.selectors[0])
	require.Len(t, c, 2)
}

// A selector is tried on those ClusterRoles alone that have what it demands.
func TestDemandsOfASelector(t *testing.T) {
	expression := func(key string, operator metav1.LabelSelectorOperator, values ...string) metav1.LabelSelectorRequirement {
		return metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: values}
	}
	for _, tc := range []struct {
		name, reason string
		selector     metav1.LabelSelector
		want         []persistent.Demand
	}{
		{"empty", "it matches everything", metav1.LabelSelector{}, nil},
		{"label", "the label itself", byLabel("a"), []persistent.Demand{{Key: "a", Values: []string{"true"}}}},
		{
			"In", "one of them", metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{expression("a", "In", "y", "x")}},
			[]persistent.Demand{{Key: "a", Values: []string{"x", "y"}}},
		},
		{
			"Exists", "the label with any value", metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{expression("a", "Exists")}},
			[]persistent.Demand{{Key: "a"}},
		},
		{
			"a label that must not be there", "no object needs a label for that",
			metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{expression("a", "DoesNotExist"), expression("b", "NotIn", "x")}}, nil,
		},
		{
			"several", "each of them",
			metav1.LabelSelector{
				MatchLabels:      map[string]string{"z": "true"},
				MatchExpressions: []metav1.LabelSelectorRequirement{expression("a", "Exists"), expression("b", "In", "x"), expression("c", "DoesNotExist")},
			},
			[]persistent.Demand{{Key: "a"}, {Key: "b", Values: []string{"x"}}, {Key: "z", Values: []string{"true"}}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := newSelector(&tc.selector)
			require.NoError(t, err)
			require.Equal(t, tc.want, s.demands, tc.reason)
		})
	}
}

// Which ClusterRoles a selector brings in, by what it asks of their labels.
func TestRulesBySelector(t *testing.T) {
	role := func(name string, labels map[string]string, rule rbacv1.PolicyRule) *rbacv1.ClusterRole {
		r := plain(name, "", rule)
		r.Labels = labels
		return r
	}
	s := snapshotOf(role("a", map[string]string{"k": "1"}, pods), role("b", map[string]string{"k": "2", "l": ""}, nodes), role("c", nil, jobs))
	for _, tc := range []struct {
		name, reason string
		expressions  []metav1.LabelSelectorRequirement
		want         []rbacv1.PolicyRule
	}{
		{"Exists", "with any value", []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Exists"}}, rulesOf(pods, nodes)},
		{"In", "with one of the values", []metav1.LabelSelectorRequirement{{Key: "k", Operator: "In", Values: []string{"2", "3"}}}, rulesOf(nodes)},
		{"NotIn", "with another value, or none", []metav1.LabelSelectorRequirement{{Key: "k", Operator: "NotIn", Values: []string{"1"}}}, rulesOf(nodes, jobs)},
		{"DoesNotExist", "without the label", []metav1.LabelSelectorRequirement{{Key: "k", Operator: "DoesNotExist"}}, rulesOf(jobs)},
		{"one and not another", "both must hold", []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Exists"}, {Key: "l", Operator: "DoesNotExist"}}, rulesOf(pods)},
		{"two", "both must hold", []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Exists"}, {Key: "l", Operator: "Exists"}}, rulesOf(nodes)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			aggregates := sum("sum", "", "")
			aggregates.AggregationRule.ClusterRoleSelectors = []metav1.LabelSelector{{MatchExpressions: tc.expressions}}
			for _, x := range []*Index{
				NewIndex(snapshotOf(append(s.ClusterRoles[:3:3], aggregates)...), Options{}),
				withAll(NewIndex(s, Options{}), aggregates),
				withAll(NewIndex(Snapshot{}, Options{}), append(s.ClusterRoles[:3:3], aggregates)...),
			} {
				got, err := x.Rules(Key("sum"))
				require.NoError(t, err)
				require.Equal(t, tc.want, got, tc.reason)
			}
		})
	}
}

func withAll(x *Index, roles ...*rbacv1.ClusterRole) *Index {
	next, _ := x.With(snapshotOf(roles...))
	return next
}

// Of several things that do not convert, the first one is named: labels by key, then the expressions.
func TestSelectorErrorIsTheFirst(t *testing.T) {
	near, far := metav1.LabelSelectorRequirement{Key: "k", Operator: "Near"}, metav1.LabelSelectorRequirement{Key: "k", Operator: "Far"}
	fine := metav1.LabelSelectorRequirement{Key: "k", Operator: "Exists"}
	for _, tc := range []struct {
		name, reason string
		labels       map[string]string
		expressions  []metav1.LabelSelectorRequirement
		want         string
	}{
		{"a label after one that is right", "it is the only one that is wrong", map[string]string{"a": "x", "b bad": "x"}, nil, `key: Invalid value: "b bad"`},
		{"labels before expressions", "the label is named", map[string]string{"a bad": "x", "b": "x"}, []metav1.LabelSelectorRequirement{near}, `key: Invalid value: "a bad"`},
		{"an expression after labels that are right", "the expression is named", map[string]string{"a": "x", "b": "x"}, []metav1.LabelSelectorRequirement{near}, `"Near" is not`},
		{"expressions", "the first that does not convert", nil, []metav1.LabelSelectorRequirement{fine, near, far}, `"Near" is not`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := sum("sum", "", "")
			r.AggregationRule.ClusterRoleSelectors = []metav1.LabelSelector{{MatchLabels: tc.labels, MatchExpressions: tc.expressions}}
			_, err := Plan(snapshotOf(r), Key("sum"), Options{})
			require.ErrorContains(t, err, "ClusterRole sum: aggregationRule.clusterRoleSelectors[0]: "+tc.want, tc.reason)
		})
	}
}
