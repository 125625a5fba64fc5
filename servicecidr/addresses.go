package servicecidr

import (
	"net/netip"
	"slices"

	"go4.org/netipx"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// addresses are the IPAddresses of a snapshot: in a list, which answers by one pass over all of them,
// or arranged in order.
type addresses interface {
	// anyNil says whether a nil is among them.
	anyNil() bool
	// hold says of each set whether it holds an address that counts, and what is not known about
	// the addresses.
	hold(sets []set) ([]bool, unknown)
	// orphans returns the addresses in the set that count, in the form that Deletion has them, and what
	// is not known about the addresses. With a limit above 0 they are the first ones, and more says that
	// there are others.
	orphans(s set, limit int) (first []Orphan, more bool, u unknown)
}

// set is a set of addresses together with the families that count in it. The ranges are sorted and
// apart.
type set struct {
	ranges   []netipx.IPRange
	families family
}

func (s set) contains(a netip.Addr) bool {
	_, found := slices.BinarySearchFunc(s.ranges, a, func(r netipx.IPRange, a netip.Addr) int {
		switch {
		case r.To().Less(a):
			return -1
		case a.Less(r.From()):
			return 1
		}
		return 0
	})
	return found && a.Zone() == ""
}

// unknown is what is not known about the addresses of a snapshot.
type unknown struct {
	// anyNil: a nil is among them, which may be any address.
	anyNil bool
	// unparsable returns those that count and whose name is not an address.
	unparsable func() []unparsable
}

type unparsable struct {
	family  family
	problem *purekube.ObjectError
}

func unparsableOf(ip *networkingv1.IPAddress) (bad unparsable, counts bool) {
	f := familyOf(ip)
	if f == none {
		return unparsable{}, false
	}
	_, err := netip.ParseAddr(ip.Name)
	return unparsable{f, &purekube.ObjectError{Kind: kindIPAddress, Name: ip.Name, Field: "metadata.name", Err: err}}, true
}

// report adds what is wrong with the addresses as a whole. Under MatchUpstream a name that is not an
// address is passed over, as upstream does.
func (u unknown) report(problems *snapshot.Problems, o Options) {
	if u.anyNil {
		problems.Add(nilAddress())
	}
	if o.matchUpstream() {
		return
	}
	for _, bad := range u.unparsable() {
		problems.Add(bad.problem)
	}
}

func nilAddress() *purekube.ObjectError {
	return &purekube.ObjectError{Kind: kindIPAddress, Err: purekube.ErrNil}
}

// addressList answers by a pass over all addresses.
type addressList []*networkingv1.IPAddress

func (l addressList) anyNil() bool { return slices.Contains(l, nil) }

func (l addressList) hold(sets []set) ([]bool, unknown) {
	q := newSearch(sets)
	q.scan(l)
	held := make([]bool, len(sets))
	for i, s := range sets {
		held[i] = q.holds(s)
	}
	return held, unknown{q.anyNil, func() []unparsable { return q.unparsable }}
}

func (l addressList) orphans(s set, limit int) (first []Orphan, more bool, u unknown) {
	var orphans []Orphan
	var bad []unparsable
	u.unparsable = func() []unparsable { return bad }
	for _, ip := range l {
		if ip == nil {
			u.anyNil = true
			continue
		}
		a, err := netip.ParseAddr(ip.Name)
		if err != nil {
			if b, counts := unparsableOf(ip); counts {
				bad = append(bad, b)
			}
		} else if s.contains(a) && familyOf(ip)&s.families != none {
			orphans = append(orphans, orphanOf(a, ip))
		}
	}
	first, more = firstOrphans(orphans, limit)
	return first, more, u
}
