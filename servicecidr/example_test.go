package servicecidr_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
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
	result, err := servicecidr.Plan(s, servicecidr.Key("more"), servicecidr.Options{})
	if err != nil {
		fmt.Println(err)
	}
	for _, action := range result.Actions {
		fmt.Println(action)
		fmt.Println("  ", action.Request(nil)) // what to send, for any client
	}
	// Output:
	// AddFinalizer more
	//    patch servicecidrs more
	// SetCondition more: Ready=True
	//    patch servicecidrs/status more
}

// Two equal ServiceCIDRs are deleted while a Service has an address in them. One of them goes; the
// other waits for the Service.
func ExamplePlanAll() {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	deleted := func(name string) *networkingv1.ServiceCIDR {
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
		ServiceCIDRs: []*networkingv1.ServiceCIDR{deleted("a"), deleted("b")},
		IPAddresses: []*networkingv1.IPAddress{{
			ObjectMeta: metav1.ObjectMeta{Name: "10.70.0.2", Labels: map[string]string{
				networkingv1.LabelManagedBy:       servicecidr.ManagedBy,
				networkingv1.LabelIPAddressFamily: "IPv4",
			}},
		}},
	}
	for _, release := range []purekube.Upstream{"", purekube.V1_36} {
		outcomes, err := servicecidr.PlanAll(s, servicecidr.Options{MatchUpstream: release})
		if err != nil {
			fmt.Println(err)
		}
		fmt.Printf("match %q\n", release)
		for _, o := range outcomes {
			fmt.Println(o.Key, o.Result.Actions, o.Err)
		}
	}
	// Output:
	// match ""
	// ServiceCIDR/a [RemoveFinalizer a] <nil>
	// ServiceCIDR/b [SetCondition b: Ready=False Terminating] <nil>
	// match "v1.36"
	// ServiceCIDR/a [RemoveFinalizer a] <nil>
	// ServiceCIDR/b [RemoveFinalizer b] <nil>
}

// inUse is a cluster with one ServiceCIDR whose IPv4 prefix is in use and whose IPv6 prefix lies in
// another one.
func inUse() servicecidr.Snapshot {
	s := servicecidr.Snapshot{
		Now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		ServiceCIDRs: []*networkingv1.ServiceCIDR{{
			ObjectMeta: metav1.ObjectMeta{Name: "shop", Finalizers: []string{servicecidr.Finalizer}},
			Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.60.0.0/24", "fd00::/112"}},
		}, {
			ObjectMeta: metav1.ObjectMeta{Name: "wide", Finalizers: []string{servicecidr.Finalizer}},
			Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{"fd00::/64"}},
		}},
	}
	for i, name := range []string{"10.60.0.11", "10.60.0.10", "fd00::7"} {
		family := "IPv4"
		if strings.Contains(name, ":") {
			family = "IPv6"
		}
		s.IPAddresses = append(s.IPAddresses, &networkingv1.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
				networkingv1.LabelManagedBy:       servicecidr.ManagedBy,
				networkingv1.LabelIPAddressFamily: family,
			}},
			Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{
				Resource: "services", Namespace: "shop", Name: []string{"cart", "checkout", "search"}[i],
			}},
		})
	}
	return s
}

// A webhook for deletions asks before the deletion begins, and names the Services in the way.
func ExampleIndex_CheckDeletion() {
	d, err := servicecidr.NewIndex(inUse(), servicecidr.Options{}).CheckDeletion(servicecidr.Key("shop"), 0)
	if err != nil {
		fmt.Println("denied:", err)
		return
	}
	for _, c := range d.Coverage {
		fmt.Println(c.Prefix, "is contained in", c.By)
	}
	if d.Safe {
		fmt.Println("allowed")
		return
	}
	fmt.Println("denied, would be orphaned:")
	for _, a := range d.Orphans {
		service, _ := a.Service()
		fmt.Println(a.Address, "of", service)
	}
	// Output:
	// 10.60.0.0/24 is contained in []
	// fd00::/112 is contained in [wide]
	// denied, would be orphaned:
	// 10.60.0.10 of shop/checkout
	// 10.60.0.11 of shop/cart
}

