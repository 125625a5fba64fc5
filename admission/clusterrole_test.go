package admission

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/internal/test/reviews"
	"github.com/purekube/purekube/purekubetest"
)

var (
	podsRule    = rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}
	secretsRule = rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"secrets"}}
)

func createsRole(r *rbacv1.ClusterRole) reviews.Request { return reviews.WritesRole(nil, r) }

// changed is a copy of an object with a change.
func changed(r *rbacv1.ClusterRole, change func(*rbacv1.ClusterRole)) *rbacv1.ClusterRole {
	r = r.DeepCopy()
	change(r)
	return r
}

// What a write grants at any time counts, whoever aggregates: the default mode alone allows each of the refused writes.
func TestClusterRoleWrites(t *testing.T) {
	view := purekubetest.AggregatedRole("view", "to-view")
	// aggregating has the label for view, rules, and an aggregationRule of its own.
	aggregating := func(of string) *rbacv1.ClusterRole {
		return changed(reviews.Role("team", "to-view", secretsRule), func(r *rbacv1.ClusterRole) {
			r.AggregationRule = purekubetest.AggregatedRole("", of).AggregationRule
		})
	}
	noSelectors := changed(aggregating(""), func(r *rbacv1.ClusterRole) { r.AggregationRule = &rbacv1.AggregationRule{} })
	// stale has lost its source of secrets, and another field manager owns its rules too.
	stale := changed(view, func(r *rbacv1.ClusterRole) {
		r.Rules = []rbacv1.PolicyRule{podsRule, secretsRule}
		for _, manager := range []string{"clusterrole-aggregation-controller", "kubectl"} {
			r.ManagedFields = append(r.ManagedFields, metav1.ManagedFieldsEntry{
				Manager: manager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:rules":{}}`)},
			})
		}
	})
	last := reviews.Role("last", "to-view", podsRule)
	terminating := changed(last, func(r *rbacv1.ClusterRole) {
		r.Finalizers, r.DeletionTimestamp = []string{"example.com/wait"}, &metav1.Time{Time: reviews.Noon}
	})
	released := changed(terminating, func(r *rbacv1.ClusterRole) { r.Finalizers = nil })
	for _, tc := range []struct {
		name, reason string
		request      reviews.Request
		more         []purekubetest.Object
		message      string // empty: it is allowed
	}{
		{
			"the rules of view", "they are granted until the next pass",
			reviews.WritesRole(view, changed(view, func(r *rbacv1.ClusterRole) { r.Rules = append(r.Rules, secretsRule) })), nil, "the write contains the rule",
		},
		{
			"a source without selectors", "kube-controller-manager writes nothing to it, and view gets its rules for good",
			createsRole(noSelectors), nil, "the rule is stored in team",
		},
		{"a source that selects nothing", "the same", createsRole(aggregating("nobody")), nil, "the rule is stored in team"},
		{
			"a source that aggregates", "its stored rules pass through until it is written", createsRole(aggregating("to-team")),
			[]purekubetest.Object{reviews.Role("base", "to-team", podsRule)}, "the rule is stored in team",
		},
		{
			"the last source deleted", "kube-controller-manager leaves what kubectl owns",
			reviews.WritesRole(last, nil),
			[]purekubetest.Object{last, stale}, "the ClusterRole already has the rule, and the write may prevent its removal",
		},
		{
			"the last source released", "without its finalizer it is gone", reviews.WritesRole(terminating, released), []purekubetest.Object{terminating, stale},
			"the ClusterRole already has the rule, and the write may prevent its removal",
		},
		{
			"the last source labelled anew", "it stays", reviews.WritesRole(last, changed(last, func(r *rbacv1.ClusterRole) { r.Labels["a"] = "b" })),
			[]purekubetest.Object{last, stale}, "",
		},
		{
			"a source deleted", "its rules go", reviews.WritesRole(last, nil),
			[]purekubetest.Object{last}, "",
		},
		{
			"view created by hand", "what it is created with counts",
			createsRole(changed(view, func(r *rbacv1.ClusterRole) { r.Rules = append(r.Rules, secretsRule) })), nil, "the write contains the rule",
		},
		{
			"a generated name", "whatever its name, it is a source", createsRole(changed(reviews.Role("", "to-view", secretsRule), func(r *rbacv1.ClusterRole) { r.GenerateName = "team-" })),
			nil, "team-/ has the rule",
		},
		{
			"a generated name that nothing selects", "whatever its name, it is none",
			createsRole(changed(reviews.Role("", "", secretsRule), func(r *rbacv1.ClusterRole) { r.GenerateName = "team-" })), nil, "",
		},
		{
			"two names", "it is not known what is written", reviews.Request{Group: rbacv1.GroupName, Resource: "clusterroles", Name: "a", Operation: admissionv1.Create, Object: reviews.Role("b", "", podsRule)},
			nil, `the request is for the name "a", and metadata.name is "b"`,
		},
		{
			"another operation", "nothing is known of it",
			reviews.Request{Group: rbacv1.GroupName, Resource: "clusterroles", Name: "a", Operation: admissionv1.Connect}, nil, "cannot be decided here",
		},
		{
			"a subresource", "a ClusterRole has none",
			reviews.Request{Group: rbacv1.GroupName, Resource: "clusterroles", Subresource: "status", Name: "a", Operation: admissionv1.Update}, nil, "cannot be decided here",
		},
		{
			"an object of other types", "what it says is not known",
			reviews.Request{Group: rbacv1.GroupName, Resource: "clusterroles", Name: "a", Operation: admissionv1.Create, Object: map[string]any{"rules": "all"}}, nil, "request.object cannot be read",
		},
		{
			"no oldObject", "what view has is not known",
			reviews.Request{Group: rbacv1.GroupName, Resource: "clusterroles", Name: "view", Operation: admissionv1.Update, Object: view}, nil, "request.oldObject cannot be read",
		},
		{
			"another group's ClusterRole", "it is none of RBAC",
			reviews.Request{Group: "example.com", Resource: "clusterroles", Name: "a", Operation: admissionv1.Create, Object: map[string]any{"rules": "all"}}, nil, "",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := Decide(cluster(t, tc.more...), tc.request.Review(t), Options{ClusterRoles: ClusterRoleOptions{Allowed: reviews.Protected}})
			require.Equal(t, tc.message == "", a.Allowed, "%s: %s", tc.reason, messageOf(a))
			require.Contains(t, messageOf(a), tc.message)
		})
	}
	another := createsRole(reviews.Role("team", "to-view", secretsRule)).Review(t)
	another.Resource.Version = "v2"
	require.False(t, Decide(cluster(t), another, Options{}).Allowed, "its version is not known")
}

