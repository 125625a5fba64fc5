package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube/purekubetest"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const protectedYAML = `
view:
- {apiGroups: ["*"], resources: [pods, services], verbs: [get, list, watch]}
`

// cluster is what the tests' reviews are about: a used ServiceCIDR and a free one, view with one source, and two
// workloads under budgets.
func cluster(t testing.TB) *state {
	t.Helper()
	s := newState()
	view := purekubetest.AggregatedRole("view", "to-view")
	web, db := purekubetest.Deployment("shop/web", 2), purekubetest.StatefulSet("shop/db", 2)
	var objects []runtime.Object
	for _, o := range append(web.Objects(), db.Objects()...) {
		objects = append(objects, o)
	}
	purekubetest.NotReady(db.Pods[0])
	s.put(append(objects,
		purekubetest.ServiceCIDR("used", "10.96.0.0/24"), purekubetest.ServiceCIDR("free", "10.97.0.0/24"),
		purekubetest.Address("10.96.0.7", "shop/web"), purekubetest.Address("10.96.0.8", "shop/db"),
		view, purekubetest.MaxUnavailable("shop/web", "1"), purekubetest.MaxUnavailable("shop/db", "1"))...)
	return s
}

func newServer(t testing.TB, p policy) *httptest.Server {
	t.Helper()
	server, _ := newServerAndHandler(t, p)
	return server
}

func newServerAndHandler(t testing.TB, p policy) (*httptest.Server, *handler) {
	t.Helper()
	var err error
	p.now = func() time.Time { return noon }
	p.protected, err = readProtected([]byte(protectedYAML))
	require.NoError(t, err)
	h := newHandler(p, cluster(t), func() bool { return true }, slog.New(slog.NewTextHandler(io.Discard, nil)))
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server, h
}

// request is a review of one operation.
type request struct {
	group, resource, subresource, namespace, name string
	operation                                     admissionv1.Operation
	object, oldObject                             any
	dryRun                                        bool
}

func (r request) body(t testing.TB, version string) string {
	t.Helper()
	raw := func(o any) runtime.RawExtension {
		if o == nil {
			return runtime.RawExtension{}
		}
		text, err := json.Marshal(o)
		require.NoError(t, err)
		return runtime.RawExtension{Raw: text}
	}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "admission.k8s.io/" + version, "kind": "AdmissionReview",
		"request": &admissionv1.AdmissionRequest{
			UID: "1", Resource: metav1.GroupVersionResource{Group: r.group, Version: "v1", Resource: r.resource}, SubResource: r.subresource,
			Namespace: r.namespace, Name: r.name, Operation: r.operation, Object: raw(r.object), OldObject: raw(r.oldObject), DryRun: &r.dryRun,
		},
	})
	require.NoError(t, err)
	return string(text)
}

// review is the request as the webhook reads it.
func (r request) review(t testing.TB) *admissionv1.AdmissionRequest {
	t.Helper()
	var in review
	require.NoError(t, json.Unmarshal([]byte(r.body(t, "v1")), &in))
	return in.Request
}

func post(t testing.TB, server *httptest.Server, body string) (int, review, string) {
	t.Helper()
	response, err := http.Post(server.URL+"/validate?timeout=30s", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	var out review
	if response.StatusCode == http.StatusOK {
		require.NoError(t, json.Unmarshal(text, &out))
	}
	return response.StatusCode, out, string(text)
}

func role(name, label string, rule rbacv1.PolicyRule) *rbacv1.ClusterRole {
	r := purekubetest.ClusterRole(name, rule)
	if label != "" {
		r.Labels = map[string]string{label: "true"}
	}
	return r
}

func createsRole(r *rbacv1.ClusterRole) request {
	return request{group: rbacv1.GroupName, resource: "clusterroles", name: r.Name, operation: admissionv1.Create, object: r}
}

func updatesRole(from, to *rbacv1.ClusterRole) request {
	return request{group: rbacv1.GroupName, resource: "clusterroles", name: to.Name, operation: admissionv1.Update, object: to, oldObject: from}
}

func deletesCIDR(name, cidr string) request {
	return request{group: "networking.k8s.io", resource: "servicecidrs", name: name, operation: admissionv1.Delete, oldObject: purekubetest.ServiceCIDR(name, cidr)}
}

func evicts(name string) request {
	return request{resource: "pods", subresource: "eviction", namespace: "shop", name: name, operation: admissionv1.Create,
		object: &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}}
}

func TestDecisions(t *testing.T) {
	pods := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}
	secrets := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}}
	all := rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
	const cidrs, rbac = "networking.k8s.io", "rbac.authorization.k8s.io"
	webName := purekubetest.Deployment("shop/web", 2).Pods[0].Name
	for _, tc := range []struct {
		name, reason string
		request      request
		allowed      bool
		code         int32
		message      []string // parts
		warning      string
	}{
		{"a ServiceCIDR in use", "its addresses would have no range; the Services are named",
			request{group: cidrs, resource: "servicecidrs", name: "used", operation: admissionv1.Delete, oldObject: purekubetest.ServiceCIDR("used", "10.96.0.0/24")},
			false, 409, []string{"ServiceCIDR used is the only range of 10.96.0.7 (Service shop/web), 10.96.0.8 (Service shop/db)"}, ""},
		{"a free ServiceCIDR", "no address is in it",
			request{group: cidrs, resource: "servicecidrs", name: "free", operation: admissionv1.Delete, oldObject: purekubetest.ServiceCIDR("free", "10.97.0.0/24")}, true, 0, nil, ""},
		{"a ServiceCIDR that does not parse", "whether it is in use cannot be known",
			request{group: cidrs, resource: "servicecidrs", name: "used", operation: admissionv1.Delete, oldObject: purekubetest.ServiceCIDR("used", "10.96.0.0/33")},
			false, 409, []string{"cannot be known", "spec.cidrs[0]"}, ""},
		{"a role that gives view pods", "the allow-list covers it",
			request{group: rbac, resource: "clusterroles", name: "team", operation: admissionv1.Create, object: role("team", "to-view", pods)}, true, 0, nil, ""},
		{"a role that gives view secrets", "the allow-list does not cover it",
			request{group: rbac, resource: "clusterroles", name: "team", operation: admissionv1.Create, object: role("team", "to-view", secrets)},
			false, 403, []string{"ClusterRole view", `["get"] on ["secrets"] of [""]`}, ""},
		{"a role that is not aggregated", "it changes no protected role",
			request{group: rbac, resource: "clusterroles", name: "team", operation: admissionv1.Create, object: role("team", "", all)}, true, 0, nil, ""},
		{"view itself, replaced", "without its aggregationRule it has the rules that are written",
			request{group: rbac, resource: "clusterroles", name: "view", operation: admissionv1.Update, object: role("view", "", all), oldObject: purekubetest.AggregatedRole("view", "to-view")},
			false, 403, []string{"ClusterRole view", `["*"]`}, ""},
		{"view itself, with another selector", "it selects nothing that is not allowed",
			request{group: rbac, resource: "clusterroles", name: "view", operation: admissionv1.Update, object: purekubetest.AggregatedRole("view", "other"), oldObject: purekubetest.AggregatedRole("view", "to-view")}, true, 0, nil, ""},
		{"an eviction within the budget", "both pods are healthy, and the status is not written yet", evicts(webName), true, 0, nil, ""},
		{"an eviction beyond the budget", "the other pod is not ready", evicts("db-1"), false, 429, []string{"disruption budget"}, ""},
		{"an eviction of a pod that is not there", "the API server says so", evicts("nobody"), true, 0, nil, ""},
		{"a budget that lets no pod go", "its writer is warned",
			request{group: "policy", resource: "poddisruptionbudgets", namespace: "shop", name: "web", operation: admissionv1.Update, object: purekubetest.MaxUnavailable("shop/web", "0")},
			true, 0, nil, "never lets a pod go"},
		{"a budget that waits for a pod", "one more healthy pod, and it lets one go",
			request{group: "policy", resource: "poddisruptionbudgets", namespace: "shop", name: "db", operation: admissionv1.Update, object: purekubetest.MaxUnavailable("shop/db", "1")}, true, 0, nil, ""},
		{"another resource", "the webhook has nothing to say", request{group: "apps", resource: "deployments", operation: admissionv1.Delete}, true, 0, nil, ""},
	} {
		for _, version := range []string{"v1", "v1beta1"} {
			for _, dryRun := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/dryRun=%t", tc.name, version, dryRun), func(t *testing.T) {
					tc.request.dryRun = dryRun
					code, out, text := post(t, newServer(t, policy{}), tc.request.body(t, version))
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
	r := request{group: "policy", resource: "poddisruptionbudgets", namespace: "shop", name: "web", operation: admissionv1.Create, object: purekubetest.MaxUnavailable("shop/web", "0")}
	_, out, _ := post(t, newServer(t, policy{refuseBudgets: true}), r.body(t, "v1"))
	require.False(t, out.Response.Allowed)
	require.Contains(t, out.Response.Result.Message, "never lets a pod go")
}

// The scale of a custom resource is not watched: the API server's own handler decides, and the answer says so.
func TestEvictionOfAPodWithUnknownScale(t *testing.T) {
	s := cluster(t)
	p := purekubetest.Pod("shop/custom")
	p.Labels = map[string]string{"app": "custom"}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Game", Name: "g", UID: "g", Controller: new(bool)}}
	*p.OwnerReferences[0].Controller = true
	s.put(p, purekubetest.MaxUnavailable("shop/custom", "1"))
	a := policy{now: time.Now}.decide(t.Context(), s, evicts("custom").review(t))
	require.True(t, a.allowed)
	require.Len(t, a.warnings, 1)
	require.Contains(t, a.warnings[0], "Game shop/g")
}

// Whatever is sent gets an answer, and never a panic.
func TestMalformedReviews(t *testing.T) {
	server := newServer(t, policy{})
	deletion := func(old string) string {
		return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"DELETE","resource":{"group":"networking.k8s.io","version":"v1","resource":"servicecidrs"}` + old + `}}`
	}
	for _, tc := range []struct {
		name, body string
		want       int
	}{
		{"nothing", "", 400},
		{"no JSON", "{", 400},
		{"another kind", `{"apiVersion":"v1","kind":"Pod"}`, 400},
		{"another version", `{"apiVersion":"admission.k8s.io/v2","kind":"AdmissionReview","request":{"uid":"1"}}`, 400},
		{"no request", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, 400},
		{"null request", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}`, 400},
		{"no uid", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}}`, 400},
		// With a uid there is an answer: a refusal, whatever the failurePolicy says.
		{"no oldObject", deletion(""), 200},
		{"null oldObject", deletion(`,"oldObject":null`), 200},
		{"an oldObject that is no object", deletion(`,"oldObject":[1]`), 200},
		{"fields of other types", deletion(`,"oldObject":{"spec":{"cidrs":"x"}}`), 200},
		{"a body that is too large", strings.Repeat(" ", maxBody+1), 413},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, out, text := post(t, server, tc.body)
			require.Equal(t, tc.want, code, text)
			if code == http.StatusOK {
				require.False(t, out.Response.Allowed)
				require.EqualValues(t, http.StatusBadRequest, out.Response.Result.Code)
				require.Contains(t, out.Response.Result.Message, "oldObject cannot be read")
			}
		})
	}
	response, err := http.Post(server.URL+"/validate", "text/plain", strings.NewReader("{}"))
	require.NoError(t, err)
	require.Equal(t, http.StatusUnsupportedMediaType, response.StatusCode)
	response, err = http.Get(server.URL + "/validate")
	require.NoError(t, err)
	require.Equal(t, http.StatusMethodNotAllowed, response.StatusCode)
}