// Reasons are data: a code for programs, a sentence for people.
func ExampleIndex_Explain() {
	e, err := servicecidr.NewIndex(inUse(), servicecidr.Options{}).Explain(servicecidr.Key("shop"))
	if err != nil {
		fmt.Println(err)
	}
	for _, r := range e.Reasons {
		fmt.Printf("%s %q\n  %v\n", r.Code, r.Object.Name, r)
	}
	_, err = servicecidr.NewIndex(inUse(), servicecidr.Options{}).Explain(servicecidr.Key("none"))
	fmt.Println(errors.Is(err, purekube.ErrNotFound), err)
	// Output:
	// ConditionDiffers ""
	//   status.conditions: the condition Ready=True is missing or different
	// AddressesOrphaned "10.60.0.10"
	//   spec.cidrs[0]: 2 addresses would be orphaned: 10.60.0.10 (Service shop/checkout), 10.60.0.11 (Service shop/cart)
	// Contained "wide"
	//   spec.cidrs[1]: wide contains all addresses of fd00::/112
	// true ServiceCIDR none: not in the snapshot
}

func ExampleIndex_ExplainAll() {
	explanations, err := servicecidr.NewIndex(inUse(), servicecidr.Options{}).ExplainAll()
	if err != nil {
		fmt.Println(err)
	}
	for _, e := range explanations {
		fmt.Println(e.Key, "may go:", e.Deletion.Safe, "orphans:", e.Deletion.Orphans)
	}
	// Output:
	// ServiceCIDR/shop may go: false orphans: [10.60.0.10 (Service shop/checkout) 10.60.0.11 (Service shop/cart)]
	// ServiceCIDR/wide may go: true orphans: []
}

// What an event affects: With and Without name the keys to plan again.
func ExampleIndex_With() {
	index := servicecidr.NewIndex(inUse(), servicecidr.Options{})
	_, affected := index.With(servicecidr.Snapshot{IPAddresses: []*networkingv1.IPAddress{{
		ObjectMeta: metav1.ObjectMeta{Name: "fd00::8", Labels: map[string]string{
			networkingv1.LabelManagedBy:       servicecidr.ManagedBy,
			networkingv1.LabelIPAddressFamily: "IPv6",
		}},
	}}})
	fmt.Println(affected)
	// Output: [ServiceCIDR/shop ServiceCIDR/wide]
}

// An informer's handler: one call for each event, and the plans that it names. An index never
// changes, so that a question about what would be needs no lock either.
func ExampleIndex() {
	index := servicecidr.NewIndex(inUse(), servicecidr.Options{})

	gone := servicecidr.Snapshot{ServiceCIDRs: []*networkingv1.ServiceCIDR{{ObjectMeta: metav1.ObjectMeta{Name: "wide"}}}}
	without, affected := index.Without(gone)
	fmt.Println("to plan:", affected)
	for _, x := range []*servicecidr.Index{index, without} {
		d, err := x.CheckDeletion(servicecidr.Key("shop"), 0)
		if err != nil {
			fmt.Println(err)
		}
		fmt.Println(len(d.Orphans), "addresses would be orphaned")
	}
	// Output:
	// to plan: [ServiceCIDR/shop ServiceCIDR/wide]
	// 2 addresses would be orphaned
	// 3 addresses would be orphaned
}

// The network address and, IPv4 only, the broadcast address of a prefix are no Service's.
func ExamplePrefixContainsIP() {
	p := netip.MustParsePrefix("10.60.0.0/30")
	for a := p.Addr(); p.Contains(a); a = a.Next() {
		fmt.Println(a, servicecidr.PrefixContainsIP(p, a))
	}
	// Output:
	// 10.60.0.0 false
	// 10.60.0.1 true
	// 10.60.0.2 true
	// 10.60.0.3 false
}

// The key of a ServiceCIDR that is known by its name.
func ExampleKey() {
	fmt.Println(servicecidr.Key("services"))
	// Output: ServiceCIDR/services
}

// A queue holds keys.
func ExampleKeyOf() {
	fmt.Println(servicecidr.KeyOf(&networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "services"}}))
	// Output: ServiceCIDR/services
}
