package parity

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	upstream "k8s.io/kubernetes/pkg/controller/clusterroleaggregation"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/rbacaggregate"
)

var rbacaggregateCore = Core[rbacaggregate.Snapshot]{
	Name:     "rbacaggregate",
	Generate: generateRoles,
	Objects:  func(s rbacaggregate.Snapshot) []runtime.Object { return asObjects(s.ClusterRoles) },
	Start:    func(rbacaggregate.Snapshot) Start { return startAggregation },
	Ours: func(s rbacaggregate.Snapshot) Trace {
		return roleTrace(s, rbacaggregate.Options{MatchUpstream: Release})
	},
	Kinds: []string{"nothing", "apply clusterroles", "error", "apply without rules"},
	Marks: func(_ rbacaggregate.Snapshot, t Trace) []string {
		for _, r := range t.Requests {
			if !strings.Contains(r.Body, `"rules"`) {
				return []string{"apply without rules"}
			}
		}
		return nil
	},
	Smaller: func(s rbacaggregate.Snapshot) []rbacaggregate.Snapshot {
		var smaller []rbacaggregate.Snapshot
		for _, roles := range Without(s.ClusterRoles) {
			smaller = append(smaller, rbacaggregate.Snapshot{ClusterRoles: roles})
		}
		return smaller
	},
}

func startAggregation(_ context.Context, w *World) (func(context.Context), error) {
	w.FailedKey = func(f Failure) string {
		key, _, _ := strings.Cut(f.Err.Error(), " failed with : ")
		return key
	}
	c := upstream.NewClusterRoleAggregation(w.Informers.Rbac().V1().ClusterRoles(), w.Client.RbacV1())
	return func(ctx context.Context) { c.Run(ctx, w.Workers) }, nil
}

func roleTrace(s rbacaggregate.Snapshot, o rbacaggregate.Options) Trace {
	var trace Trace
	var answers Answers
	// Its error names what no API server holds.
	outcomes, _ := rbacaggregate.PlanAll(s, o)
	for _, outcome := range outcomes {
		trace.Requests = append(trace.Requests, Planned(&answers, outcome.Result.Actions)...)
		trace.Events = append(trace.Events, EventsOf(outcome.Result.Events)...)
		if outcome.Err != nil {
			trace.Failed = append(trace.Failed, outcome.Key.Name)
		}
	}
	return trace
}

func TestRBACAggregate(t *testing.T) { rbacaggregateCore.Test(t) }

// TestRBACAggregateAffected compares the keys that an event leads to (BR-27-01). A pass of the real
// controller shows when it writes or fails, so every aggregated role here has a rule too many.
func TestRBACAggregateAffected(t *testing.T) {
	run := Settings(t, 5000)
	seen := coverage{}
	for i := range run.Numbers() {
		r := run.Source(i)
		s := generateRoles(r)
		for n, role := range s.ClusterRoles {
			if role.AggregationRule != nil {
				role.Rules = append(role.Rules, rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{fmt.Sprintf("/only/%d", n)}})
			}
		}
		kind, old, current, after := roleEvent(r, s)
		if kind == "" {
			continue
		}

		var worked []string
		Run(t, asObjects(s.ClusterRoles), startAggregation, func(t *testing.T, w *World) {
			w.Settle()
			switch kind {
			case "add":
				w.Add(current)
			case "update":
				w.Update(current)
			default:
				w.Delete(old, r.IntN(2) == 0)
			}
			trace := w.Settle()
			worked = slices.Concat(names(trace.Requests), trace.Failed)
		})
		slices.Sort(worked)

		x := rbacaggregate.NewIndex(s, rbacaggregate.Options{MatchUpstream: Release})
		var keys []purekube.Key
		if current == nil {
			_, keys = x.Without(rbacaggregate.Snapshot{ClusterRoles: []*rbacv1.ClusterRole{old}})
		} else {
			_, keys = x.With(rbacaggregate.Snapshot{ClusterRoles: []*rbacv1.ClusterRole{current}})
		}
		var affected []string
		for _, role := range after.ClusterRoles {
			// A role without an aggregationRule has an empty plan: that it had another one is for who keeps plans.
			if role.AggregationRule != nil && slices.Contains(keys, rbacaggregate.KeyOf(role)) {
				affected = append(affected, role.Name)
			}
		}
		slices.Sort(affected)
		if diff := cmp.Diff(slices.Compact(worked), affected, equateEmpty); diff != "" {
			t.Fatalf("other keys after %s of a role (- kube-controller-manager, + ours):\n%s\nfor\n%s\n%s",
				kind, diff, Manifests(asObjects(after.ClusterRoles)), run.Again(t, i))
		}
		kinds := []string{kind}
		if len(worked) == 0 {
			kinds = append(kinds, "nothing")
		}
		seen.add(kinds)
	}
	seen.check(t, []string{"add", "update", "delete", "nothing"})
}

// roleEvent makes something happen to one role: what it was, what it is, and all roles after.
func roleEvent(r *rand.Rand, s rbacaggregate.Snapshot) (kind string, old, current *rbacv1.ClusterRole, after rbacaggregate.Snapshot) {
	roles := slices.Clone(s.ClusterRoles)
	i := r.IntN(len(roles) + 1)
	if i == len(roles) {
		current = role(r, "newcomer")
		current.AggregationRule = nil
		return "add", nil, current, rbacaggregate.Snapshot{ClusterRoles: append(roles, current)}
	}
	old = roles[i]
	if r.IntN(3) == 0 {
		return "delete", old, nil, rbacaggregate.Snapshot{ClusterRoles: slices.Delete(roles, i, i+1)}
	}
	current = old.DeepCopy()
	current.ResourceVersion = "2"
	if r.IntN(2) == 0 {
		current.Labels = someLabels(r)
	}
	roles[i] = current
	return "update", old, current, rbacaggregate.Snapshot{ClusterRoles: roles}
}

