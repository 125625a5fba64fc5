// Package reviews makes the admission reviews that tests ask about, and the cluster that they are about.
package reviews

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube/purekubetest"
)

// Noon is the time of the tests.
var Noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Cluster is what the reviews are about: a used ServiceCIDR and a free one, view with one source, and two workloads
// under budgets. One pod of shop/db is not ready.
func Cluster() []runtime.Object {
	web, db := purekubetest.Deployment("shop/web", 2), purekubetest.StatefulSet("shop/db", 2)
	purekubetest.NotReady(db.Pods[0])
	objects := []runtime.Object{
		purekubetest.ServiceCIDR("used", "10.96.0.0/24"), purekubetest.ServiceCIDR("free", "10.97.0.0/24"),
		purekubetest.Address("10.96.0.7", "shop/web"), purekubetest.Address("10.96.0.8", "shop/db"),
		purekubetest.AggregatedRole("view", "to-view"),
		purekubetest.MaxUnavailable("shop/web", "1"), purekubetest.MaxUnavailable("shop/db", "1"),
	}
	for _, o := range append(web.Objects(), db.Objects()...) {
		objects = append(objects, o)
	}
	return objects
}

// Protected are the rules that view may get, and ProtectedYAML the same as a file.
var Protected = map[string][]rbacv1.PolicyRule{
	"view": {{APIGroups: []string{"*"}, Resources: []string{"pods", "services"}, Verbs: []string{"get", "list", "watch"}}},
}

// ProtectedYAML is Protected as a file.
const ProtectedYAML = `
view:
- {apiGroups: ["*"], resources: [pods, services], verbs: [get, list, watch]}
`

// Request is a review of one operation. Its version is v1 unless it says otherwise.
type Request struct {
	Group, Version, Resource, Subresource, Namespace, Name string
	Operation                                              admissionv1.Operation
	Object, OldObject                                      any
	DryRun                                                 bool
}

// Review is the request as a webhook reads it.
func (r Request) Review(t testing.TB) *admissionv1.AdmissionRequest {
	t.Helper()
	raw := func(o any) runtime.RawExtension {
		if o == nil {
			return runtime.RawExtension{}
		}
		text, err := json.Marshal(o)
		require.NoError(t, err)
		return runtime.RawExtension{Raw: text}
	}
	version := r.Version
	if version == "" {
		version = "v1"
	}
	return &admissionv1.AdmissionRequest{
		UID: "1", Resource: metav1.GroupVersionResource{Group: r.Group, Version: version, Resource: r.Resource},
		SubResource: r.Subresource,
		Namespace:   r.Namespace, Name: r.Name, Operation: r.Operation, Object: raw(r.Object), OldObject: raw(r.OldObject),
		DryRun: &r.DryRun,
	}
}

// Body is the AdmissionReview of that version as an API server sends it.
func (r Request) Body(t testing.TB, version string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"apiVersion": "admission.k8s.io/" + version, "kind": "AdmissionReview", "request": r.Review(t),
	})
	require.NoError(t, err)
	return string(text)
}

// Post sends a body to a webhook. It returns the status code, the answered review if the code is 200, and the answer's
// text.
func Post(
	t testing.TB, client *http.Client, url, body string,
) (code int, review admissionv1.AdmissionReview, text string) {
	t.Helper()
	response, err := client.Post(url, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	if response.StatusCode == http.StatusOK {
		require.NoError(t, json.Unmarshal(answer, &review))
	}
	return response.StatusCode, review, string(answer)
}

// Role is a ClusterRole with a rule, and with the label <label>=true unless that is empty.
func Role(name, label string, rule rbacv1.PolicyRule) *rbacv1.ClusterRole {
	r := purekubetest.ClusterRole(name, rule)
	if label != "" {
		r.Labels = map[string]string{label: "true"}
	}
	return r
}

// WritesRole is a write of a ClusterRole: a create without from, a delete without to.
func WritesRole(from, to *rbacv1.ClusterRole) Request {
	r := Request{Group: rbacv1.GroupName, Resource: "clusterroles", Operation: admissionv1.Update}
	switch {
	case from == nil:
		r.Operation, r.Name, r.Object = admissionv1.Create, to.Name, to
	case to == nil:
		r.Operation, r.Name, r.OldObject = admissionv1.Delete, from.Name, from
	default:
		r.Name, r.Object, r.OldObject = to.Name, to, from
	}
	return r
}

// DeletesCIDR is a deletion of a ServiceCIDR.
func DeletesCIDR(name, cidr string) Request {
	return Request{
		Group: networkingv1.GroupName, Resource: "servicecidrs", Name: name, Operation: admissionv1.Delete,
		OldObject: purekubetest.ServiceCIDR(name, cidr),
	}
}

// Evicts is an eviction of a pod of the namespace shop.
func Evicts(name string) Request {
	return Request{
		Resource: "pods", Subresource: "eviction", Namespace: "shop", Name: name, Operation: admissionv1.Create,
		Object: &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}},
	}
}

// WritesBudget is an update of a budget.
func WritesBudget(b *policyv1.PodDisruptionBudget) Request {
	return Request{
		Group: policyv1.GroupName, Resource: "poddisruptionbudgets", Namespace: b.Namespace, Name: b.Name,
		Operation: admissionv1.Update, Object: b,
	}
}
