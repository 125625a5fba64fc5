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
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	cidr := &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{
			Name:              "services",
			DeletionTimestamp: &metav1.Time{Time: now.Add(-time.Minute)},
			Finalizers:        []string{servicecidr.Finalizer},
		},
		Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/24"}},
	}
	inUse := &networkingv1.IPAddress{ObjectMeta: metav1.ObjectMeta{Name: "10.96.0.7", Labels: map[string]string{
		networkingv1.LabelManagedBy:       servicecidr.ManagedBy,
		networkingv1.LabelIPAddressFamily: string(corev1.IPv4Protocol),
	}}}

	snapshot := servicecidr.Snapshot{Now: now, ServiceCIDRs: []*networkingv1.ServiceCIDR{cidr}, IPAddresses: []*networkingv1.IPAddress{inUse}}
	deletion, _ := servicecidr.CheckDeletion(snapshot, "services", servicecidr.Options{})
	fmt.Println("safe to delete:", deletion.Safe, "would be orphaned:", deletion.Orphans)

	result, _ := servicecidr.Plan(snapshot, "services", servicecidr.Options{})
	for _, action := range result.Actions {
		fmt.Println(action)
	}
	// Output:
	// safe to delete: false would be orphaned: [10.96.0.7]
	// SetCondition services: Ready=False Terminating
}
