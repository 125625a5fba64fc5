package model

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube/servicecidr"
)

var (
	serviceCIDRs = networkingv1.SchemeGroupVersion.WithResource("servicecidrs")
	ipAddresses  = networkingv1.SchemeGroupVersion.WithResource("ipaddresses")
)

// rangesOf is a snapshot of one object.
func rangesOf(o Object) (s servicecidr.Snapshot) {
	switch o := o.(type) {
	case *networkingv1.ServiceCIDR:
		s.ServiceCIDRs = append(s.ServiceCIDRs, o)
	case *networkingv1.IPAddress:
		s.IPAddresses = append(s.IPAddresses, o)
	}
	return s
}

// serviceCIDRController is the package as a controller.
func serviceCIDRController(o servicecidr.Options) Controller {
	snapshot := func(v *View) servicecidr.Snapshot {
		return servicecidr.Snapshot{Now: v.Now, ServiceCIDRs: All[*networkingv1.ServiceCIDR](v), IPAddresses: All[*networkingv1.IPAddress](v)}
	}
	return Controller{
		Keys: func(v *View) []string {
			var keys []string
			for _, c := range All[*networkingv1.ServiceCIDR](v) {
				keys = append(keys, c.Name)
			}
			return keys
		},
		Plan: func(v *View, key string, _ *View) Decision {
			r, err := servicecidr.Plan(snapshot(v), servicecidr.Key(key), o)
			return Decision{Actions(r.Actions), r.Needs, r.RecheckAt, err}
		},
		Affected: func(v *View, oldObj, newObj Object) []string {
			x := servicecidr.NewIndex(snapshot(v), o)
			if newObj != nil {
				x, _ = x.Without(rangesOf(newObj))
			}
			if oldObj != nil {
				x, _ = x.With(rangesOf(oldObj))
			}
			return namesOf(changeIndex[servicecidr.Snapshot, servicecidr.Action](&x, rangesOf, oldObj, newObj))
		},
	}
}

// The worlds of two ServiceCIDRs and two addresses.
var (
	twins    = [][]string{{"10.0.0.0/24"}, {"10.0.0.0/24"}}
	nested   = [][]string{{"10.0.0.0/24"}, {"10.0.0.0/28"}}
	dualIn   = [][]string{{"10.0.0.0/24", "fd00::/112"}, {"10.0.0.0/24"}}
	twoAddrs = []string{"10.0.0.5", "10.0.0.200"}
	dualAddr = []string{"10.0.0.5", "fd00::5"}
)

// serviceCIDRWorld has ServiceCIDRs a and b with these prefixes, protected and ready.
func serviceCIDRWorld(name string, o servicecidr.Options, prefixes [][]string, addresses []string) Scenario {
	w := Scenario{
		Name:  name,
		Kinds: []schema.GroupVersionResource{serviceCIDRs, ipAddresses},
		Lag:   2,
		Until: 20 * time.Second,
		Events: []Event{
			{Name: "deleted", Do: func(v *View, do func(string, ...Change)) {
				for _, c := range All[*networkingv1.ServiceCIDR](v) {
					if c.DeletionTimestamp == nil {
						do("the user deletes ServiceCIDR "+c.Name, Delete(v.Now, c))
					}
				}
			}},
			{Name: "made again", Max: 1, Do: func(v *View, do func(string, ...Change)) {
				for i, cidrs := range prefixes {
					if name := string(rune('a' + i)); Get[*networkingv1.ServiceCIDR](v, "", name) == nil {
						do("the user makes ServiceCIDR "+name+" again", Put(newServiceCIDR(name, v.Fresh, cidrs)))
					}
				}
			}},
			{Name: "allocated", Do: func(v *View, do func(string, ...Change)) { allocate(v, addresses, do) }},
			{Name: "freed", Do: func(v *View, do func(string, ...Change)) {
				for _, ip := range All[*networkingv1.IPAddress](v) {
					do("the Service with "+ip.Name+" is deleted", Remove(ip))
				}
			}},
		},
		Controller: serviceCIDRController(o),
		Faults:     Faults{Refuse: true, LoseAnswer: true, Crash: true},
		Ghost:      rememberLetGo,
		Guarantees: []Guarantee{
			{"no managed address without a range", addressesHaveRanges},
			{"nothing the user did is undone", serviceCIDRsKeepWhatIsTheirs},
		},
		Rest:     serviceCIDRsAreRight,
		Describe: describeServiceCIDR,
	}
	for i, cidrs := range prefixes {
		c := newServiceCIDR(string(rune('a'+i)), i+1, cidrs)
		c.Finalizers = []string{servicecidr.Finalizer}
		apimeta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue,
			Message: "Kubernetes Service CIDR is ready", LastTransitionTime: metav1.NewTime(Start)})
		w.Objects = append(w.Objects, c)
	}
	return w
}

