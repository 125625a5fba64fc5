package servicecidr

import (
	"net/netip"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
)

// end is the first usable address of a prefix, or the first one behind its usable ones.
type end struct {
	at netip.Addr
	// begins: it is the first one of a prefix of a ServiceCIDR that is being deleted, which asks for addresses of
	// these families. Where it ends it asks no more.
	families family
	begins   bool
}

// decisive is the snapshot with the IPAddresses that the plans of these ServiceCIDRs read. A plan only asks whether there is an address
// between two ends of the usable ranges of prefixes. So one address of each family between two neighbouring ones is enough, and none
// where nothing is being deleted. For 200 ServiceCIDRs that are being deleted and 20,000 addresses, PlanAll takes 3.4 ms
// with it and 9.3 ms without; for 1,000 and 1,000,000 175 and 620 ms (2 vCPU, BenchmarkPlanAll).
func (s Snapshot) decisive(planned func(*networkingv1.ServiceCIDR) bool) Snapshot {
	starts, wanted := s.stretches(planned)
	var read []*networkingv1.IPAddress
	for _, ip := range s.IPAddresses {
		if ip == nil {
			read = append(read, ip)
			continue
		}
		address, err := netip.ParseAddr(ip.Name)
		if err != nil {
			read = append(read, ip) // an error, or a doubt
			continue
		}
		in, found := slices.BinarySearchFunc(starts, address, netip.Addr.Compare)
		if !found {
			in--
		}
		if in < 0 || wanted[in] == none || address.Zone() != "" {
			continue
		}
		if f := familyOf(ip); wanted[in]&f != none {
			wanted[in] &^= f
			read = append(read, ip)
		}
	}
	s.IPAddresses = read
	return s
}

// stretches returns where the stretches between neighbouring ends of prefixes start, and the families of the addresses
// that the plans of deletions ask for in each. Neighbours that no deletion asks for count as one.
func (s Snapshot) stretches(planned func(*networkingv1.ServiceCIDR) bool) (starts []netip.Addr, wanted []family) {
	var ends []end
	for _, c := range s.ServiceCIDRs {
		if c == nil {
			continue
		}
		families, prefixes := none, []netip.Prefix(nil)
		for _, text := range c.Spec.CIDRs {
			if p, err := netip.ParsePrefix(text); err == nil {
				families |= familyOfPrefix(p)
				prefixes = append(prefixes, p.Masked())
			} else {
				families |= familyOfText(text)
			}
		}
		if c.DeletionTimestamp.IsZero() || !planned(c) {
			families = none
		}
		for _, p := range prefixes {
			r, any := usable(p)
			if !any {
				continue
			}
			ends = append(ends, end{r.From(), families, true})
			if behind := r.To().Next(); behind.IsValid() {
				ends = append(ends, end{behind, families, false})
			}
		}
	}
	slices.SortFunc(ends, func(a, b end) int { return a.at.Compare(b.at) })
	var open [3]int // the prefixes that ask for each family
	for i, e := range ends {
		for f := range open {
			switch {
			case e.families&(1<<f) == 0:
			case e.begins:
				open[f]++
			default:
				open[f]--
			}
		}
		if i+1 < len(ends) && ends[i+1].at == e.at {
			continue
		}
		asked := none
		for f, n := range open {
			if n > 0 {
				asked |= 1 << f
			}
		}
		if last := len(wanted) - 1; asked != none || last >= 0 && wanted[last] != none {
			starts, wanted = append(starts, e.at), append(wanted, asked)
		}
	}
	return starts, wanted
}
