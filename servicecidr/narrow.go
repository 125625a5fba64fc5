package servicecidr

import (
	"net/netip"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube/internal/persistent"
)

// end is the first usable address of a prefix, or the first address after its usable addresses.
type end struct {
	at netip.Addr
	// families are the families of the addresses that the ServiceCIDR's plan asks for. It is none if the ServiceCIDR
	// is not being deleted.
	families family
	opens    int // 1 where the prefix begins, -1 behind it
}

// decisive returns the snapshot without the IPAddresses that no plan of these ServiceCIDRs depends on.
//
// A plan asks only whether a range has an address, and each such range begins and ends where the usable range of a
// prefix does. So one address of each family is enough between two neighbouring ends, and none is needed where no
// ServiceCIDR is being deleted.
//
// With it, PlanAll of 200 ServiceCIDRs that are being deleted and 20,000 addresses takes 3.4 ms, and without it 9.3 ms;
// of 1,000 and 1,000,000, 175 ms and 620 ms (2 vCPU, BenchmarkPlanAll).
func (s Snapshot) decisive(planned func(*networkingv1.ServiceCIDR) bool) Snapshot {
	starts, wanted := s.stretches(planned)
	ends := persistent.NewAddresses(starts)
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
		in := ends.Floor(address)
		if in < 0 || wanted[in] == none || address.Zone() != "" {
			continue
		}
		// Most addresses are of a family that is no longer needed.
		if f := labelledFamily(ip); wanted[in]&f != none && managed(ip) {
			wanted[in] &^= f
			read = append(read, ip)
		}
	}
	s.IPAddresses = read
	return s
}

// stretches returns the first address of each stretch between two neighbouring ends, and the families of the addresses
// that plans ask for in it. Neighbouring stretches that no plan asks for are one.
func (s Snapshot) stretches(planned func(*networkingv1.ServiceCIDR) bool) (starts []netip.Addr, wanted []family) {
	var ends []end
	for _, c := range s.ServiceCIDRs {
		if c == nil {
			continue
		}
		y, families := parsed(c), none
		if y.deleting() && planned(c) {
			families = y.families
		}
		for _, p := range y.unique {
			r, any := usable(p)
			if !any {
				continue
			}
			ends = append(ends, end{r.From(), families, 1})
			if behind := r.To().Next(); behind.IsValid() {
				ends = append(ends, end{behind, families, -1})
			}
		}
	}
	slices.SortFunc(ends, func(a, b end) int { return a.at.Compare(b.at) })
	var open [3]int // the prefixes that ask for each family
	for i, e := range ends {
		asked := none
		for f := range open {
			if e.families&(1<<f) != none {
				open[f] += e.opens
			}
			if open[f] > 0 {
				asked |= 1 << f
			}
		}
		if i+1 < len(ends) && ends[i+1].at == e.at {
			continue
		}
		if last := len(wanted) - 1; asked != none || last >= 0 && wanted[last] != none {
			starts, wanted = append(starts, e.at), append(wanted, asked)
		}
	}
	return starts, wanted
}
