package clientgo

import (
	"net/http/httptest"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/servicecidr"
)

// serve is an API server for the writes of plans: the one in memory, by HTTP.
func serve(t *testing.T, server *apiserver.Server) dynamic.Interface {
	t.Helper()
	listener := httptest.NewServer(&apiserver.Handler{Server: server})
	t.Cleanup(listener.Close)
	client, err := dynamic.NewForConfig(&rest.Config{Host: listener.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// A refusal is an error of apimachinery, and the answer that goes with it is nil, not a nil pointer.
func TestDoReportsRefusals(t *testing.T) {
	client := serve(t, apiserver.New())
	answer, err := Do(t.Context(), client, servicecidr.AddFinalizer{Name: "gone", UID: "1"}.Request(nil))
	if answer != nil || !apierrors.IsNotFound(err) {
		t.Errorf("%v, %v", answer, err)
	}
	if _, err := Do(t.Context(), client, purekube.Request{Verb: "approve", Resource: networkingv1.SchemeGroupVersion.WithResource("servicecidrs")}); err == nil {
		t.Error("an unknown verb is carried out")
	}
}
