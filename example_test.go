package purekube_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/servicecidr"
)

// May this ServiceCIDR go? The README shows the same code.
func Example() {
	snapshot := servicecidr.Snapshot{
		Now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		ServiceCIDRs: []*networkingv1.ServiceCIDR{{
			ObjectMeta: metav1.ObjectMeta{Name: "services", Finalizers: []string{servicecidr.Finalizer}},
			Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/24"}},
		}},
		IPAddresses: []*networkingv1.IPAddress{{
			ObjectMeta: metav1.ObjectMeta{Name: "10.96.0.7", Labels: map[string]string{
				networkingv1.LabelManagedBy:       servicecidr.ManagedBy,
				networkingv1.LabelIPAddressFamily: string(corev1.IPv4Protocol),
			}},
		}},
	}

	deletion, err := servicecidr.CheckDeletion(snapshot, servicecidr.Key("services"), 0, servicecidr.Options{})
	fmt.Println("may go:", deletion.Safe, "would orphan:", deletion.Orphans, "error:", err)

	result, err := servicecidr.Plan(snapshot, servicecidr.Key("services"), servicecidr.Options{})
	fmt.Println("to do:", result.Actions, "error:", err)
	// Output:
	// may go: false would orphan: [10.96.0.7] error: <nil>
	// to do: [SetCondition services: Ready=True] error: <nil>
}
