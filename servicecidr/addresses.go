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

// addresses are the IPAddresses of a snapshot. They never change. A cluster has one IPAddress for each ClusterIP, so
// there may be many more of them than of anything else here. Questions ask for the addresses of a range, and get them
// by binary search. To decide about one deletion, upstream lists all IPAddresses of a family, and compares each of them
// with all ServiceCIDRs.
type addresses struct {
	objects *ipObjects
	// nameless has the families of the counted IPAddresses without a name. They are never removed. The API server
	// requires a name; a manifest may lack it. Such an IPAddress may be any address.
	nameless family
	// counted returns the IPAddresses that count, by family. They are sorted at the first call. A question that needs
	// no address, for example about a ServiceCIDR that is not being deleted, does not pay for sorting.
	counted func() countedAddresses
}

// countedAddresses has the IPAddresses that count, by family, in the order of their addresses. Addresses with a zone
// are in no prefix and are left out. The index of a family is the position of its bit: 0 for ipv4, 1 for ipv6, 2 for
// noFamily.
type countedAddresses [3]*persistent.Sorted[place, *networkingv1.IPAddress]

// place is where an IPAddress is in the order: the zero address, before all others, if its name is not an address. Two
// IPAddresses can have the same address and different names, such as fd00::5 and FD00:0::5, so the name is a part of
// the place.
type place struct {
	address netip.Addr
	name    string
}

// placeOf returns the place of an IPAddress. ParseAddr returns the zero address with its error.
func placeOf(ip *networkingv1.IPAddress) place {
	a, _ := netip.ParseAddr(ip.Name)
	return place{a, ip.Name}
}

// comparePlaces sorts by address, then by name. netip sorts the zero address first, then IPv4, then IPv6.
func comparePlaces(a, b place) int {
	if c := a.address.Compare(b.address); c != 0 {
		return c
	}
	return strings.Compare(a.name, b.name)
}

// newAddresses returns the addresses of a snapshot. It keeps the objects, and not the slice.
func newAddresses(ips []*networkingv1.IPAddress) addresses {
	objects := persistent.NewClusterObjects(kindIPAddress, ips)
	return addresses{objects, namelessOf(ips), sync.OnceValue(func() countedAddresses { return arrange(objects) })}
}

// namelessOf returns the families of the counted IPAddresses without a name.
func namelessOf(ips []*networkingv1.IPAddress) (families family) {
	for _, ip := range ips {
		if ip != nil && ip.Name == "" {
			families |= familyOf(ip)
		}
	}
	return families
}

// arrange sorts the IPAddresses that count, in O(n log n). Several IPAddresses of one name all count: each of them may
// be in the cluster, and a deletion that is blocked too long is better than an orphaned address.
func arrange(objects *ipObjects) (c countedAddresses) {
	// Each name is parsed once, here, and not in each comparison.
	type placed struct {
		place
		ip *networkingv1.IPAddress
		in int
	}
	// AllVersions has the IPAddresses of ambiguous names too.
	list := make([]placed, 0, objects.Len())
	for ip := range objects.AllVersions() {
		if in, p, counts := counting(ip); counts {
			list = append(list, placed{p, ip, in})
		}
	}
	slices.SortFunc(list, func(a, b placed) int {
		if a.in != b.in {
			return a.in - b.in
		}
		return comparePlaces(a.place, b.place)
	})
	// The list is sorted by family first, so each family is one piece of it.
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
	// No prefix contains an address with a zone (fe80::1%eth0), so it can block nothing.
	return bits.TrailingZeros8(uint8(f)), p, p.address.Zone() == ""
}

// with returns the addresses after these changes. nameless are the families of added IPAddresses without a name. The
// receiver stays as it is. It costs O(log n) for each change, after the first call has sorted the addresses.
func (a addresses) with(objects *ipObjects, changes []ipChange, nameless family) addresses {
	a.objects, a.nameless = objects, a.nameless|nameless
	if len(changes) == 0 {
		return a
	}
	// A copy of three pointers: the addresses before keep their lists. Sorting happens here at the latest.
	c := a.counted()
	// An edit is begun for a family only if something in it changes: most clusters have one family.
	var edits [len(c)]*persistent.SortedEdit[place, *networkingv1.IPAddress]
	for _, change := range changes {
		var changed [len(c)]bool
		var now [len(c)][]*networkingv1.IPAddress
		var at place
		// All IPAddresses of one name have one place, so the change replaces what is at that place in each family. An
		// IPAddress whose label ip-family changes is in two of the families: it leaves one and enters the other.
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
	// The closure has only the new lists, so that a chain of events does not keep the older ones.
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
		// An empty name sorts before all names, so this begins with the first IPAddress of the address.
		for ip := range sorted.From(place{address: r.From()}) {
			if at := placeOf(ip).address; r.To().Less(at) || !found(at, ip) {
				break
			}
		}
	}
}

// any reports whether an address of these families is in the range. It costs one search for each family, since the
// first address ends it.
func (a addresses) any(families family, r netipx.IPRange) (found bool) {
	a.in(families, r, func(netip.Addr, *networkingv1.IPAddress) bool {
		found = true
		return false
	})
	return found
}

// unparsable returns an error for each address of these families whose name is not an address. They are at the front of
// each family, so it costs nothing if all names are addresses.
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
		// The zero place is before all others. The first name that is an address ends the search.
		for ip := range sorted.From(place{}) {
			if add(ip.Name) {
				break
			}
		}
	}
	return problems
}

// unknown returns an error for each IPAddress that may be any address of these families. A nil IPAddress has no labels
// to read, so it may be of every family.
func (a addresses) unknown(families family) []*purekube.ObjectError {
	problems := a.unparsable(families)
	if a.objects.HasNil() {
		problems = append(problems, &purekube.ObjectError{Kind: kindIPAddress, Err: purekube.ErrNil})
	}
	return problems
}