// generateRoles makes a handful of roles, among them aggregated ones that select each other,
// themselves, nothing or everything.
func generateRoles(r *rand.Rand) rbacaggregate.Snapshot {
	all := []string{"admin", "edit", "view", "A", "Z", "a-0", "a-1", "a.b", "system:aggregate-to-view", "system:node"}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var s rbacaggregate.Snapshot
	for _, name := range all[:r.IntN(8)] {
		s.ClusterRoles = append(s.ClusterRoles, role(r, name))
	}
	// Many clusters are at rest, or almost.
	if r.IntN(4) == 0 {
		for range 4 {
			rest(s.ClusterRoles)
		}
	}
	return s
}

func role(r *rand.Rand, name string) *rbacv1.ClusterRole {
	c := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1", Labels: someLabels(r)},
		Rules:      someRules(r),
	}
	if r.IntN(2) == 0 {
		c.AggregationRule = &rbacv1.AggregationRule{}
		for range r.IntN(4) {
			c.AggregationRule.ClusterRoleSelectors = append(c.AggregationRule.ClusterRoleSelectors, someSelector(r))
		}
	}
	return c
}

func someLabels(r *rand.Rand) map[string]string {
	var set map[string]string
	for _, key := range []string{"to-view", "to-edit", "tier"} {
		if r.IntN(2) == 0 {
			if set == nil {
				set = map[string]string{}
			}
			set[key] = []string{"true", "true", "false", ""}[r.IntN(4)]
		}
	}
	return set
}

func someSelector(r *rand.Rand) metav1.LabelSelector {
	key := []string{"to-view", "to-edit", "tier", "absent"}[r.IntN(4)]
	expression := func(operator metav1.LabelSelectorOperator, values ...string) metav1.LabelSelector {
		return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
	}
	switch r.IntN(24) {
	case 0:
		return metav1.LabelSelector{} // everything
	case 1:
		return expression(metav1.LabelSelectorOpIn) // no values: does not convert
	case 2:
		return expression("Near", "true") // no such operator
	case 3:
		return metav1.LabelSelector{MatchLabels: map[string]string{key: "no label value!"}}
	case 4:
		return expression(metav1.LabelSelectorOpExists)
	case 5, 6:
		return expression(metav1.LabelSelectorOpDoesNotExist)
	case 7, 8:
		return expression(metav1.LabelSelectorOpNotIn, "true", "")
	case 9, 10:
		s := expression(metav1.LabelSelectorOpIn, "true", "false")
		s.MatchLabels = map[string]string{"tier": "true"}
		return s
	}
	return metav1.LabelSelector{MatchLabels: map[string]string{key: []string{"true", "true", ""}[r.IntN(3)]}}
}

// someRules are rules that are equal, almost equal, or equal but for the order of a list.
func someRules(r *rand.Rand) []rbacv1.PolicyRule {
	pool := []rbacv1.PolicyRule{
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}},
		// The same in other words.
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}, ResourceNames: []string{}},
		// One field differs.
		{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"pods"}},
		{Verbs: []string{"get"}, APIGroups: []string{"apps"}, Resources: []string{"pods"}},
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"nodes"}},
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}, ResourceNames: []string{"a"}},
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}, ResourceNames: []string{""}},
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}, NonResourceURLs: []string{"a"}},
		// One list differs by its order, or by a repetition.
		{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"pods"}},
		{Verbs: []string{"list", "get"}, APIGroups: []string{""}, Resources: []string{"pods"}},
		{Verbs: []string{"get", "get"}, APIGroups: []string{""}, Resources: []string{"pods"}},
		// The same strings on other sides of a border.
		{Verbs: []string{"get"}, APIGroups: []string{"", "pods"}},
		{Verbs: []string{"get", "", "pods"}},
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz", "/metrics/*"}},
		{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz"}, APIGroups: []string{}, Resources: []string{}},
		{Verbs: []string{"<&>\u2028é"}, APIGroups: []string{"x.io"}, Resources: []string{"a/b"}},
		{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
	}
	switch r.IntN(6) {
	case 0:
		return nil
	case 1:
		return []rbacv1.PolicyRule{}
	}
	var rules []rbacv1.PolicyRule
	for range r.IntN(5) {
		rules = append(rules, *pool[r.IntN(len(pool))].DeepCopy())
	}
	return rules
}

// rest is one round of writes over all roles, told in the fewest words: the generator wants
// many roles that need nothing, and nothing is compared with this.
func rest(roles []*rbacv1.ClusterRole) {
	byName := slices.SortedFunc(slices.Values(roles), func(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
	for _, target := range roles {
		if target.AggregationRule == nil {
			continue
		}
		var rules []rbacv1.PolicyRule
		for _, selector := range target.AggregationRule.ClusterRoleSelectors {
			compiled, err := metav1.LabelSelectorAsSelector(&selector)
			for _, source := range byName {
				if err != nil || source == target || !compiled.Matches(labels.Set(source.Labels)) {
					continue
				}
				for _, rule := range source.Rules {
					same := func(other rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(rule, other) }
					if !slices.ContainsFunc(rules, same) {
						rules = append(rules, *rule.DeepCopy())
					}
				}
			}
		}
		target.Rules = rules
	}
}
