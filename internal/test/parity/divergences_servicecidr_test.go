package parity

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/servicecidr"
)

var servicecidrDivergences = []divergence{
	{
		ID:    "D-1",
		Title: "two equal ServiceCIDRs leave together",
		Why: "Upstream lets each of the two count as the one that contains the other's addresses, removes both finalizers, " +
			"and the address of a Service is in no range any more. In the default those that are being deleted are ordered, by deletion " +
			"timestamp and name, and rely only on later ones: all but the last can go, and the last one stays until its addresses are gone.",
		Given: func() []runtime.Object {
			return []runtime.Object{
				leaving(serviceRange("a", "10.0.0.0/24"), time.Hour), leaving(serviceRange("b", "10.0.0.0/24"), time.Hour), allocated("10.0.0.1"),
			}
		},
		Run: bothRanges,
		Upstream: `patch servicecidrs a (application/strategic-merge-patch+json): {"metadata":{"$deleteFromPrimitiveList/finalizers":["networking.k8s.io/service-cidr-finalizer"]}}` + "\n" +
			`patch servicecidrs b (application/strategic-merge-patch+json): {"metadata":{"$deleteFromPrimitiveList/finalizers":["networking.k8s.io/service-cidr-finalizer"]}}`,
		Ours: `patch servicecidrs a (application/strategic-merge-patch+json): {"metadata":{"$deleteFromPrimitiveList/finalizers":["networking.k8s.io/service-cidr-finalizer"],"uid":"uid-a"}}` + "\n" +
			`apply servicecidrs/status b by service-cidr-controller with force: {"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":"b","uid":"uid-b"},` +
			`"status":{"conditions":[{"lastTransitionTime":"2000-01-01T00:00:00Z","message":"There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR","reason":"Terminating","status":"False","type":"Ready"}]}}`,
	},
	{
		ID:    "D-2",
		Title: "a CIDR that does not parse",
		Why: "Upstream passes over it, and a ServiceCIDR without a prefix to check counts as contained: the finalizer goes. The default " +
			"cannot tell what such an object protects, says so, and keeps the finalizer.",
		Given: func() []runtime.Object {
			return []runtime.Object{leaving(serviceRange("a", "10.0.0.0/33"), time.Hour), allocated("10.0.0.1")}
		},
		Run:      bothRanges,
		Upstream: `patch servicecidrs a (application/strategic-merge-patch+json): {"metadata":{"$deleteFromPrimitiveList/finalizers":["networking.k8s.io/service-cidr-finalizer"]}}`,
		Ours:     `error for a`,
	},
	{
		ID:    "D-3",
		Title: "the finalizer of this object, not of the next one of its name",
		Why: "Between the decision and the patch the object may have gone and come again under its name. Upstream's patch then takes " +
			"the finalizer off the new object; the default's carries the UID, which the server refuses for another object.",
		Given: func() []runtime.Object {
			return []runtime.Object{leaving(serviceRange("a", "10.0.0.0/24"), time.Hour)}
		},
		Run:      bothRanges,
		Upstream: `patch servicecidrs a (application/strategic-merge-patch+json): {"metadata":{"$deleteFromPrimitiveList/finalizers":["networking.k8s.io/service-cidr-finalizer"]}}`,
		Ours:     `patch servicecidrs a (application/strategic-merge-patch+json): {"metadata":{"$deleteFromPrimitiveList/finalizers":["networking.k8s.io/service-cidr-finalizer"],"uid":"uid-a"}}`,
	},
	{
		ID:    "D-4",
		Title: "a ServiceCIDR that grows and unblocks another",
		Why: "Upstream looks at the overlapping ServiceCIDRs only when one is added. When one goes from single to dual stack, or goes altogether, " +
			"the deletions that this unblocks or blocks are decided at some other event, if one comes. The default names them.",
		Setting: "The ServiceCIDR b becomes dual stack: 10.0.0.0/23 is added to its prefixes. From then on a is contained in it.",
		Given: func() []runtime.Object {
			a := leaving(serviceRange("a", "10.0.0.0/24"), time.Hour)
			a.Status.Conditions[0] = metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Terminating", LastTransitionTime: metav1.NewTime(Epoch),
				Message: "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"}
			return []runtime.Object{a, settled(serviceRange("b", "fd00::/112")), allocated("10.0.0.1")}
		},
		Run: func(t *testing.T, given []runtime.Object) (upstream, ours string) {
			s := rangesOf(given)
			grown := s.ServiceCIDRs[1].DeepCopy()
			grown.Spec.CIDRs = append(grown.Spec.CIDRs, "10.0.0.0/23")
			Run(t, given, startServiceCIDR, func(t *testing.T, w *World) {
				require.Empty(t, w.Settle())
				w.Update(grown)
				upstream = w.Settle().String()
			})
			before := s.ServiceCIDRs[1]
			s.ServiceCIDRs[1] = grown
			var trace Trace
			for _, name := range affectedRanges(s, servicecidr.Snapshot{ServiceCIDRs: someOf(before)}, servicecidr.Snapshot{ServiceCIDRs: someOf(grown)}, servicecidr.Options{}) {
				result, err := servicecidr.Plan(s, servicecidr.Key(name), servicecidr.Options{})
				require.NoError(t, err)
				trace.Requests = append(trace.Requests, Planned(&Answers{}, result.Actions)...)
			}
			return upstream, trace.String()
		},
		Upstream: `nothing`,
		Ours:     `patch servicecidrs a (application/strategic-merge-patch+json): {"metadata":{"$deleteFromPrimitiveList/finalizers":["networking.k8s.io/service-cidr-finalizer"],"uid":"uid-a"}}`,
	},
	{
		ID:    "D-25",
		Title: "a ServiceCIDR that nothing holds yet",
		Why: "Upstream relies on any other ServiceCIDR that contains the addresses, although one without the finalizer can be deleted, and gone, before " +
			"the finalizer of this one is removed. Then the addresses are in no range. In the default a ServiceCIDR without the finalizer covers nothing; its " +
			"own plan adds the finalizer, and the event of that brings the other one back.",
		Given: func() []runtime.Object {
			b := settled(serviceRange("b", "10.0.0.0/16"))
			b.Finalizers = nil
			return []runtime.Object{leaving(serviceRange("a", "10.0.0.0/24"), time.Hour), b, allocated("10.0.0.1")}
		},
		Run: bothRanges,
		Upstream: `patch servicecidrs a (application/strategic-merge-patch+json): {"metadata":{"$deleteFromPrimitiveList/finalizers":["networking.k8s.io/service-cidr-finalizer"]}}` + "\n" +
			`patch servicecidrs b (application/strategic-merge-patch+json): {"metadata":{"finalizers":["networking.k8s.io/service-cidr-finalizer"]}}`,
		Ours: `apply servicecidrs/status a by service-cidr-controller with force: {"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":"a","uid":"uid-a"},` +
			`"status":{"conditions":[{"lastTransitionTime":"2000-01-01T00:00:00Z","message":"There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR","reason":"Terminating","status":"False","type":"Ready"}]}}` + "\n" +
			`patch servicecidrs b (application/strategic-merge-patch+json): {"metadata":{"finalizers":["networking.k8s.io/service-cidr-finalizer"]}}`,
	},
	{
		ID:    "D-26",
		Title: "the condition of this object, not of the next one of its name",
		Why: "Upstream's apply names the object by its name only, so that one that was made anew under that name gets the condition of the one before. " +
			"The default's carries the UID, which the server refuses for another object.",
		Given: func() []runtime.Object {
			a := settled(serviceRange("a", "10.0.0.0/24"))
			a.Status.Conditions = nil
			return []runtime.Object{a}
		},
		Run: bothRanges,
		Upstream: `apply servicecidrs/status a by service-cidr-controller with force: {"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":"a"},` +
			`"status":{"conditions":[{"lastTransitionTime":"2000-01-01T00:00:00Z","message":"Kubernetes Service CIDR is ready","reason":"","status":"True","type":"Ready"}]}}`,
		Ours: `apply servicecidrs/status a by service-cidr-controller with force: {"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":"a","uid":"uid-a"},` +
			`"status":{"conditions":[{"lastTransitionTime":"2000-01-01T00:00:00Z","message":"Kubernetes Service CIDR is ready","reason":"","status":"True","type":"Ready"}]}}`,
	},
}

