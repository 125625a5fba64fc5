package servicecidr

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"go4.org/netipx"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube"
)

// census finds out which of many address sets hold an address that counts, in one pass over the
// addresses. The bounds of the sets cut the address space into slots; each address marks its
// slot, and a set holds an address if one of its slots is marked.
type census struct {
	cuts4 []uint32  // where a slot begins, IPv4
	cuts6 []uint128 // IPv6, its slots come after those of IPv4
	slots []slot
	// anyNil: the addresses had a nil among them.
	anyNil bool
	// illegible are the addresses that count and whose name is not an address.
	illegible []illegible
}

type slot struct {
	// seen are the families of the addresses found here.
	seen family
	// enough are the families that are in every set that has this slot: once one of them is
	// seen, no further address here can change an answer.
	enough family
}

type illegible struct {
	family  family
	problem *purekube.ObjectError
}

// set is a set of addresses together with the families that count in it.
type set struct {
	ranges   []netipx.IPRange
	families family
}

func newCensus(sets []set) *census {
	c := &census{}
	for _, s := range sets {
		for _, r := range s.ranges {
			c.cut(r.From())
			c.cut(r.To().Next())
		}
	}
	slices.Sort(c.cuts4)
	c.cuts4 = slices.Compact(c.cuts4)
	slices.SortFunc(c.cuts6, uint128.compare)
	c.cuts6 = slices.Compact(c.cuts6)

	// Outside of all sets there is nothing to learn.
	c.slots = slices.Repeat([]slot{{seen: everyFamily, enough: everyFamily}}, len(c.cuts4)+1+len(c.cuts6)+1)
	for _, s := range sets {
		for _, r := range s.ranges {
			for i := c.find(r.From()); i <= c.find(r.To()); i++ {
				c.slots[i].seen = none
				c.slots[i].enough &= s.families
			}
		}
	}
	return c
}

// cut begins a slot at a; not if a is the invalid address that follows the last one.
func (c *census) cut(a netip.Addr) {
	switch {
	case a.Is4():
		c.cuts4 = append(c.cuts4, uint32From(a))
	case a.Is6():
		c.cuts6 = append(c.cuts6, uint128From(a))
	}
}

// find returns the slot of a valid address without a zone.
func (c *census) find(a netip.Addr) int {
	if a.Is4() {
		i, begins := slices.BinarySearch(c.cuts4, uint32From(a))
		if begins {
			i++
		}
		return i
	}
	// Written out, because a comparison behind a function value costs more than the search.
	u := uint128From(a)
	i, j := 0, len(c.cuts6)
	for i < j {
		mid := int(uint(i+j) >> 1)
		if m := c.cuts6[mid]; m.hi < u.hi || m.hi == u.hi && m.lo <= u.lo {
			i = mid + 1
		} else {
			j = mid
		}
	}
	return len(c.cuts4) + 1 + i
}

// take marks the slots of the addresses. It allocates nothing for an address that parses.
func (c *census) take(ips []*networkingv1.IPAddress) {
	for _, ip := range ips {
		if ip == nil {
			c.anyNil = true
			continue
		}
		a, err := netip.ParseAddr(ip.Name)
		if err != nil {
			c.note(ip, err)
			continue
		}
		if a.Zone() != "" {
			continue // in no prefix
		}
		// Labels are read last, since that costs more than all the rest.
		if s := &c.slots[c.find(a)]; s.seen&s.enough == none {
			s.seen |= familyOf(ip)
		}
	}
}

func (c *census) note(ip *networkingv1.IPAddress, err error) {
	if f := familyOf(ip); f != none {
		c.illegible = append(c.illegible, illegible{f, illegibleName(ip, err)})
	}
}

func illegibleName(ip *networkingv1.IPAddress, err error) *purekube.ObjectError {
	return &purekube.ObjectError{Kind: kindIPAddress, Name: ip.Name, Field: "metadata.name", Err: err}
}

// holds says whether an address that counts in s was found in it.
func (c *census) holds(s set) bool {
	for _, r := range s.ranges {
		for i := c.find(r.From()); i <= c.find(r.To()); i++ {
			if c.slots[i].seen&s.families != none {
				return true
			}
		}
	}
	return false
}

type uint128 struct{ hi, lo uint64 }

func (u uint128) compare(v uint128) int {
	switch {
	case u == v:
		return 0
	case u.hi < v.hi, u.hi == v.hi && u.lo < v.lo:
		return -1
	}
	return 1
}

func uint32From(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

func uint128From(a netip.Addr) uint128 {
	b := a.As16()
	return uint128{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}