func newServiceCIDR(name string, numberOf int, cidrs []string) *networkingv1.ServiceCIDR {
	return &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: name, UID: UID(numberOf)}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: cidrs}}
}

// within reports whether an address of the ServiceCIDR's prefixes can be this one: not those that are its
// network or broadcast address.
func within(c *networkingv1.ServiceCIDR, address string) bool {
	a := netip.MustParseAddr(address)
	for _, text := range c.Spec.CIDRs {
		p := netip.MustParsePrefix(text)
		if !p.Contains(a) || a == p.Addr() {
			continue
		}
		if next := a.Next(); a.Is4() && !p.Contains(next) {
			continue // the last one
		}
		return true
	}
	return false
}

func isServiceCIDRReady(c *networkingv1.ServiceCIDR) bool {
	return apimeta.IsStatusConditionTrue(c.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
}

// allocate is the API servers' allocators: they take addresses from ServiceCIDRs that are ready, and for half of
// the grace period from one that is being deleted, since they may not have heard of that yet. The other half is for
// the age of the controller's snapshot.
func allocate(v *View, addresses []string, do func(string, ...Change)) {
	for i, a := range addresses {
		if Get[*networkingv1.IPAddress](v, "", a) != nil {
			continue
		}
		usable := func(c *networkingv1.ServiceCIDR) bool {
			// One that is being deleted was ready before if it says anything.
			return within(c, a) && len(c.Status.Conditions) > 0 &&
				(c.DeletionTimestamp == nil || v.Now.Before(c.DeletionTimestamp.Add(servicecidr.DeletionGracePeriod/2)))
		}
		if slices.ContainsFunc(All[*networkingv1.ServiceCIDR](v), usable) {
			family := networkingv1.LabelIPAddressFamily
			ip := &networkingv1.IPAddress{ObjectMeta: metav1.ObjectMeta{Name: a, UID: UID(40 + i),
				Labels: map[string]string{networkingv1.LabelManagedBy: servicecidr.ManagedBy, family: "IPv4"}}}
			if strings.Contains(a, ":") {
				ip.Labels[family] = "IPv6"
			}
			do("a Service gets "+a, Put(ip))
		}
	}
}

// rememberLetGo keeps the addresses whose range was let go, by a removed finalizer, while they were in use.
func rememberLetGo(s *Step) string {
	var kept []string
	for _, ip := range All[*networkingv1.IPAddress](s.After) {
		let := slices.Contains(strings.Fields(s.Ghost), ip.Name)
		if s.Request != nil {
			for _, c := range All[*networkingv1.ServiceCIDR](s.Before) {
				let = let || within(c, ip.Name) && Get[*networkingv1.ServiceCIDR](s.After, "", c.Name) == nil
			}
		}
		if let {
			kept = append(kept, ip.Name)
		}
	}
	return strings.Join(kept, " ")
}

// addressesHaveRanges: an address loses its last range only where a user deletes one that nothing protected yet, and
// none was let go before.
func addressesHaveRanges(s *Step) string {
	for _, ip := range All[*networkingv1.IPAddress](s.After) {
		has := slices.ContainsFunc(All[*networkingv1.ServiceCIDR](s.After), func(c *networkingv1.ServiceCIDR) bool { return within(c, ip.Name) })
		if !has && slices.Contains(strings.Fields(s.Ghost), ip.Name) {
			return "no ServiceCIDR contains " + ip.Name
		}
	}
	return ""
}

// serviceCIDRsKeepWhatIsTheirs: no ServiceCIDR goes or loses its finalizer that nobody deleted, none is made, and nothing but finalizers and conditions is
// written.
func serviceCIDRsKeepWhatIsTheirs(s *Step) string {
	if s.Request == nil {
		return ""
	}
	for _, before := range All[*networkingv1.ServiceCIDR](s.Before) {
		after := Get[*networkingv1.ServiceCIDR](s.After, "", before.Name)
		switch {
		case before.DeletionTimestamp != nil:
		case after == nil:
			return "ServiceCIDR " + before.Name + " goes, and nobody deleted it"
		case len(after.Finalizers) < len(before.Finalizers):
			return "ServiceCIDR " + before.Name + " is not being deleted, and loses its finalizer"
		}
	}
	for _, after := range All[*networkingv1.ServiceCIDR](s.After) {
		before := Get[*networkingv1.ServiceCIDR](s.Before, "", after.Name)
		if before == nil || changedBeyond(before, after, func(c *networkingv1.ServiceCIDR) { c.Finalizers, c.Status.Conditions = nil, nil }) {
			return "ServiceCIDR " + after.Name + " is changed beyond its finalizers and conditions"
		}
	}
	return ""
}

// serviceCIDRsAreRight: one that is not being deleted is protected and ready; one that is stays only for an address that
// neither those that stay contain, nor those that go after it.
func serviceCIDRsAreRight(v *View) string { return serviceCIDRsAreRightIn(v, goesAfter) }

// serviceCIDRsAreRightIn is serviceCIDRsAreRight with another order in which they go.
func serviceCIDRsAreRightIn(v *View, goesAfter func(a, b *networkingv1.ServiceCIDR) bool) string {
	all := All[*networkingv1.ServiceCIDR](v)
	for _, c := range all {
		protected := slices.Contains(c.Finalizers, servicecidr.Finalizer)
		if c.DeletionTimestamp == nil {
			if !protected || !isServiceCIDRReady(c) {
				return "at rest, a ServiceCIDR is protected and ready: " + describeServiceCIDR(c)
			}
			continue
		}
		needed := slices.ContainsFunc(All[*networkingv1.IPAddress](v), func(ip *networkingv1.IPAddress) bool {
			return within(c, ip.Name) && !slices.ContainsFunc(all, func(other *networkingv1.ServiceCIDR) bool {
				return other != c && within(other, ip.Name) && (other.DeletionTimestamp == nil || goesAfter(other, c))
			})
		})
		if !needed {
			return "at rest, a ServiceCIDR that may go is gone: " + describeServiceCIDR(c)
		}
		if ready := apimeta.FindStatusCondition(c.Status.Conditions, networkingv1.ServiceCIDRConditionReady); ready == nil || ready.Status != metav1.ConditionFalse {
			return "at rest, a ServiceCIDR that waits says so: " + describeServiceCIDR(c)
		}
	}
	return ""
}

// goesSecondsAfter is goesAfter where the controller may have seen the deletions of one second in any order.
func goesSecondsAfter(a, b *networkingv1.ServiceCIDR) bool {
	return a.DeletionTimestamp.After(b.DeletionTimestamp.Time)
}

func goesAfter(a, b *networkingv1.ServiceCIDR) bool {
	return cmp.Or(a.DeletionTimestamp.Compare(b.DeletionTimestamp.Time), cmp.Compare(a.Name, b.Name)) > 0
}

func describeServiceCIDR(o Object) string {
	c, ok := o.(*networkingv1.ServiceCIDR)
	if !ok {
		return "address " + o.GetName()
	}
	s := fmt.Sprintf("ServiceCIDR %s (%s) %s", c.Name, c.UID, strings.Join(c.Spec.CIDRs, " and "))
	if len(c.Finalizers) > 0 {
		s += ", protected"
	}
	if ready := apimeta.FindStatusCondition(c.Status.Conditions, networkingv1.ServiceCIDRConditionReady); ready != nil {
		s += ", Ready=" + string(ready.Status)
	}
	if c.DeletionTimestamp != nil {
		s += ", being deleted since " + c.DeletionTimestamp.UTC().Format(time.TimeOnly)
	}
	return s
}
