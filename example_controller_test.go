package purekube_test

import (
	"errors"
	"fmt"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/servicecidr"
)

// carryOut makes the calls of a plan, of any package. do makes one call with your client, and record is your
// event recorder. Plan again when carryOut returns an error.
func carryOut[A purekube.Action](actions []A, do func(purekube.Request) (runtime.Object, error), record func(purekube.Event)) error {
	var done []runtime.Object
	var failed []error
	for _, action := range actions {
		request := action.Request(done)
		if request.Err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", action, request.Err))
		}
		object, err := do(request)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", action, err))
			if reporter, ok := purekube.Action(action).(purekube.FailureReporter); ok {
				if event, ok := reporter.FailureEvent(err); ok {
					record(event)
				}
			}
			if !request.GoOn {
				break
			}
			object = nil // the actions behind it know it as a call that failed
		}
		done = append(done, object)
	}
	return errors.Join(failed...)
}

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
		result, err := servicecidr.Plan(snapshot, "services", servicecidr.Options{})
		fmt.Println("pass", pass, result.Actions, err)
		if len(result.Actions) == 0 {
			break
		}
		if err := carryOut(result.Actions, server.Do, record); err != nil {
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
