package fake_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/admission/webhook"
	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/clientgo/fake"
	"github.com/purekube/purekube/purekubetest"
)

// reviewed posts a review, as an API server does, and returns the answer.
func reviewed(t *testing.T, url string, r admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	t.Helper()
	r.UID = "1"
	review := admissionv1.AdmissionReview{Request: &r}
	review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	answer, err := http.Post(url, "application/json", bytes.NewReader(must(json.Marshal(review))))
	require.NoError(t, err)
	defer answer.Body.Close()
	var got admissionv1.AdmissionReview
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&got))
	return got.Response
}

// A webhook over the fakes: a ServiceCIDR without addresses may be deleted, and one of two pods evicted.
func TestWebhook(t *testing.T) {
	web := purekubetest.Deployment("shop/web", 2)
	used, spare := purekubetest.ServiceCIDR("used", "10.0.0.0/24"), purekubetest.ServiceCIDR("spare", "10.1.0.0/24")
	clientset := fake.NewClientset(web.Objects(used, spare, purekubetest.Address("10.0.0.7", "shop/web"), purekubetest.MinAvailable("shop/web", "1"))...)
	factory := informers.NewSharedInformerFactory(clientset, 0)
	handler, err := clientgo.NewWebhook(clientgo.FromFactory(factory), clientset, admission.Options{}, webhook.Options{})
	require.NoError(t, err)
	factory.Start(t.Context().Done())
	require.Eventually(t, func() bool { return handler.Ready() == nil }, patience, time.Millisecond)
	server := httptest.NewServer(handler)
	defer server.Close()

	deletion := func(o purekubetest.Object) admissionv1.AdmissionRequest {
		return admissionv1.AdmissionRequest{
			Resource:  metav1.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "servicecidrs"},
			Operation: admissionv1.Delete, Name: o.GetName(), OldObject: runtime.RawExtension{Raw: must(json.Marshal(o))},
		}
	}
	refused := reviewed(t, server.URL, deletion(used))
	require.False(t, refused.Allowed)
	require.Equal(t, "ServiceCIDR used is the only range of 10.0.0.7 (Service shop/web)", refused.Result.Message)
	require.True(t, reviewed(t, server.URL, deletion(spare)).Allowed)

	eviction := func(pod string) admissionv1.AdmissionRequest {
		e := policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: pod}}
		return admissionv1.AdmissionRequest{
			Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, SubResource: "eviction",
			Operation: admissionv1.Create, Namespace: "shop", Name: pod, Object: runtime.RawExtension{Raw: must(json.Marshal(e))},
		}
	}
	require.True(t, reviewed(t, server.URL, eviction(web.Pods[0].Name)).Allowed)
	refused = reviewed(t, server.URL, eviction(web.Pods[1].Name))
	require.False(t, refused.Allowed)
	require.EqualValues(t, http.StatusTooManyRequests, refused.Result.Code)
}
