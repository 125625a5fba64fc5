package servicecidr_test

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube/servicecidr"
)

// The rules once more, as short as they can be said: every question is answered by looking at
// everything. For snapshots without nil objects, duplicate names and names that are not addresses.

func oraclePlan(s servicecidr.Snapshot, x *networkingv1.ServiceCIDR, o servicecidr.Options) servicecidr.Result {
	var r servicecidr.Result
	id := x.UID
	if o.MatchUpstream != "" {
		id = ""
	}
	condition := ready(s.Now)
	protected := slices.Contains(x.Finalizers, servicecidr.Finalizer)
	if x.DeletionTimestamp == nil {
		if !protected {
			r.Actions = append(r.Actions, servicecidr.AddFinalizer{Name: x.Name, UID: id})
		}
	} else {
		goes := oracleGoes(s, x)
		if o.MatchUpstream == "" {
			goes = len(oracleOrphans(s, x)) == 0
			for _, c := range x.Spec.CIDRs {
				_, err := netip.ParsePrefix(c)
				if goes && err != nil {
					return r // D-2
				}
			}
			if goes && len(x.Spec.CIDRs) == 0 {
				return r // D-2
			}
		}
		if goes {
			end := x.DeletionTimestamp.Add(10 * time.Second)
			if own := oracleSeen(s, x).Add(10 * time.Second); o.MatchUpstream == "" && own.After(end) {
				end = own
			}
			if end.After(s.Now) {
				r.RecheckAt = end
			} else if protected {
				r.Actions = append(r.Actions, servicecidr.RemoveFinalizer{Name: x.Name, UID: id})
			}
			return r
		}
		condition = terminating(s.Now)
	}
	for _, c := range x.Status.Conditions {
		if c.Type == "Ready" && c.Status == condition.Status && c.Reason == condition.Reason && c.Message == condition.Message {
			return r
		}
	}
	r.Actions = append(r.Actions, servicecidr.SetCondition{Name: x.Name, UID: id, Condition: condition})
	return r
}

// oracleContains is the rule about addresses, with the broadcast address found by trying.
func oracleContains(p netip.Prefix, a netip.Addr) bool {
	return p.Contains(a) && a != p.Masked().Addr() && (a.Is6() || p.Contains(a.Next()))
}

func oracleCounts(x *networkingv1.ServiceCIDR, ip *networkingv1.IPAddress) bool {
	if ip.Labels["ipaddress.kubernetes.io/managed-by"] != "ipallocator.k8s.io" {
		return false
	}
	return slices.ContainsFunc(x.Spec.CIDRs, func(c string) bool {
		p, err := netip.ParsePrefix(c)
		family := ""
		switch {
		case err == nil && p.Addr().Is4():
			family = "IPv4"
		case err == nil:
			family = "IPv6"
		}
		value, labelled := ip.Labels["ipaddress.kubernetes.io/ip-family"]
		return labelled && value == family
	})
}

// oracleOrphans is BR-31-02 with D-1.
func oracleOrphans(s servicecidr.Snapshot, x *networkingv1.ServiceCIDR) (orphans []netip.Addr) {
	contains := func(c *networkingv1.ServiceCIDR, a netip.Addr) bool {
		return slices.ContainsFunc(c.Spec.CIDRs, func(text string) bool {
			p, err := netip.ParsePrefix(text)
			return err == nil && oracleContains(p, a)
		})
	}
	for _, ip := range s.IPAddresses {
		a := netip.MustParseAddr(ip.Name)
		if !oracleCounts(x, ip) || !contains(x, a) {
			continue
		}
		if !slices.ContainsFunc(s.ServiceCIDRs, func(y *networkingv1.ServiceCIDR) bool { return oracleMayRely(s, x, y) && contains(y, a) }) {
			orphans = append(orphans, a)
		}
	}
	return orphans
}

func oracleMayRely(s servicecidr.Snapshot, x, y *networkingv1.ServiceCIDR) bool {
	switch {
	case y.Name == x.Name:
		return false
	case !slices.Contains(y.Finalizers, servicecidr.Finalizer): // D-25
		return false
	case y.DeletionTimestamp == nil:
		return true
	case s.DeletionSeen != nil && (s.DeletionSeen[x.UID].IsZero() || s.DeletionSeen[y.UID].IsZero()):
		return false // their order is not known
	case x.DeletionTimestamp == nil:
		return false
	}
	return cmp.Or(s.DeletionSeen[x.UID].Compare(s.DeletionSeen[y.UID]), x.DeletionTimestamp.Compare(y.DeletionTimestamp.Time), cmp.Compare(x.Name, y.Name)) < 0
}

// oracleSeen is when the deletion was first seen: now if there is a record that does not say; else it does not matter.
func oracleSeen(s servicecidr.Snapshot, x *networkingv1.ServiceCIDR) time.Time {
	if at := s.DeletionSeen[x.UID]; s.DeletionSeen == nil || !at.IsZero() {
		return at
	}
	return s.Now
}

// oracleGoes is upstream's question, with its counting of entries.
func oracleGoes(s servicecidr.Snapshot, x *networkingv1.ServiceCIDR) bool {
	onlyMine := func(property func(netip.Prefix) bool) bool {
		var found []string
		for _, c := range s.ServiceCIDRs {
			for _, text := range c.Spec.CIDRs {
				if p, err := netip.ParsePrefix(text); err == nil && property(p) {
					found = append(found, c.Name)
				}
			}
		}
		return len(found) == 1 && found[0] == x.Name
	}
	contained := true
	for _, text := range x.Spec.CIDRs {
		if p, err := netip.ParsePrefix(text); err == nil {
			contained = contained && !onlyMine(func(q netip.Prefix) bool { return q.Overlaps(p) && q.Bits() <= p.Bits() })
		}
	}
	if contained {
		return true
	}
	return !slices.ContainsFunc(s.IPAddresses, func(ip *networkingv1.IPAddress) bool {
		a := netip.MustParseAddr(ip.Name)
		return oracleCounts(x, ip) && onlyMine(func(q netip.Prefix) bool { return oracleContains(q, a) })
	})
}
