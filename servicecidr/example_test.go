package servicecidr_test

import (
	"fmt"
	"net/netip"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/servicecidr"
)

// A controller plans one ServiceCIDR after an event, and carries the actions out in order.
func ExamplePlan() {
	fresh := &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: "more"},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.1.0.0/16"}},
	}
	s := servicecidr.Snapshot{
		Now:          time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		ServiceCIDRs: []*networkingv1.ServiceCIDR{fresh},
	}
	result, err := servicecidr.Plan(s, "more", servicecidr.Options{})
	if err != nil {
		fmt.Println(err)
	}
	for _, action := range result.Actions {
		switch a := action.(type) {
		case servicecidr.AddFinalizer:
			kind, body := a.Patch() // client.ServiceCIDRs().Patch(ctx, a.Name, kind, body, …)
			fmt.Println(a, kind, string(body))
		case servicecidr.SetCondition:
			kind, _ := a.Patch() // the same, of the subresource "status", with FieldManager and force
			fmt.Println(a, kind)
		case servicecidr.RemoveFinalizer:
			fmt.Println("not now")
		}
	}
	// Output:
	// AddFinalizer more application/strategic-merge-patch+json {"metadata":{"finalizers":["networking.k8s.io/service-cidr-finalizer"]}}
	// SetCondition more: Ready=True application/apply-patch+yaml
}

// Two ServiceCIDRs of one range are deleted while a Service lives in it. The one goes; the other
// waits for the Service.
func ExamplePlanAll() {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	twin := func(name string) *networkingv1.ServiceCIDR {
		return &networkingv1.ServiceCIDR{
			ObjectMeta: metav1.ObjectMeta{
				Name:              name,
				Finalizers:        []string{servicecidr.Finalizer},
				DeletionTimestamp: &metav1.Time{Time: now.Add(-time.Minute)},
			},
			Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.70.0.0/28"}},
		}
	}
	s := servicecidr.Snapshot{
		Now:          now,
		ServiceCIDRs: []*networkingv1.ServiceCIDR{twin("twin-a"), twin("twin-b")},
		IPAddresses: []*networkingv1.IPAddress{{
			ObjectMeta: metav1.ObjectMeta{Name: "10.70.0.2", Labels: map[string]string{
				networkingv1.LabelManagedBy:       servicecidr.ManagedBy,
				networkingv1.LabelIPAddressFamily: "IPv4",
			}},
		}},
	}
	for _, o := range servicecidr.PlanAll(s, servicecidr.Options{}) {
		fmt.Println(o.Key, o.Result.Actions)
	}
	fmt.Println("kube-controller-manager:")
	for _, o := range servicecidr.PlanAll(s, servicecidr.Options{MatchUpstream: true}) {
		fmt.Println(o.Key, o.Result.Actions)
	}
	// Output:
	// twin-a [RemoveFinalizer twin-a]
	// twin-b [SetCondition twin-b: Ready=False Terminating]
	// kube-controller-manager:
	// twin-a [RemoveFinalizer twin-a]
	// twin-b [RemoveFinalizer twin-b]
}

// A webhook for deletions asks before the deletion begins.
func ExampleCheckDeletion() {
	s := servicecidr.Snapshot{
		Now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		ServiceCIDRs: []*networkingv1.ServiceCIDR{{
			ObjectMeta: metav1.ObjectMeta{Name: "shop"},
			Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.60.0.0/24", "fd00::/112"}},
		}, {
			ObjectMeta: metav1.ObjectMeta{Name: "wide"},
			Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{"fd00::/64"}},
		}},
	}
	for _, name := range []string{"10.60.0.11", "10.60.0.10", "fd00::7"} {
		family := "IPv6"
		if netip.MustParseAddr(name).Is4() {
			family = "IPv4"
		}
		s.IPAddresses = append(s.IPAddresses, &networkingv1.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
				networkingv1.LabelManagedBy:       servicecidr.ManagedBy,
				networkingv1.LabelIPAddressFamily: family,
			}},
		})
	}
	d, err := servicecidr.CheckDeletion(s, "shop", servicecidr.Options{})
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println("safe:", d.Safe)
	for _, c := range d.Coverage {
		fmt.Println(c.Prefix, "is contained in", c.By)
	}
	fmt.Println("would be left without a range:", d.Orphans)
	// Output:
	// safe: false
	// 10.60.0.0/24 is contained in []
	// fd00::/112 is contained in [wide]
	// would be left without a range: [10.60.0.10 10.60.0.11]
}
