package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/admission/memory"
	"github.com/purekube/purekube/admission/webhook"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/servicecidr"
)

// A webhook for evictions and budgets, and for deletions of ServiceCIDRs.
func Example() {
	store, options := memory.NewStore(memory.Options{}), admission.Options{}
	store.Put(purekubetest.MaxUnavailable("shop/web", "1")) // in the event handlers of your caches
	synced := func() bool { return true }                   // every handler has seen the initial list
	mux := http.NewServeMux()
	mux.Handle("/validate", webhook.New(func(ctx context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		if admission.ReadsServiceCIDRs(r) { // list them for the review, with ctx
			addresses := []*networkingv1.IPAddress{purekubetest.Address("10.96.0.7", "shop/web")}
			index := servicecidr.NewIndex(servicecidr.Snapshot{IPAddresses: addresses}, servicecidr.Options{})
			return admission.ServiceCIDRDelete(index, r)
		}
		return store.Review(r, synced(), time.Now(), options)
	}, webhook.Options{}))

	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodPost, "/validate", strings.NewReader(`{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"request": {
			"uid": "1", "operation": "DELETE", "name": "services",
			"resource": {"group": "networking.k8s.io", "version": "v1", "resource": "servicecidrs"},
			"oldObject": {"metadata": {"name": "services"}, "spec": {"cidrs": ["10.96.0.0/24"]}}
		}
	}`))
	request.Header.Set("Content-Type", "application/json")
	mux.ServeHTTP(answer, request)
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer.Body.Bytes(), &review); err != nil {
		panic(err)
	}
	fmt.Println(review.Response.Allowed, review.Response.Result.Message)
	// Output:
	// false ServiceCIDR services is the only range of 10.96.0.7 (Service shop/web)
}
