package servicecidr

import (
	"net/netip"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
)

// search finds out which of many address sets hold an address that counts, in one pass over the
// addresses. The bounds of the sets divide the address space into intervals; each address marks
// its interval, and a set holds an address if one of its intervals is marked.
type search struct {
	starts4   []uint32  // where an interval begins, IPv4
	starts6   []uint128 // IPv6, its intervals come after those of IPv4
	intervals []interval
	// anyNil: the addresses had a nil among them.
	anyNil bool
	// unparsable are the addresses that count and whose name is not an address.
	unparsable []unparsable
}

type interval struct {
	// seen are the families of the addresses found here.
	seen family
	// enough are the families that are in every set that has this interval: once one of them is
	// seen, no further address here can change an answer.
	enough family
}

func newSearch(sets []set) *search {
	q := &search{}
	for _, s := range sets {
		for _, r := range s.ranges {
			q.begin(r.From())
			q.begin(r.To().Next())
		}
	}
	slices.Sort(q.starts4)
	q.starts4 = slices.Compact(q.starts4)
	slices.SortFunc(q.starts6, uint128.compare)
	q.starts6 = slices.Compact(q.starts6)

	// Outside of all sets there is nothing to learn.
	q.intervals = slices.Repeat([]interval{{seen: everyFamily, enough: everyFamily}}, len(q.starts4)+1+len(q.starts6)+1)
	for _, s := range sets {
		for _, r := range s.ranges {
			for i := q.find(r.From()); i <= q.find(r.To()); i++ {
				q.intervals[i].seen = none
				q.intervals[i].enough &= s.families
			}
		}
	}
	return q
}

// begin begins an interval at a; not if a is the invalid address that follows the last one.
func (q *search) begin(a netip.Addr) {
	switch {
	case a.Is4():
		q.starts4 = append(q.starts4, uint32From(a))
	case a.Is6():
		q.starts6 = append(q.starts6, uint128From(a))
	}
}

// find returns the interval of a valid address without a zone.
func (q *search) find(a netip.Addr) int {
	if a.Is4() {
		i, begins := slices.BinarySearch(q.starts4, uint32From(a))
		if begins {
			i++
		}
		return i
	}
	// Written out, because a comparison behind a function value costs more than the search.
	u := uint128From(a)
	i, j := 0, len(q.starts6)
	for i < j {
		mid := int(uint(i+j) >> 1)
		if m := q.starts6[mid]; m.hi < u.hi || m.hi == u.hi && m.lo <= u.lo {
			i = mid + 1
		} else {
			j = mid
		}
	}
	return len(q.starts4) + 1 + i
}

// scan marks the intervals of the addresses. It allocates nothing for an address that parses.
func (q *search) scan(ips []*networkingv1.IPAddress) {
	for _, ip := range ips {
		if ip == nil {
			q.anyNil = true
			continue
		}
		a, err := netip.ParseAddr(ip.Name)
		if err != nil {
			if bad, counts := unparsableOf(ip); counts {
				q.unparsable = append(q.unparsable, bad)
			}
			continue
		}
		if a.Zone() != "" {
			continue // in no prefix
		}
		// Labels are read last, since that costs more than all the rest.
		if s := &q.intervals[q.find(a)]; s.seen&s.enough == none {
			s.seen |= familyOf(ip)
		}
	}
}

// holds says whether an address that counts in s was found in it.
func (q *search) holds(s set) bool {
	for _, r := range s.ranges {
		for i := q.find(r.From()); i <= q.find(r.To()); i++ {
			if q.intervals[i].seen&s.families != none {
				return true
			}
		}
	}
	return false
}
