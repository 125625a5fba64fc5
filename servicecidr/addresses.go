package servicecidr

import (
	"math/bits"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"go4.org/netipx"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
)

type (
	ipObjects = persistent.Objects[networkingv1.IPAddress, *networkingv1.IPAddress]
	ipChange  = persistent.Change[*networkingv1.IPAddress]
)

// addresses are the IPAddresses of a snapshot. They never change.
type addresses struct {
	objects *ipObjects
	// nameless has the families of the counted IPAddresses without a name. They are never removed.
	nameless family
	// counted returns the IPAddresses that count, by family. They are sorted at the first call.
	counted func() countedAddresses
}

// countedAddresses has the IPAddresses that count, by family, in the order of their addresses. Addresses with a zone
// are in no prefix and are left out.
type countedAddresses [3]*persistent.Sorted[place, *networkingv1.IPAddress]

// place is where an IPAddress is in the order: the zero address, before all others, if its name is not an address.
type place struct {
	address netip.Addr
	name    string
}

func placeOf(ip *networkingv1.IPAddress) place {
	a, _ := netip.ParseAddr(ip.Name)
	return place{a, ip.Name}
}

func comparePlaces(a, b place) int {
	if c := a.address.Compare(b.address); c != 0 {
		return c
	}
	return strings.Compare(a.name, b.name)
}

func newAddresses(ips []*networkingv1.IPAddress) addresses {
	objects := persistent.NewClusterObjects(kindIPAddress, ips)
	return addresses{objects, namelessOf(ips), sync.OnceValue(func() countedAddresses { return arrange(objects) })}
}

func namelessOf(ips []*networkingv1.IPAddress) (families family) {
	for _, ip := range ips {
		if ip != nil && ip.Name == "" {
			families |= familyOf(ip)
		}
	}
	return families
}

func arrange(objects *ipObjects) (c countedAddresses) {
	type placed struct {
		address netip.Addr
		ip      *networkingv1.IPAddress
		in      int
	}
	list := make([]placed, 0, objects.Len())
	for ip := range objects.AllVersions() {
		if in, p, counts := counting(ip); counts {
			list = append(list, placed{p.address, ip, in})
		}
	}
	slices.SortFunc(list, func(a, b placed) int {
		if a.in != b.in {
			return a.in - b.in
		}
		if c := a.address.Compare(b.address); c != 0 {
			return c
		}
		return strings.Compare(a.ip.Name, b.ip.Name)
	})
	ips := make([]*networkingv1.IPAddress, len(list))
	for i := range list {
		ips[i] = list[i].ip
	}
	for in := range c {
		end, _ := slices.BinarySearchFunc(list, in+1, func(a placed, in int) int { return a.in - in })
		c[in] = persistent.NewSorted(ips[:end], placeOf, comparePlaces)
		list, ips = list[end:], ips[end:]
	}
	return c
}

// counting returns the index of the address's family, its place in the order, and whether the address counts.
func counting(ip *networkingv1.IPAddress) (i int, p place, counts bool) {
	f := familyOf(ip)
	if f == none {
		return 0, p, false
	}
	p = placeOf(ip)
	return bits.TrailingZeros8(uint8(f)), p, p.address.Zone() == ""
}

// with returns the addresses after these changes. nameless are the families of added IPAddresses without a name.
func (a addresses) with(objects *ipObjects, changes []ipChange, nameless family) addresses {
	a.objects, a.nameless = objects, a.nameless|nameless
	if len(changes) == 0 {
		return a
	}
	c := a.counted()
	var edits [len(c)]*persistent.SortedEdit[place, *networkingv1.IPAddress]
	for _, change := range changes {
		var changed [len(c)]bool
		var now [len(c)][]*networkingv1.IPAddress
		var at place
		for _, ip := range change.Before {
			if in, p, counts := counting(ip); counts {
				at, changed[in] = p, true
			}
		}
		for _, ip := range change.After {
			if in, p, counts := counting(ip); counts {
				at, changed[in], now[in] = p, true, append(now[in], ip)
			}
		}
		for in := range c {
			if changed[in] {
				if edits[in] == nil {
					edits[in] = c[in].Edit()
				}
				edits[in].Replace(at, now[in]...)
			}
		}
	}
	for in, e := range edits {
		if e != nil {
			c[in] = e.Sorted()
		}
	}
	a.counted = func() countedAddresses { return c }
	return a
}

// in calls found for each address of these families in the range, family by family, in the order of the addresses.
// When found returns false, it continues with the next family.
func (a addresses) in(families family, r netipx.IPRange, found func(netip.Addr, *networkingv1.IPAddress) bool) {
	for i, sorted := range a.counted() {
		if families&(1<<i) == 0 {
			continue
		}
		for ip := range sorted.From(place{address: r.From()}) {
			if at := placeOf(ip).address; r.To().Less(at) || !found(at, ip) {
				break
			}
		}
	}
}

// any reports whether an address of these families is in the range.
func (a addresses) any(families family, r netipx.IPRange) (found bool) {
	a.in(families, r, func(netip.Addr, *networkingv1.IPAddress) bool {
		found = true
		return false
	})
	return found
}

// unparsable returns an error for each address of these families whose name is not an address.
func (a addresses) unparsable(families family) (problems []*purekube.ObjectError) {
	add := func(name string) (parses bool) {
		_, err := netip.ParseAddr(name)
		if err != nil {
			problems = append(problems, &purekube.ObjectError{Kind: kindIPAddress, Name: name, Field: "metadata.name", Err: err})
		}
		return err == nil
	}
	if a.nameless&families != none {
		add("")
	}
	for i, sorted := range a.counted() {
		if families&(1<<i) == 0 {
			continue
		}
		for ip := range sorted.From(place{}) {
			if add(ip.Name) {
				break
			}
		}
	}
	return problems
}

// unknown returns an error for each IPAddress that may be any address of these families.
func (a addresses) unknown(families family) []*purekube.ObjectError {
	problems := a.unparsable(families)
	if a.objects.HasNil() {
		problems = append(problems, &purekube.ObjectError{Kind: kindIPAddress, Err: purekube.ErrNil})
	}
	return problems
}
