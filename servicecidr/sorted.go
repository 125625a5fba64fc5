package servicecidr

import (
	"net/netip"
	"slices"

	"go4.org/netipx"
	networkingv1 "k8s.io/api/networking/v1"
)

// sortedAddresses are the IPAddresses of a snapshot in the order of their addresses, so that those
// of a range are found without a look at the others. Addresses with a zone are in no prefix and are
// left out.
type sortedAddresses struct {
	keys4 []uint32 // of objects4, at the same places
	keys6 []uint128

	objects4, objects6 []*networkingv1.IPAddress

	unparsable []unparsable
	anyNil     bool
}

func sortAddresses(ips []*networkingv1.IPAddress) *sortedAddresses {
	type key6 struct {
		key   uint128
		index int
	}
	s := &sortedAddresses{}
	order4 := make([]uint64, 0, len(ips)) // the address, then the index
	var order6 []key6
	for i, ip := range ips {
		if ip == nil {
			s.anyNil = true
			continue
		}
		a, err := netip.ParseAddr(ip.Name)
		switch {
		case err != nil:
			if f := familyOf(ip); f != none {
				s.unparsable = append(s.unparsable, unparsable{f, unparsableName(ip, err)})
			}
		case a.Is4():
			order4 = append(order4, uint64(uint32From(a))<<32|uint64(uint32(i)))
		case a.Zone() == "":
			order6 = append(order6, key6{uint128From(a), i})
		}
	}
	slices.Sort(order4)
	slices.SortFunc(order6, func(a, b key6) int { return a.key.compare(b.key) })

	s.keys4, s.objects4 = make([]uint32, len(order4)), make([]*networkingv1.IPAddress, len(order4))
	for i, o := range order4 {
		s.keys4[i], s.objects4[i] = uint32(o>>32), ips[uint32(o)]
	}
	s.keys6, s.objects6 = make([]uint128, len(order6)), make([]*networkingv1.IPAddress, len(order6))
	for i, o := range order6 {
		s.keys6[i], s.objects6[i] = o.key, ips[o.index]
	}
	return s
}

func (s *sortedAddresses) orphans(exposed *netipx.IPSet, families family) (orphans []Orphan, bad []unparsable, anyNil bool) {
	add := func(a netip.Addr, ip *networkingv1.IPAddress) {
		if familyOf(ip)&families != none {
			orphans = append(orphans, orphanOf(a, ip))
		}
	}
	for _, r := range exposed.Ranges() {
		if r.From().Is4() {
			to := uint32From(r.To())
			i, _ := slices.BinarySearch(s.keys4, uint32From(r.From()))
			for ; i < len(s.keys4) && s.keys4[i] <= to; i++ {
				add(addr4(s.keys4[i]), s.objects4[i])
			}
			continue
		}
		to := uint128From(r.To())
		i, _ := slices.BinarySearchFunc(s.keys6, uint128From(r.From()), uint128.compare)
		for ; i < len(s.keys6) && s.keys6[i].compare(to) <= 0; i++ {
			add(addr6(s.keys6[i]), s.objects6[i])
		}
	}
	return sortOrphans(orphans), s.unparsable, s.anyNil
}
