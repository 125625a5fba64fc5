package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube/purekubetest"
)

var (
	podsRule    = rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}
	secretsRule = rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"secrets"}}
)

// changed is a copy of an object with a change.
func changed(r *rbacv1.ClusterRole, change func(*rbacv1.ClusterRole)) *rbacv1.ClusterRole {
	r = r.DeepCopy()
	change(r)
	return r
}

// decideRole answers a review of a ClusterRole in the tests' cluster with some more objects.
func decideRole(t *testing.T, r request, more ...runtime.Object) answer {
	t.Helper()
	s := cluster(t)
	s.put(more...)
	protected, err := readProtected([]byte(protectedYAML))
	require.NoError(t, err)
	return policy{now: time.Now, protected: protected}.decide(t.Context(), s, r.review(t))
}

// What a write grants at any time counts, whoever aggregates: the default mode alone allows each of the refused writes.
func TestClusterRoleWrites(t *testing.T) {
	view := purekubetest.AggregatedRole("view", "to-view")
	// aggregating has the label for view, rules, and an aggregationRule of its own.
	aggregating := func(of string) *rbacv1.ClusterRole {
		return changed(role("team", "to-view", secretsRule), func(r *rbacv1.ClusterRole) {
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
	last := role("last", "to-view", podsRule)
	terminating := changed(last, func(r *rbacv1.ClusterRole) {
		r.Finalizers, r.DeletionTimestamp = []string{"example.com/wait"}, &metav1.Time{Time: noon}
	})
	released := changed(terminating, func(r *rbacv1.ClusterRole) { r.Finalizers = nil })
	for _, tc := range []struct {
		name, reason string
		request      request
		more         []runtime.Object
		message      string // empty: it is allowed
	}{
		{
			"the rules of view", "they are granted until the next pass",
			updatesRole(view, changed(view, func(r *rbacv1.ClusterRole) { r.Rules = append(r.Rules, secretsRule) })), nil, "the write stores it",
		},
		{
			"a source without selectors", "kube-controller-manager writes nothing to it, and view gets its rules for good",
			createsRole(noSelectors), nil, "it is stored in team",
		},
		{"a source that selects nothing", "the same", createsRole(aggregating("nobody")), nil, "it is stored in team"},
		{
			"a source that aggregates", "its stored rules pass through until it is written", createsRole(aggregating("to-team")),
			[]runtime.Object{role("base", "to-team", podsRule)}, "it is stored in team",
		},
		{
			"the last source deleted", "kube-controller-manager leaves what kubectl owns",
			request{group: rbacv1.GroupName, resource: "clusterroles", name: "last", operation: admissionv1.Delete, oldObject: last},
			[]runtime.Object{last, stale}, "it is stored already, and may stay because of the write",
		},
		{
			"the last source released", "without its finalizer it is gone", updatesRole(terminating, released), []runtime.Object{terminating, stale},
			"it is stored already, and may stay because of the write",
		},
		{
			"the last source labelled anew", "it stays", updatesRole(last, changed(last, func(r *rbacv1.ClusterRole) { r.Labels["a"] = "b" })),
			[]runtime.Object{last, stale}, "",
		},
		{
			"a source deleted", "its rules go", request{group: rbacv1.GroupName, resource: "clusterroles", name: "last", operation: admissionv1.Delete, oldObject: last},
			[]runtime.Object{last}, "",
		},
		{
			"view created by hand", "what it is created with counts",
			createsRole(changed(view, func(r *rbacv1.ClusterRole) { r.Rules = append(r.Rules, secretsRule) })), nil, "the write stores it",
		},
		{
			"a generated name", "whatever its name, it is a source", createsRole(changed(role("", "to-view", secretsRule), func(r *rbacv1.ClusterRole) { r.GenerateName = "team-" })),
			nil, "team-/ has it",
		},
		{
			"a generated name that nothing selects", "whatever its name, it is none",
			createsRole(changed(role("", "", secretsRule), func(r *rbacv1.ClusterRole) { r.GenerateName = "team-" })), nil, "",
		},
		{
			"two names", "it is not known what is written", request{group: rbacv1.GroupName, resource: "clusterroles", name: "a", operation: admissionv1.Create, object: role("b", "", podsRule)},
			nil, `the review is of ClusterRole "a" and has ClusterRole "b"`,
		},
		{
			"another operation", "nothing is known of it",
			request{group: rbacv1.GroupName, resource: "clusterroles", name: "a", operation: admissionv1.Connect}, nil, "not known",
		},
		{
			"a subresource", "a ClusterRole has none",
			request{group: rbacv1.GroupName, resource: "clusterroles", subresource: "status", name: "a", operation: admissionv1.Update}, nil, "not known",
		},
		{
			"an object of other types", "what it says is not known",
			request{group: rbacv1.GroupName, resource: "clusterroles", name: "a", operation: admissionv1.Create, object: map[string]any{"rules": "all"}}, nil, "object cannot be read",
		},
		{
			"no oldObject", "what view has is not known",
			request{group: rbacv1.GroupName, resource: "clusterroles", name: "view", operation: admissionv1.Update, object: view}, nil, "oldObject cannot be read",
		},
		{
			"another group's ClusterRole", "it is none of RBAC",
			request{group: "example.com", resource: "clusterroles", name: "a", operation: admissionv1.Create, object: map[string]any{"rules": "all"}}, nil, "",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if !judged(tc.request.review(t)) {
				require.Empty(t, tc.message)
				return
			}
			a := decideRole(t, tc.request, tc.more...)
			require.Equal(t, tc.message == "", a.allowed, "%s: %s", tc.reason, a.message)
			require.Contains(t, a.message, tc.message)
		})
	}
	another := createsRole(role("team", "to-view", secretsRule)).review(t)
	another.Resource.Version = "v2"
	require.True(t, judged(another))
	require.False(t, policy{}.decide(t.Context(), newState(), another).allowed, "its version is not known")
}

// A protected ClusterRole that does not exist has nothing to protect. The write that creates it counts for all
// that it will have, also if its name is generated.
func TestProtectedClusterRoleThatDoesNotExist(t *testing.T) {
	protected, err := readProtected([]byte(`team-x7k2p: [{apiGroups: [""], resources: [pods], verbs: [get]}]`))
	require.NoError(t, err)
	p := policy{now: time.Now, protected: protected}
	s := cluster(t)
	source := role("source", "to-team", secretsRule)
	require.True(t, p.decide(t.Context(), s, createsRole(source).review(t)).allowed, "nobody has its rules")
	s.put(source)
	team := purekubetest.AggregatedRole("team-x7k2p", "to-team")
	require.False(t, p.decide(t.Context(), s, createsRole(team).review(t)).allowed, "it would aggregate secrets")
	for generateName, want := range map[string]bool{"team-": false, "other-": true, "team-x7": true, "": true} {
		unnamed := changed(team, func(r *rbacv1.ClusterRole) { r.Name, r.GenerateName = "", generateName })
		require.Equal(t, want, p.decide(t.Context(), s, createsRole(unnamed).review(t)).allowed, generateName)
	}
	require.True(t, canBeGenerated(strings.Repeat("a", 80), strings.Repeat("a", 58)+"12345"), "a long prefix is cut")
}

// A ClusterRole of the size that etcd takes is a review of more than 8 MiB: it has the old object and the new
// one, in JSON.
func TestLargestClusterRole(t *testing.T) {
	big := role("big", "to-view", podsRule)
	for i := 0; big.Size() < 1_400_000; i++ {
		for range 100 {
			big.Rules = append(big.Rules, rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods", "services", fmt.Sprint("pods/", i)}[:1+i%2]})
		}
	}
	wide := changed(big, func(r *rbacv1.ClusterRole) { r.Rules = append(r.Rules, secretsRule) })
	server := newServer(t, policy{})
	for _, tc := range []struct {
		to      *rbacv1.ClusterRole
		allowed bool
	}{{changed(big, func(r *rbacv1.ClusterRole) { r.Rules = append(r.Rules, podsRule) }), true}, {wide, false}} {
		body := updatesRole(big, tc.to).body(t, "v1")
		require.Greater(t, len(body), 8<<20)
		code, out, text := post(t, server, body)
		require.Equal(t, http.StatusOK, code, text)
		require.Equal(t, tc.allowed, out.Response.Allowed, "%.2000s", text)
		require.Less(t, len(text), 4000, "a message quotes no more than the beginning of a rule")
	}
}

// What can be stored in etcd, in protobuf, is no more than six times as large in JSON.
func TestLargestReview(t *testing.T) {
	shortest := &rbacv1.ClusterRole{}
	for range 10_000 {
		shortest.Rules = append(shortest.Rules, rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"*"}})
	}
	escaped := &rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{{Verbs: []string{strings.Repeat("<", 100_000)}}}}
	for _, o := range []*rbacv1.ClusterRole{shortest, escaped} {
		text, err := json.Marshal(o)
		require.NoError(t, err)
		require.LessOrEqual(t, float64(len(text)), 6.01*float64(o.Size()))
	}
	require.Greater(t, maxBody, 6*(3<<20+3<<19))
}

