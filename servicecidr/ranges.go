package servicecidr

import (
	"net/netip"
	"slices"
	"sort"

	"go4.org/netipx"
)

// stretch is a range of addresses that are all in the same prefixes: somewhere between the ends of two prefixes.
type stretch struct {
	netipx.IPRange
	// in has the ServiceCIDR of each of these prefixes, the one on which others may rely longest first. A ServiceCIDR
	// with several of the prefixes is in it several times.
	in []*object
}

// stretches are sorted, and do not overlap. Addresses that are in no prefix are in none of them.
//
// For example, a is 10.0.0.0/24, b is 10.0.0.0/26, c is 10.0.0.0/28, and d is 10.0.0.128/25. Their usable addresses and
// the stretches are
//
//	a   .1 ─────────────────────────────────────────── .254
//	b   .1 ────────────── .62
//	c   .1 ── .14
//	d                              .129 ──────────────.254
//
//	    .1–.14 a b c    .15–.62 a b   .63–.128 a   .129–.254 a d
//
// Only a contains .63, the broadcast address of b, and .128, the network address of d.
type stretches []stretch

// end is where a prefix begins or is over: its first usable address, or the address behind its last one.
type end struct {
	at     netip.Addr
	of     *object
	begins bool
}

// newStretches divides the usable addresses of the ServiceCIDRs: one sweep over the ends of their prefixes. For each
// stretch it costs as many steps as there are prefixes around the stretch.
func newStretches(cidrs []*object) stretches {
	var ends []end
	for _, y := range cidrs {
		if y.duplicate() {
			continue
		}
		for _, p := range y.prefixes {
			r, any := usable(p)
			if !any {
				continue
			}
			ends = append(ends, end{r.From(), y, true})
			// Nothing is behind the last address of IPv6. IPv4 addresses are before all of them, and the last IPv4
			// address is a broadcast address.
			if behind := r.To().Next(); behind.IsValid() {
				ends = append(ends, end{behind, y, false})
			}
		}
	}
	slices.SortFunc(ends, func(a, b end) int { return a.at.Compare(b.at) })
	var found stretches
	var open []*object // the ServiceCIDRs of the prefixes around the address, sorted as in a stretch
	for i, e := range ends {
		at, _ := slices.BinarySearchFunc(open, e.of, compareReliable)
		if e.begins {
			open = slices.Insert(open, at, e.of)
		} else {
			open = slices.Delete(open, at, at+1)
		}
		last := i+1 == len(ends)
		if len(open) == 0 || !last && ends[i+1].at == e.at {
			continue
		}
		to := netipx.PrefixLastIP(netip.PrefixFrom(e.at, 0))
		if !last {
			to = ends[i+1].at.Prev()
		}
		found = append(found, stretch{netipx.IPRangeFrom(e.at, to), slices.Clone(open)})
	}
	return found
}

// from returns the position of the first stretch that ends at the address or behind it.
func (s stretches) from(a netip.Addr) int {
	return sort.Search(len(s), func(i int) bool { return !s[i].To().Less(a) })
}

// search returns the position of the stretch that contains the address, or -1 if there is none. An address with a zone
// is in none.
func (s stretches) search(a netip.Addr) int {
	if at := s.from(a); at < len(s) && s[at].Contains(a) {
		return at
	}
	return -1
}

// of returns the stretches of the prefix.
func (s stretches) of(p netip.Prefix) stretches {
	r, any := usable(p)
	if !any {
		return nil
	}
	// A stretch begins and ends where a prefix does, so these are in the prefix as a whole.
	first := s.from(r.From())
	return s[first : s.from(r.To())+1]
}
