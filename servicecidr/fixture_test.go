package servicecidr_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/servicecidr"
)

// now is the time of all snapshots here; deletions began long before, unless a test says when.
var (
	now     = time.Date(2026, 11, 21, 1, 11, 30, 0, time.UTC)
	longAgo = now.Add(-time.Hour)
	first   = longAgo
	second  = longAgo.Add(time.Second)
	third   = longAgo.Add(2 * time.Second)
)

const (
	readyMessage       = "Kubernetes Service CIDR is ready"
	terminatingMessage = "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"
)

type change func(*networkingv1.ServiceCIDR)

// cidr is a settled ServiceCIDR: protected and Ready.
func cidr(name string, prefixes []string, changes ...change) *networkingv1.ServiceCIDR {
	c := &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid(name), Finalizers: []string{servicecidr.Finalizer}},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: prefixes},
		Status:     networkingv1.ServiceCIDRStatus{Conditions: []metav1.Condition{ready(longAgo)}},
	}
	for _, change := range changes {
		change(c)
	}
	return c
}

func uid(name string) types.UID { return types.UID("uid-of-" + name) }

func of(prefixes ...string) []string { return prefixes }

func deletedAt(t time.Time) change {
	return func(c *networkingv1.ServiceCIDR) { c.DeletionTimestamp = &metav1.Time{Time: t} }
}

func finalizers(f ...string) change {
	return func(c *networkingv1.ServiceCIDR) { c.Finalizers = f }
}

func conditions(cs ...metav1.Condition) change {
	return func(c *networkingv1.ServiceCIDR) { c.Status.Conditions = cs }
}

func ready(at time.Time) metav1.Condition {
	return metav1.Condition{Type: "Ready", Status: "True", Message: readyMessage, LastTransitionTime: metav1.NewTime(at)}
}

func terminating(at time.Time) metav1.Condition {
	return metav1.Condition{Type: "Ready", Status: "False", Reason: "Terminating", Message: terminatingMessage, LastTransitionTime: metav1.NewTime(at)}
}

// ip is an IPAddress as the API server's allocator makes it.
func ip(name string) *networkingv1.IPAddress {
	family := "IPv4"
	if a, err := netip.ParseAddr(name); err == nil && a.Is6() {
		family = "IPv6"
	}
	return labelled(name, map[string]string{
		"ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
		"ipaddress.kubernetes.io/ip-family":  family,
	})
}

func labelled(name string, labels map[string]string) *networkingv1.IPAddress {
	return &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: "shop", Name: "s-" + name}},
	}
}

func ips(names ...string) []*networkingv1.IPAddress {
	var all []*networkingv1.IPAddress
	for _, n := range names {
		all = append(all, ip(n))
	}
	return all
}

func cidrs(all ...*networkingv1.ServiceCIDR) []*networkingv1.ServiceCIDR { return all }

func snapshotOf(cs []*networkingv1.ServiceCIDR, addresses ...string) servicecidr.Snapshot {
	return servicecidr.Snapshot{Now: now, ServiceCIDRs: cs, IPAddresses: ips(addresses...)}
}

// keys are the keys of the ServiceCIDRs of these names; nil for none.
func keys(names ...string) []purekube.Key {
	var all []purekube.Key
	for _, name := range names {
		all = append(all, servicecidr.Key(name))
	}
	return all
}

// affected is what an Index names when an object is added (oldObj is nil), updated or deleted (newObj is nil) and the
// snapshot is what it is afterwards.
func affected(t *testing.T, after servicecidr.Snapshot, oldObj, newObj servicecidr.Snapshot, o servicecidr.Options) []purekube.Key {
	t.Helper()
	before := servicecidr.NewIndex(theContract.With(theContract.Without(after, newObj), oldObj), o)
	if len(newObj.ServiceCIDRs)+len(newObj.IPAddresses) > 0 {
		_, named := before.With(newObj)
		return named
	}
	_, named := before.Without(oldObj)
	return named
}

// affectedByServiceCIDR is affected for a ServiceCIDR; nil is none.
func affectedByServiceCIDR(t *testing.T, after servicecidr.Snapshot, oldObj, newObj *networkingv1.ServiceCIDR, o servicecidr.Options) []purekube.Key {
	t.Helper()
	snapshot := func(c *networkingv1.ServiceCIDR) (s servicecidr.Snapshot) {
		if c != nil {
			s.ServiceCIDRs = cidrs(c)
		}
		return s
	}
	return affected(t, after, snapshot(oldObj), snapshot(newObj), o)
}

// affectedByIPAddress is affected for an IPAddress; nil is none.
func affectedByIPAddress(t *testing.T, after servicecidr.Snapshot, oldObj, newObj *networkingv1.IPAddress, o servicecidr.Options) []purekube.Key {
	t.Helper()
	snapshot := func(a *networkingv1.IPAddress) (s servicecidr.Snapshot) {
		if a != nil {
			s.IPAddresses = []*networkingv1.IPAddress{a}
		}
		return s
	}
	return affected(t, after, snapshot(oldObj), snapshot(newObj), o)
}

// orphans are the addresses of these IPAddresses, as ip makes them.
func orphans(names ...string) []servicecidr.Orphan {
	var all []servicecidr.Orphan
	for _, n := range names {
		all = append(all, servicecidr.Orphan{Address: netip.MustParseAddr(n), IPAddress: n, Parent: *ip(n).Spec.ParentRef})
	}
	return all
}

// addressesOf are the addresses of orphans, each once.
func addressesOf(orphans []servicecidr.Orphan) []netip.Addr {
	var all []netip.Addr
	for _, a := range orphans {
		all = append(all, a.Address)
	}
	return slices.Compact(all)
}

// anyPrefix reports whether a prefix of the ServiceCIDR has the property.
func anyPrefix(x *networkingv1.ServiceCIDR, property func(netip.Prefix) bool) bool {
	return slices.ContainsFunc(x.Spec.CIDRs, func(text string) bool {
		p, err := netip.ParsePrefix(text)
		return err == nil && property(p)
	})
}

// planAll is PlanAll without the error about the snapshot as a whole.
func planAll(s servicecidr.Snapshot, o servicecidr.Options) []servicecidr.Outcome {
	outcomes, _ := servicecidr.PlanAll(s, o)
	return outcomes
}

var (
	upstream = servicecidr.Options{MatchUpstream: purekube.V1_36}
	careful  = servicecidr.Options{}
)

func diff(want, got any) string {
	return cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}))
}

func outcomeOf(outcomes []servicecidr.Outcome, name string) servicecidr.Outcome {
	i := slices.IndexFunc(outcomes, func(o servicecidr.Outcome) bool { return o.Key.Name == name })
	if i < 0 {
		return servicecidr.Outcome{Key: servicecidr.Key(name)}
	}
	return outcomes[i]
}

// removed are the names that lose their finalizer.
func removed(outcomes []servicecidr.Outcome) []string {
	var names []string
	for _, o := range outcomes {
		for _, a := range o.Result.Actions {
			if r, ok := a.(servicecidr.RemoveFinalizer); ok {
				names = append(names, r.Name)
			}
		}
	}
	return names
}
