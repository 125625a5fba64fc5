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
		Title: "two ServiceCIDRs with the same range are deleted together",
		Harm: "The address of a Service is in no ServiceCIDR. The API server reports ClusterIPOutOfRange and asks " +
			"you to recreate the Service",
		Since: "v1.29",
		Why: "The controller regards each of the two as the parent of the other, removes both finalizers, and " +
			"leaves the address of a Service in no range. By default, purekube orders ServiceCIDRs that are being " +
			"deleted by deletion timestamp and name. Each of them relies only on later ones, so that the last one " +
			"stays until its addresses are gone.",
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
		Title: "a ServiceCIDR with a CIDR that cannot be parsed",
		Harm: "The finalizer is removed while addresses are in use. An API server rejects such a CIDR, so the " +
			"object must have come from elsewhere",
		Since: "v1.29",
		Why: "The controller ignores the CIDR. A ServiceCIDR without a CIDR to check counts as contained in " +
			"another one, and its finalizer is removed. By default, purekube returns an error and keeps the " +
			"finalizer, because it does not know which addresses the object protects.",
		Given: func() []runtime.Object {
			return []runtime.Object{leaving(serviceRange("a", "10.0.0.0/33"), time.Hour), allocated("10.0.0.1")}
		},
		Run:      bothRanges,
		Upstream: `patch servicecidrs a (application/strategic-merge-patch+json): {"metadata":{"$deleteFromPrimitiveList/finalizers":["networking.k8s.io/service-cidr-finalizer"]}}`,
		Ours:     `error for a`,
	},
	{
		ID:    "D-3",
		Title: "the finalizer is removed from a new ServiceCIDR of the same name",
		Harm: "A newly created ServiceCIDR has no finalizer until the next pass. If it is deleted before then, the " +
			"deletion does not wait for its addresses",
		Since: "v1.29",
		Why: "Between the decision and the patch, the ServiceCIDR can be deleted and created again under its name. " +
			"The controller's patch then removes the finalizer from the new object. By default, the patch carries " +
			"the UID, and the API server rejects it for another object.",
		Given: func() []runtime.Object {
			return []runtime.Object{leaving(serviceRange("a", "10.0.0.0/24"), time.Hour)}
		},
		Run:      bothRanges,
		Upstream: `patch servicecidrs a (application/strategic-merge-patch+json): {"metadata":{"$deleteFromPrimitiveList/finalizers":["networking.k8s.io/service-cidr-finalizer"]}}`,
		Ours:     `patch servicecidrs a (application/strategic-merge-patch+json): {"metadata":{"$deleteFromPrimitiveList/finalizers":["networking.k8s.io/service-cidr-finalizer"],"uid":"uid-a"}}`,
	},
	{
		ID:    "D-4",
		Title: "a ServiceCIDR gets a second range and unblocks the deletion of another one",
		Harm: "A ServiceCIDR stays Terminating, although another ServiceCIDR contains its addresses, until some " +
			"other event or a restart of the controller",
		Since: "v1.33 (deletion of the other ServiceCIDR: v1.29)",
		Why: "The controller looks at overlapping ServiceCIDRs only when one is added. When a ServiceCIDR changes " +
			"from single stack to dual stack, or is removed, the deletions that this unblocks or blocks are " +
			"decided at a later event, if there is one. By default, With and Without return the keys of these " +
			"ServiceCIDRs.",
		Setting: "The ServiceCIDR b becomes dual stack: 10.0.0.0/23 is added to its CIDRs. From then on b contains a.",
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
		Title: "a parent ServiceCIDR that has no finalizer yet",
		Harm: "If the parent is deleted before it gets its finalizer, the address of a Service is in no ServiceCIDR " +
			"(see D-1)",
		Since: "v1.29",
		Why: "The controller relies on any other ServiceCIDR that contains the addresses. A ServiceCIDR without " +
			"the finalizer can be deleted and gone before the finalizer of this one is removed; its addresses are " +
			"then in no range. By default, purekube does not rely on a ServiceCIDR without the finalizer. The " +
			"plan of that ServiceCIDR adds the finalizer, and the event of this write makes you plan the first " +
			"one again.",
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
		Title: "the condition is written to a new ServiceCIDR of the same name",
		Harm:  "A newly created ServiceCIDR shows the Ready condition of its predecessor until the next pass",
		Since: "v1.29",
		Why: "The controller's apply identifies the object by its name only. An object that was deleted and " +
			"created again gets the condition of its predecessor. By default, the apply carries the UID, and the " +
			"API server rejects it for another object.",
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
