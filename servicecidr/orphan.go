package servicecidr

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Orphan is an address that would be left without a range, with the object that it belongs to.
type Orphan struct {
	// Address is the address.
	Address netip.Addr `json:"address"`
	// IPAddress is the name of the IPAddress object. It is the address in canonical form wherever
	// an API server has checked it.
	IPAddress string `json:"ipAddress"`
	// Parent is the object that the address belongs to, from spec.parentRef: a Service, as a rule.
	// The zero value where the IPAddress names none.
	Parent networkingv1.ParentReference `json:"parent"`
}

// Service returns the Service that the address belongs to, and false if its parent is another
// kind of object or none.
func (a Orphan) Service() (types.NamespacedName, bool) {
	if a.Parent.Group != "" || a.Parent.Resource != "services" {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: a.Parent.Namespace, Name: a.Parent.Name}, true
}

// String reads "10.96.0.7 (Service shop/cart)"; for another parent its resource and group stand
// where "Service" does, and without a parent it is the address alone.
func (a Orphan) String() string {
	if a.Parent == (networkingv1.ParentReference{}) {
		return a.Address.String()
	}
	kind := a.Parent.Resource
	if _, ok := a.Service(); ok {
		kind = "Service"
	} else if a.Parent.Group != "" {
		kind += "." + a.Parent.Group
	}
	name := a.Parent.Name
	if a.Parent.Namespace != "" {
		name = a.Parent.Namespace + "/" + name
	}
	return a.Address.String() + " (" + strings.TrimSpace(kind+" "+name) + ")"
}

func orphanOf(a netip.Addr, ip *networkingv1.IPAddress) Orphan {
	o := Orphan{Address: a, IPAddress: ip.Name}
	if ip.Spec.ParentRef != nil {
		o.Parent = *ip.Spec.ParentRef
	}
	return o
}

// orphans returns the addresses of these families in the ranges, sorted, each once: the first ones, and whether there are
// more, or all for a limit of 0 or less.
func (x *Index) orphans(ranges []netipx.IPRange, families family, limit int) (orphans []Orphan, more bool) {
	for i := range len(countedAddresses{}) {
		different := 0 // of this family: the first of all are among the first of each
		for _, r := range ranges {
			x.ips.in(families&(1<<i), r, func(a netip.Addr, ip *networkingv1.IPAddress) bool {
				// They come in order. Those of one address come in any, so all of them are looked at.
				if different == 0 || orphans[len(orphans)-1].Address != a {
					different++
				}
				orphans = append(orphans, orphanOf(a, ip))
				return limit <= 0 || different <= limit
			})
			if limit > 0 && different > limit {
				break
			}
		}
	}
	orphans = sortOrphans(orphans)
	if limit <= 0 || len(orphans) <= limit {
		return orphans, false
	}
	return slices.Clip(orphans[:limit]), true
}

// sortOrphans sorts by address, name and parent, and keeps each once.
func sortOrphans(orphans []Orphan) []Orphan {
	slices.SortFunc(orphans, func(a, b Orphan) int {
		return cmp.Or(
			a.Address.Compare(b.Address), cmp.Compare(a.IPAddress, b.IPAddress),
			cmp.Compare(a.Parent.Group, b.Parent.Group), cmp.Compare(a.Parent.Resource, b.Parent.Resource),
			cmp.Compare(a.Parent.Namespace, b.Parent.Namespace), cmp.Compare(a.Parent.Name, b.Parent.Name),
		)
	})
	return slices.Compact(orphans)
}