// A protected ClusterRole that does not exist has nothing to protect. The write that creates it counts for all
// that it will have, also if its name is generated.
func TestProtectedClusterRoleThatDoesNotExist(t *testing.T) {
	o := ClusterRoleOptions{Allowed: map[string][]rbacv1.PolicyRule{"team-x7k2p": {podsRule}}}
	source := reviews.Role("source", "to-team", secretsRule)
	writes := func(r *rbacv1.ClusterRole, objects ...purekubetest.Object) bool {
		return ClusterRoleWrite(cluster(t, objects...).ClusterRoles, createsRole(r).Review(t), o).Allowed
	}
	require.True(t, writes(source), "nobody has its rules")
	team := purekubetest.AggregatedRole("team-x7k2p", "to-team")
	require.False(t, writes(team, source), "it would aggregate secrets")
	for generateName, want := range map[string]bool{"team-": false, "other-": true, "team-x7": true, "": true} {
		unnamed := changed(team, func(r *rbacv1.ClusterRole) { r.Name, r.GenerateName = "", generateName })
		require.Equal(t, want, writes(unnamed, source), generateName)
	}
	require.True(t, canBeGenerated(strings.Repeat("a", 80), strings.Repeat("a", 58)+"12345"), "a long prefix is cut")
}

// A ClusterRole of the size that etcd takes is a review of more than 8 MiB: it has the old object and the new
// one, in JSON.
func TestLargestClusterRole(t *testing.T) {
	big := reviews.Role("big", "to-view", podsRule)
	for i := 0; big.Size() < 1_400_000; i++ {
		for range 100 {
			big.Rules = append(big.Rules, rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods", "services", fmt.Sprint("pods/", i)}[:1+i%2]})
		}
	}
	wide := changed(big, func(r *rbacv1.ClusterRole) { r.Rules = append(r.Rules, secretsRule) })
	roles, o := cluster(t).ClusterRoles, ClusterRoleOptions{Allowed: reviews.Protected}
	for _, tc := range []struct {
		to      *rbacv1.ClusterRole
		allowed bool
	}{{changed(big, func(r *rbacv1.ClusterRole) { r.Rules = append(r.Rules, podsRule) }), true}, {wide, false}} {
		r := reviews.WritesRole(big, tc.to).Review(t)
		require.Greater(t, len(r.Object.Raw)+len(r.OldObject.Raw), 8<<20)
		a := ClusterRoleWrite(roles, r, o)
		require.Equal(t, tc.allowed, a.Allowed, messageOf(a))
		require.LessOrEqual(t, len(messageOf(a)), maxMessage, "a message quotes no more than the beginning of a rule")
	}
}

// A few entries make a product of four lists that nobody can go through. The decision does not.
func TestClusterRoleWithALargeProduct(t *testing.T) {
	roles, o := cluster(t).ClusterRoles, ClusterRoleOptions{Allowed: reviews.Protected}
	wide := manyEntries(5000)
	require.False(t, ClusterRoleWrite(roles, createsRole(reviews.Role("team", "to-view", wide)).Review(t), o).Allowed)
	wide.APIGroups, wide.Verbs, wide.Resources = append(wide.APIGroups, ""), []string{"get"}, []string{"pods"}
	a := ClusterRoleWrite(roles, createsRole(reviews.Role("team", "to-view", wide)).Review(t), o)
	require.True(t, a.Allowed, messageOf(a))
}