// A few entries make a product of four lists that nobody can go through. The decision does not.
func TestClusterRoleWithALargeProduct(t *testing.T) {
	wide := manyEntries(5000)
	_, out, text := post(t, newServer(t, policy{}), createsRole(role("team", "to-view", wide)).body(t, "v1"))
	require.False(t, out.Response.Allowed, "%.500s", text)
	wide.APIGroups, wide.Verbs, wide.Resources = append(wide.APIGroups, ""), []string{"get"}, []string{"pods"}
	_, out, text = post(t, newServer(t, policy{}), createsRole(role("team", "to-view", wide)).body(t, "v1"))
	require.True(t, out.Response.Allowed, "%.500s", text)
}

// A review that cannot be decided in time is refused, before the API server gives up and the failurePolicy decides.
func TestDecisionsThatTakeTooLong(t *testing.T) {
	server, h := newServerAndHandler(t, policy{})
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	h.decide = func(context.Context, *admissionv1.AdmissionRequest) answer { <-never; return allowed }
	for i := range cap(h.deciding) + 1 { // the last one finds no place
		r := createsRole(role("team", "", podsRule))
		if i == 0 {
			r = evicts("p")
		}
		response, err := http.Post(server.URL+"/validate?timeout=20ms", "application/json", strings.NewReader(r.body(t, "v1")))
		require.NoError(t, err)
		var out review
		require.NoError(t, json.NewDecoder(response.Body).Decode(&out))
		require.NoError(t, response.Body.Close())
		require.False(t, out.Response.Allowed)
		require.Contains(t, out.Response.Result.Message, "not decide in time")
		want := int32(http.StatusServiceUnavailable)
		if i == 0 {
			want = http.StatusTooManyRequests
		}
		require.Equal(t, want, out.Response.Result.Code)
	}
	for text, want := range map[string]time.Duration{"": 9 * time.Second, "5s": 4 * time.Second, "1s": 800 * time.Millisecond, "1h": 29 * time.Second, "x": 9 * time.Second, "-1s": 9 * time.Second} {
		require.Equal(t, want, patience(text), text)
	}
}

// A decision that fails refuses, and the webhook goes on.
func TestDecisionThatPanics(t *testing.T) {
	server, h := newServerAndHandler(t, policy{})
	h.decide = func(context.Context, *admissionv1.AdmissionRequest) answer { panic("a mistake") }
	for range cap(h.deciding) + 1 {
		_, out, _ := post(t, server, evicts("p").body(t, "v1"))
		require.False(t, out.Response.Allowed)
	}
}
