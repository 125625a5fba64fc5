package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/admission/memory"
	"github.com/purekube/purekube/admission/webhook"
	"github.com/purekube/purekube/internal/test/reviews"
	"github.com/purekube/purekube/purekubetest"
)

func newServer(t testing.TB, o admission.Options) *httptest.Server {
	t.Helper()
	var err error
	o.ClusterRoles.Allowed, err = readProtected([]byte(reviews.ProtectedYAML))
	require.NoError(t, err)
	store := memory.NewStore(memory.Options{})
	store.Put(reviews.Cluster()...)
	server := httptest.NewServer(newHandler(store, func() bool { return true }, o, webhook.Options{Log: quiet}))
	t.Cleanup(server.Close)
	return server
}

var quiet = slog.New(slog.DiscardHandler)

func post(t testing.TB, server *httptest.Server, body string) (int, admissionv1.AdmissionReview, string) {
	t.Helper()
	return reviews.Post(t, server.Client(), server.URL+"/validate?timeout=30s", body)
}

func TestDecisions(t *testing.T) {
	pods := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}
	secrets := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}}
	all := rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
	const cidrs, rbac = "networking.k8s.io", "rbac.authorization.k8s.io"
	webName := purekubetest.Deployment("shop/web", 2).Pods[0].Name
	for _, tc := range []struct {
		name, reason string
		request      reviews.Request
		allowed      bool
		code         int32
		message      []string // parts
		warning      string
	}{
		{"a ServiceCIDR in use", "its addresses would have no range; the Services are named",
			reviews.Request{Group: cidrs, Resource: "servicecidrs", Name: "used", Operation: admissionv1.Delete, OldObject: purekubetest.ServiceCIDR("used", "10.96.0.0/24")},
			false, 409, []string{"ServiceCIDR used is the only range of 10.96.0.7 (Service shop/web), 10.96.0.8 (Service shop/db)"}, ""},
		{"a free ServiceCIDR", "no address is in it",
			reviews.Request{Group: cidrs, Resource: "servicecidrs", Name: "free", Operation: admissionv1.Delete, OldObject: purekubetest.ServiceCIDR("free", "10.97.0.0/24")}, true, 0, nil, ""},
		{"a ServiceCIDR that does not parse", "whether it is in use cannot be known",
			reviews.Request{Group: cidrs, Resource: "servicecidrs", Name: "used", Operation: admissionv1.Delete, OldObject: purekubetest.ServiceCIDR("used", "10.96.0.0/33")},
			false, 409, []string{"cannot be checked", "spec.cidrs[0]"}, ""},
		{"a role that gives view pods", "the allow-list covers it",
			reviews.Request{Group: rbac, Resource: "clusterroles", Name: "team", Operation: admissionv1.Create, Object: reviews.Role("team", "to-view", pods)}, true, 0, nil, ""},
		{"a role that gives view secrets", "the allow-list does not cover it",
			reviews.Request{Group: rbac, Resource: "clusterroles", Name: "team", Operation: admissionv1.Create, Object: reviews.Role("team", "to-view", secrets)},
			false, 403, []string{"ClusterRole view", `["get"] on ["secrets"] of [""]`}, ""},
		{"a role that is not aggregated", "it changes no protected role",
			reviews.Request{Group: rbac, Resource: "clusterroles", Name: "team", Operation: admissionv1.Create, Object: reviews.Role("team", "", all)}, true, 0, nil, ""},
		{"view itself, replaced", "without its aggregationRule it has the rules that are written",
			reviews.Request{Group: rbac, Resource: "clusterroles", Name: "view", Operation: admissionv1.Update, Object: reviews.Role("view", "", all), OldObject: purekubetest.AggregatedRole("view", "to-view")},
			false, 403, []string{"ClusterRole view", `["*"]`}, ""},
		{"view itself, with another selector", "it lets in whatever somebody labels",
			reviews.Request{Group: rbac, Resource: "clusterroles", Name: "view", Operation: admissionv1.Update, Object: purekubetest.AggregatedRole("view", "other"), OldObject: purekubetest.AggregatedRole("view", "to-view")},
			false, 403, []string{"ClusterRole view", "a new selector of view"}, ""},
		{"an eviction within the budget", "both pods are healthy, and the status is not written yet", reviews.Evicts(webName), true, 0, nil, ""},
		{"an eviction beyond the budget", "the other pod is not ready", reviews.Evicts("db-1"), false, 429, []string{"disruption budget"}, ""},
		{"an eviction of a pod that is not there", "the API server says so", reviews.Evicts("nobody"), true, 0, nil, ""},
		{"a budget that allows no disruption", "its writer is warned",
			reviews.Request{Group: "policy", Resource: "poddisruptionbudgets", Namespace: "shop", Name: "web", Operation: admissionv1.Update, Object: purekubetest.MaxUnavailable("shop/web", "0")},
			true, 0, nil, "never allows a disruption"},
		{"a budget that waits for a pod", "one more healthy pod, and it lets one go",
			reviews.Request{Group: "policy", Resource: "poddisruptionbudgets", Namespace: "shop", Name: "db", Operation: admissionv1.Update, Object: purekubetest.MaxUnavailable("shop/db", "1")}, true, 0, nil, ""},
		{"another resource", "the webhook has nothing to say", reviews.Request{Group: "apps", Resource: "deployments", Operation: admissionv1.Delete}, true, 0, nil, ""},
	} {
		for _, version := range []string{"v1", "v1beta1"} {
			for _, dryRun := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/dryRun=%t", tc.name, version, dryRun), func(t *testing.T) {
					tc.request.DryRun = dryRun
					code, out, text := post(t, newServer(t, admission.Options{}), tc.request.Body(t, version))
					require.Equal(t, http.StatusOK, code, text)
					require.Equal(t, "admission.k8s.io/"+version, out.APIVersion)
					require.Equal(t, "1", string(out.Response.UID))
					require.Equal(t, tc.allowed, out.Response.Allowed, "%s: %s", tc.reason, text)
					if !tc.allowed {
						require.Equal(t, tc.code, out.Response.Result.Code)
						for _, part := range tc.message {
							require.Contains(t, out.Response.Result.Message, part)
						}
					}
					if tc.warning == "" {
						require.Empty(t, out.Response.Warnings)
					} else {
						require.Len(t, out.Response.Warnings, 1)
						require.Contains(t, out.Response.Warnings[0], tc.warning)
					}
				})
			}
		}
	}
}

