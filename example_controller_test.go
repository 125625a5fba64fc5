package purekube_test

import (
	"fmt"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/servicecidr"
)

// A controller for ServiceCIDRs: plan, carry out, plan again. The cluster is an API server in memory here, and
// server.Do makes a call to it; with client-go, a client of k8s.io/client-go/dynamic takes its place.
func Example_controller() {
	created := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	server := apiserver.New(&networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: "services"},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/24"}},
	})
	record := func(e purekube.Event) { fmt.Println("event:", e.Reason) }
	for pass := 1; ; pass++ {
		snapshot := servicecidr.Snapshot{Now: created, ServiceCIDRs: apiserver.List[networkingv1.ServiceCIDR](server)}
		result, err := servicecidr.Plan(snapshot, servicecidr.Key("services"), servicecidr.Options{})
		fmt.Println("pass", pass, result.Actions, err)
		if len(result.Actions) == 0 {
			break
		}
		if _, err := purekube.CarryOut(result.Actions, server.Do, record); err != nil {
			fmt.Println("try again:", err)
		}
	}
	for _, condition := range apiserver.List[networkingv1.ServiceCIDR](server)[0].Status.Conditions {
		fmt.Println(condition.Type, condition.Status)
	}
	// Output:
	// pass 1 [AddFinalizer services SetCondition services: Ready=True] <nil>
	// pass 2 [] <nil>
	// Ready True
}
