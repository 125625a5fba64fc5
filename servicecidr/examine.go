package servicecidr

import (
	"net/netip"

	"go4.org/netipx"
	networkingv1 "k8s.io/api/networking/v1"
)

// examination is all that is known about the deletion of one ServiceCIDR.
type examination struct {
	obstacles
	Deletion
	// covers are, for each prefix of the ServiceCIDR, the others that bear on it.
	covers []covers
}

// covers are the other ServiceCIDRs that bear on the addresses of one prefix.
type covers struct {
	by, unreliable []*object // contain it as a whole; see Coverage
	inside         []*object // reliable, with a prefix inside; only where by is empty
}

// addresses are the IPAddresses of a snapshot.
type addresses interface {
	// orphans returns those that lie in the ranges and count for one of the families, in the form
	// that Deletion has them, and the ones whose name is not an address.
	orphans(exposed *netipx.IPSet, families family) (orphans []Orphan, unparsable []unparsable, anyNil bool)
}

// addressList answers by a pass over all addresses.
type addressList []*networkingv1.IPAddress

func (l addressList) orphans(exposed *netipx.IPSet, families family) (orphans []Orphan, bad []unparsable, anyNil bool) {
	for _, ip := range l {
		if ip == nil {
			anyNil = true
			continue
		}
		a, err := netip.ParseAddr(ip.Name)
		if err != nil {
			if f := familyOf(ip); f != none {
				bad = append(bad, unparsable{f, unparsableName(ip, err)})
			}
		} else if exposed.Contains(a) && familyOf(ip)&families != none {
			orphans = append(orphans, orphanOf(a, ip))
		}
	}
	return sortOrphans(orphans), bad, anyNil
}

// examine finds out whether x may go, or might go if its deletion began now.
func (all objects) examine(x *object, ps *prefixes, ips addresses, o Options) examination {
	exposed := ps.exposed(x)
	orphans, bad, anyNil := ips.orphans(exposed, x.families)

	e := examination{Deletion: Deletion{Orphans: orphans}}
	for _, p := range x.prefixes {
		own := ps.at[p]
		var c covers
		c.by, c.unreliable = ps.containing(x, own)
		if len(c.by) == 0 {
			c.inside = ps.inside(x, own)
		}
		e.covers = append(e.covers, c)
		e.Coverage = append(e.Coverage, Coverage{Prefix: p, By: namesOf(c.by), Unreliable: namesOf(c.unreliable)})
	}
	if e.blocked = len(orphans) > 0; e.blocked {
		e.duplicates = all.duplicatesOverlapping(x)
	}
	if !o.matchUpstream() {
		e.doubts = doubts(x, len(exposed.Ranges()) > 0, anyNil, bad)
	}
	e.Safe = e.obstacles.none()
	return e
}

func namesOf(all []*object) []string {
	var names []string
	for _, x := range all {
		names = append(names, x.Name)
	}
	return names
}