func TestBudgetsAreRefusedByFlag(t *testing.T) {
	r := reviews.Request{Group: "policy", Resource: "poddisruptionbudgets", Namespace: "shop", Name: "web", Operation: admissionv1.Create, Object: purekubetest.MaxUnavailable("shop/web", "0")}
	_, out, _ := post(t, newServer(t, admission.Options{Budgets: admission.BudgetOptions{Refuse: true}}), r.Body(t, "v1"))
	require.False(t, out.Response.Allowed)
	require.Contains(t, out.Response.Result.Message, "never allows a disruption")
}

// Before all objects have been listed everything that the webhook judges is refused, whatever the failurePolicy says.
func TestNotReady(t *testing.T) {
	server := httptest.NewServer(newHandler(memory.NewStore(memory.Options{}), func() bool { return false }, admission.Options{}, webhook.Options{Log: quiet}))
	defer server.Close()
	response, err := http.Get(server.URL + "/readyz")
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	for _, tc := range []struct {
		request reviews.Request
		code    int32
	}{
		{reviews.Evicts("p"), http.StatusTooManyRequests}, // kubectl drain tries again
		{reviews.WritesRole(nil, reviews.Role("team", "", rbacv1.PolicyRule{})), http.StatusServiceUnavailable},
		{reviews.DeletesCIDR("free", "10.97.0.0/24"), http.StatusServiceUnavailable},
	} {
		code, out, text := post(t, server, tc.request.Body(t, "v1"))
		require.Equal(t, http.StatusOK, code, text)
		require.False(t, out.Response.Allowed)
		require.Equal(t, tc.code, out.Response.Result.Code)
	}
	_, out, _ := post(t, server, reviews.Request{Group: "apps", Resource: "deployments", Operation: admissionv1.Delete}.Body(t, "v1"))
	require.True(t, out.Response.Allowed, "the webhook has nothing to say of it")
	response, err = http.Get(server.URL + "/healthz")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
}

func TestReadProtected(t *testing.T) {
	for _, bad := range []string{"", "{}", "view: {}", "view: [{verb: [get]}]", ":"} {
		_, err := readProtected([]byte(bad))
		require.Error(t, err, bad)
	}
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"-budgets", "maybe"}, {"-tls-cert", "x"}, {"-protect", "no-such-file"}, {"-ca-file", "no-such-file"}, {"-nonsense"}} {
		require.Error(t, run(t.Context(), args, quiet), args)
	}
}