func bothRanges(t *testing.T, given []runtime.Object) (upstream, ours string) {
	s := rangesOf(given)
	outcomes, err := servicecidr.PlanAll(s, servicecidr.Options{})
	require.NoError(t, err)
	trace := rangeTrace(outcomes)
	for _, o := range outcomes {
		if o.Err != nil {
			trace.Failed = append(trace.Failed, o.Key.Name)
		}
	}
	return servicecidrCore.RunUpstream(t, s).String(), trace.String()
}

func rangesOf(objects []runtime.Object) servicecidr.Snapshot {
	s := servicecidr.Snapshot{Now: Epoch}
	for _, o := range objects {
		switch o := o.(type) {
		case *networkingv1.ServiceCIDR:
			s.ServiceCIDRs = append(s.ServiceCIDRs, o)
		case *networkingv1.IPAddress:
			s.IPAddresses = append(s.IPAddresses, o)
		}
	}
	return s
}

// settled is a ServiceCIDR that needs nothing.
func settled(c *networkingv1.ServiceCIDR) *networkingv1.ServiceCIDR {
	c.Finalizers = []string{servicecidr.Finalizer}
	c.Status.Conditions = []metav1.Condition{{
		Type: "Ready", Status: metav1.ConditionTrue, Message: "Kubernetes Service CIDR is ready", LastTransitionTime: metav1.NewTime(Epoch),
	}}
	return c
}

// leaving is a ServiceCIDR whose deletion began some time ago.
func leaving(c *networkingv1.ServiceCIDR, ago time.Duration) *networkingv1.ServiceCIDR {
	settled(c).DeletionTimestamp = &metav1.Time{Time: Epoch.Add(-ago)}
	return c
}

// allocated is the address of a Service, IPv4.
func allocated(address string) *networkingv1.IPAddress {
	return &networkingv1.IPAddress{ObjectMeta: metav1.ObjectMeta{
		Name: address, UID: types.UID("uid-" + address),
		Labels: map[string]string{networkingv1.LabelManagedBy: servicecidr.ManagedBy, networkingv1.LabelIPAddressFamily: "IPv4"},
	}}
}
