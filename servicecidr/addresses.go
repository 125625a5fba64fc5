package servicecidr

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"go4.org/netipx"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
)

// addresses are the IPAddresses of a snapshot. They never change. A cluster has one IPAddress for each ClusterIP, so
// there may be many more of them than of anything else here. Questions ask for the addresses of a range, and get them
// by binary search. To decide about one deletion, upstream lists all IPAddresses of a family, and compares each of them
// with all ServiceCIDRs.
type addresses struct {
	hasNil bool
	// nameless has the families of the IPAddresses without a name. They are never removed. The API server requires a
	// name; a manifest may lack it. Such an IPAddress may be any address.
	nameless family
	// sorted has the other IPAddresses. They are sorted at the first call. A question that needs no address, for
	// example about a ServiceCIDR that is not being deleted, does not pay for sorting.
	sorted func() *sortedAddresses
}

type sortedAddresses = persistent.Sorted[position, address]

// address is an IPAddress with its position. Several IPAddresses of one name all count: each of them may be in the
// cluster, and a deletion that is blocked too long is better than an orphaned address.
type address struct {
	family family // one, or none if the IPAddress does not count
	at     netip.Addr
	ip     *networkingv1.IPAddress
}

// position is where an IPAddress is in the order: by family, and then by address. The address is the zero address,
// before all others, if the name is not an address. Two IPAddresses can have the same address and different names, such
// as fd00::5 and FD00:0::5, so the name is a part of the place.
type position struct {
	family family
	at     netip.Addr
	name   string
}

// newAddress returns the address of an IPAddress with a name. No prefix contains an address with a zone (fe80::1%eth0),
// so it does not count.
func newAddress(ip *networkingv1.IPAddress) address {
	a := address{familyOf(ip), netip.Addr{}, ip}
	a.at, _ = netip.ParseAddr(ip.Name) // the zero address with the error
	if a.at.Zone() != "" {
		a.family = none
	}
	return a
}

func (a address) position() position { return position{a.family, a.at, a.ip.Name} }

// comparePositions sorts by family, address and name. netip sorts the zero address first, then IPv4, then IPv6.
func comparePositions(a, b position) int {
	if a.family != b.family {
		return cmp.Compare(a.family, b.family)
	}
	if c := a.at.Compare(b.at); c != 0 {
		return c
	}
	return strings.Compare(a.name, b.name)
}

// newAddresses returns the addresses of a snapshot. It keeps the objects, and not the slice.
func newAddresses(ips []*networkingv1.IPAddress) addresses {
	var a addresses
	named := a.named(ips)
	a.sorted = sync.OnceValue(func() *sortedAddresses {
		// Pointers are sorted, since an address is large. Each name is parsed once, and not in each comparison.
		list, sorted := make([]address, len(named)), make([]*address, len(named))
		for i, ip := range named {
			list[i] = newAddress(ip)
			sorted[i] = &list[i]
		}
		slices.SortFunc(sorted, func(a, b *address) int {
			if c := a.at.Compare(b.at); c != 0 && a.family == b.family {
				return c // as comparePositions, without two copies
			}
			return comparePositions(a.position(), b.position())
		})
		values := make([]address, len(list))
		for i, a := range sorted {
			values[i] = *a
		}
		return persistent.NewSorted(values, address.position, comparePositions)
	})
	return a
}

// named returns the IPAddresses that have a name, and notes the others.
func (a *addresses) named(ips []*networkingv1.IPAddress) []*networkingv1.IPAddress {
	named := make([]*networkingv1.IPAddress, 0, len(ips))
	for _, ip := range ips {
		switch {
		case ip == nil:
			a.hasNil = true
		case ip.Name == "":
			a.nameless |= familyOf(ip)
		default:
			named = append(named, ip)
		}
	}
	return named
}

// addressChange is the change of the IPAddresses of one name. The address is the zero address if the name is not an
// address.
type addressChange struct {
	at            netip.Addr
	before, after []address
}

// changed returns the addresses in which these IPAddresses replace the IPAddresses of the same names, or without the
// IPAddresses of these names unless keep is true. The receiver stays as it is. It costs O(log n) for each of them,
// after the first call has sorted the addresses.
func (a addresses) changed(by []*networkingv1.IPAddress, keep bool) (next addresses, changes []addressChange) {
	next = a
	noted := &next
	if !keep {
		noted = &addresses{} // what is not there cannot be removed
	}
	named := noted.named(by)
	if len(named) == 0 {
		return next, nil
	}
	slices.SortStableFunc(named, func(a, b *networkingv1.IPAddress) int { return strings.Compare(a.Name, b.Name) })
	edit := a.sorted().Edit()
	for len(named) > 0 {
		var c addressChange
		name := named[0].Name
		for len(named) > 0 && named[0].Name == name {
			c.after = append(c.after, newAddress(named[0]))
			named = named[1:]
		}
		c.at = c.after[0].at
		if !keep {
			c.after = nil
		}
		// An IPAddress whose label ip-family changes leaves one family and enters another one.
		for _, f := range allFamilies() {
			after := slices.DeleteFunc(slices.Clone(c.after), func(a address) bool { return a.family != f })
			c.before = append(c.before, edit.Replace(position{f, c.at, name}, after...)...)
		}
		changes = append(changes, c)
	}
	// The closure has only the new list, so that a chain of events does not keep the older ones.
	sorted := edit.Sorted()
	next.sorted = func() *sortedAddresses { return sorted }
	return next, changes
}

// allFamilies returns the families that an IPAddress can have.
func allFamilies() [4]family { return [...]family{none, ipv4, ipv6, noFamily} }

// familiesOf returns the families of the addresses.
func familiesOf(list []address) (families family) {
	for _, a := range list {
		families |= a.family
	}
	return families
}

// in calls found for each address of the family in the range, in order, until found returns false.
func (a addresses) in(f family, r netipx.IPRange, found func(address) bool) {
	// An empty name sorts before all names, so this begins with the first IPAddress of the address.
	for x := range a.sorted().From(position{family: f, at: r.From()}) {
		if x.family != f || r.To().Less(x.at) || !found(x) {
			return
		}
	}
}

// any reports whether an address of these families is in the ranges. It costs one search for each family and range,
// since the first address ends it.
func (a addresses) any(of family, ranges []netipx.IPRange) (found bool) {
	for _, r := range ranges {
		for _, f := range allFamilies() {
			if f&of != none {
				a.in(f, r, func(address) bool {
					found = true
					return false
				})
			}
		}
		if found {
			return true
		}
	}
	return false
}

// unparsable returns an error for each address of these families whose name is not an address. They are at the front of
// each family, so it costs nothing if all names are addresses.
func (a addresses) unparsable(of family) (problems []*purekube.ObjectError) {
	add := func(name string) {
		_, err := netip.ParseAddr(name)
		problems = append(problems, &purekube.ObjectError{Kind: kindIPAddress, Name: name, Field: "metadata.name", Err: err})
	}
	if a.nameless&of != none {
		add("")
	}
	for _, f := range allFamilies() {
		if f&of == none {
			continue
		}
		for x := range a.sorted().From(position{family: f}) {
			if x.family != f || x.at.IsValid() {
				break
			}
			add(x.ip.Name)
		}
	}
	return problems
}

// unknown returns an error for each IPAddress that may be any address of these families. A nil IPAddress has no labels
// to read, so it may be of every family.
func (a addresses) unknown(of family) []*purekube.ObjectError {
	problems := a.unparsable(of)
	if a.hasNil {
		problems = append(problems, &purekube.ObjectError{Kind: kindIPAddress, Err: purekube.ErrNil})
	}
	return problems
}
