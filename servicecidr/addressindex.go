package servicecidr

import (
	"cmp"
	"math"
	"net/netip"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube/internal/persistent"
)

// addressIndex are IPAddresses arranged in order. It never changes. Addresses with a zone are in no
// prefix, and are not in it.
type addressIndex struct {
	four ordered[uint32]
	six  ordered[uint128]
	// notAddresses are those whose name is not an address, by name.
	notAddresses *persistent.Map[string, []*networkingv1.IPAddress]
	hasNil       bool
}

func newAddressIndex(ips []*networkingv1.IPAddress) addressIndex {
	x := addressIndex{}
	notAddresses := persistent.NewMap[string, []*networkingv1.IPAddress](strings.Compare).Edit()
	four := make([]addressed[uint32], 0, len(ips))
	var six []addressed[uint128]
	for _, ip := range ips {
		if ip == nil {
			x.hasNil = true
			continue
		}
		a, err := netip.ParseAddr(ip.Name)
		switch {
		case err != nil:
			same, _ := notAddresses.Get(ip.Name)
			notAddresses.Set(ip.Name, append(same, ip))
		case a.Is4():
			four = append(four, addressed[uint32]{uint32From(a), ip})
		case a.Zone() == "":
			six = append(six, addressed[uint128]{uint128From(a), ip})
		}
	}
	x.notAddresses = notAddresses.Map()
	x.four = newOrdered(sortFour(four), math.MaxUint32, cmp.Compare[uint32])
	x.six = newOrdered(sortSix(six), uint128{math.MaxUint64, math.MaxUint64}, uint128.compare)
	return x
}

func (x addressIndex) anyNil() bool { return x.hasNil }

func (x addressIndex) unknown() unknown {
	return unknown{x.hasNil, func() (found []unparsable) {
		for _, same := range x.notAddresses.All() {
			for _, ip := range same {
				if bad, counts := unparsableOf(ip); counts {
					found = append(found, bad)
				}
			}
		}
		return found
	}}
}

func (x addressIndex) hold(sets []set) ([]bool, unknown) {
	held := make([]bool, len(sets))
	for i, s := range sets {
		x.in(s, func(netip.Addr, *networkingv1.IPAddress) bool {
			held[i] = true
			return false
		})
	}
	return held, x.unknown()
}

func (x addressIndex) orphans(s set, limit int) (first []Orphan, more bool, u unknown) {
	var orphans []Orphan
	different := 0
	x.in(s, func(a netip.Addr, ip *networkingv1.IPAddress) bool {
		// They come in order. Those of one address come in any, so all of them are looked at.
		if len(orphans) == 0 || orphans[len(orphans)-1].Address != a {
			different++
		}
		orphans = append(orphans, orphanOf(a, ip))
		return limit <= 0 || different <= limit
	})
	first, more = firstOrphans(orphans, limit)
	return first, more, x.unknown()
}

// in calls found for each address in the set that counts, in order, until it returns false.
func (x addressIndex) in(s set, found func(netip.Addr, *networkingv1.IPAddress) bool) {
	for _, r := range s.ranges {
		if r.From().Is4() {
			to := uint32From(r.To())
			for key, ip := range x.four.from(uint32From(r.From())) {
				if key > to {
					break
				}
				if familyOf(ip)&s.families != none && !found(addr4(key), ip) {
					return
				}
			}
			continue
		}
		to := uint128From(r.To())
		for key, ip := range x.six.from(uint128From(r.From())) {
			if key.compare(to) > 0 {
				break
			}
			if familyOf(ip)&s.families != none && !found(addr6(key), ip) {
				return
			}
		}
	}
}

// with returns the addresses with those of each name replaced, and what was there under these names
// before.
func (x addressIndex) with(byName byNames[*networkingv1.IPAddress]) (next addressIndex, before byNames[*networkingv1.IPAddress]) {
	next = x
	before = make(byNames[*networkingv1.IPAddress], len(byName))
	four, six, notAddresses := x.four.chunks.Edit(), x.six.chunks.Edit(), x.notAddresses.Edit()
	for name, ips := range byName {
		a, err := netip.ParseAddr(name)
		switch {
		case err != nil:
			before[name], _ = notAddresses.Get(name)
			if len(ips) == 0 {
				notAddresses.Delete(name)
			} else {
				notAddresses.Set(name, ips)
			}
		case a.Is4():
			before[name] = x.four.replace(four, uint32From(a), name, ips)
		case a.Zone() == "":
			before[name] = x.six.replace(six, uint128From(a), name, ips)
		}
	}
	next.four.chunks, next.six.chunks, next.notAddresses = four.Map(), six.Map(), notAddresses.Map()
	return next, before
}
