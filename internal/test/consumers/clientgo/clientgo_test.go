package clientgo

import (
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/resourceclaim"
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

// Every verb of a plan: a claim is created, named and reserved; then released, its finalizer removed, and deleted.
func TestDoCarriesOutEveryVerb(t *testing.T) {
	pod := purekubetest.Pod("ml/train-0")
	purekubetest.ClaimFor(pod, "gpu") // the entry; the claim itself is still to be made
	pod.Status.ResourceClaimStatuses = nil
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: *pod.Spec.ResourceClaims[0].ResourceClaimTemplateName}}
	server := apiserver.New(pod, template)
	client := serve(t, server)

	verbs := map[string]bool{}
	converge := func() {
		t.Helper()
		for range 10 {
			s := resourceclaim.Snapshot{Pods: apiserver.List[corev1.Pod](server), Templates: apiserver.List[resourcev1.ResourceClaimTemplate](server), Claims: apiserver.List[resourcev1.ResourceClaim](server)}
			outcomes, err := resourceclaim.PlanAll(s, resourceclaim.Options{})
			if err != nil {
				t.Fatal(err)
			}
			wrote := false
			for _, o := range outcomes {
				wrote = wrote || len(o.Result.Actions) > 0
				_, err := purekube.CarryOut(o.Result.Actions, func(r purekube.Request) (runtime.Object, error) {
					verbs[r.Verb] = true
					return Do(t.Context(), client, r)
				}, func(e purekube.Event) { t.Error(e) })
				if o.Err != nil || err != nil {
					t.Fatal(o.Key, o.Err, err)
				}
			}
			if !wrote {
				return
			}
		}
		t.Fatal("no rest")
	}

	converge()
	claims := apiserver.List[resourcev1.ResourceClaim](server)
	named := apiserver.List[corev1.Pod](server)[0].Status.ResourceClaimStatuses
	if len(claims) != 1 || len(named) != 1 || *named[0].ResourceClaimName != claims[0].Name {
		t.Fatalf("claims %v, named %v", claims, named)
	}

	claim := claims[0]
	claim.Finalizers = []string{resourcev1.Finalizer}
	claim.Status.Allocation = &resourcev1.AllocationResult{}
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: pod.UID}}
	server.Put(claim)
	server.Put(purekubetest.Ended(apiserver.List[corev1.Pod](server)[0]))
	converge()
	if left := apiserver.List[resourcev1.ResourceClaim](server); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	for _, verb := range []string{"create", "patch", "delete"} {
		if !verbs[verb] {
			t.Errorf("no %s was made", verb)
		}
	}
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