// Before all objects have been listed everything that the webhook judges is refused, whatever the failurePolicy says.
func TestNotReady(t *testing.T) {
	server := httptest.NewServer(newHandler(policy{}, newState(), func() bool { return false }, slog.New(slog.NewTextHandler(io.Discard, nil))))
	defer server.Close()
	response, err := http.Get(server.URL + "/readyz")
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	for _, tc := range []struct {
		request request
		code    int32
	}{
		{evicts("p"), http.StatusTooManyRequests}, // kubectl drain tries again
		{createsRole(role("team", "", rbacv1.PolicyRule{})), http.StatusServiceUnavailable},
		{deletesCIDR("free", "10.97.0.0/24"), http.StatusServiceUnavailable},
	} {
		code, out, text := post(t, server, tc.request.body(t, "v1"))
		require.Equal(t, http.StatusOK, code, text)
		require.False(t, out.Response.Allowed)
		require.Equal(t, tc.code, out.Response.Result.Code)
	}
	_, out, _ := post(t, server, request{group: "apps", resource: "deployments", operation: admissionv1.Delete}.body(t, "v1"))
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
		require.Error(t, run(t.Context(), args, slog.New(slog.NewTextHandler(io.Discard, nil))), args)
	}
}

// BenchmarkDecide answers reviews by an index of 100,000 objects.
func BenchmarkDecide(b *testing.B) {
	s := newState()
	var objects []runtime.Object
	for i := range 1000 {
		name := fmt.Sprintf("ns%02d/app%04d", i%50, i)
		w := purekubetest.Deployment(name, 90)
		for _, o := range w.Objects() {
			objects = append(objects, o)
		}
		objects = append(objects, purekubetest.MaxUnavailable(name, "1"))
	}
	for i := range 7000 {
		objects = append(objects, purekubetest.Address(fmt.Sprintf("10.96.%d.%d", i/250, i%250+1), "shop/web"))
	}
	objects = append(objects, purekubetest.ServiceCIDR("used", "10.96.0.0/16"), purekubetest.AggregatedRole("view", "to-view"))
	s.put(objects...)
	protected, err := readProtected([]byte(protectedYAML))
	require.NoError(b, err)
	p := policy{now: func() time.Time { return noon }, protected: protected}
	pod := objects[5].(*corev1.Pod)
	for name, r := range map[string]request{
		"evict":            {resource: "pods", subresource: "eviction", namespace: pod.Namespace, name: pod.Name, operation: admissionv1.Create, object: &policyv1.Eviction{}},
		"budget":           {group: "policy", resource: "poddisruptionbudgets", namespace: "ns07", name: "app0007", operation: admissionv1.Update, object: purekubetest.MaxUnavailable("ns07/app0007", "0")},
		"role":             {group: "rbac.authorization.k8s.io", resource: "clusterroles", name: "team", operation: admissionv1.Create, object: role("team", "to-view", rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}})},
		"refused role":     {group: "rbac.authorization.k8s.io", resource: "clusterroles", name: "team", operation: admissionv1.Create, object: role("team", "to-view", rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}})},
		"used ServiceCIDR": {group: "networking.k8s.io", resource: "servicecidrs", name: "used", operation: admissionv1.Delete, oldObject: purekubetest.ServiceCIDR("used", "10.96.0.0/16")},
		"free ServiceCIDR": {group: "networking.k8s.io", resource: "servicecidrs", name: "free", operation: admissionv1.Delete, oldObject: purekubetest.ServiceCIDR("free", "10.97.0.0/16")},
	} {
		in := r.review(b)
		dryRun := true // what is remembered would change the next answer
		in.DryRun = &dryRun
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if a := p.decide(b.Context(), s, in); a.code == http.StatusBadRequest {
					b.Fatal(a.message)
				}
			}
		})
	}
}
