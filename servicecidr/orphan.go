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

// What a refusal shows: the addresses that keep a ServiceCIDR, with the Services that a user can move or delete to let
// it go.

// Orphan is an address that keeps a ServiceCIDR: it is in no other ServiceCIDR on which that one may rely (D-1, D-25).
// It has the object that the address belongs to. It is a value with its own copy of the parent, so that a caller may
// change it.
type Orphan struct {
	// Address is the address.
	Address netip.Addr `json:"address"`
	// IPAddress is the name of the IPAddress object. If an API server has validated the object, the name is the
	// address in canonical form.
	IPAddress string `json:"ipAddress"`
	// Parent is the object that the address belongs to, from spec.parentRef. Usually it is a Service. It is the zero
	// value if the IPAddress names no parent.
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

// String returns, for example, "10.96.0.7 (Service shop/cart)". For a parent that is not a Service, it has the
// resource and group of the parent. Without a parent, it is the address alone.
func (a Orphan) String() string {
	if a.Parent == (networkingv1.ParentReference{}) {
		return a.Address.String()
	}
	// Without a known kind, the resource is the best name: "gateways.gateway.networking.k8s.io".
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

// orphanOf returns the orphan of an IPAddress.
func orphanOf(a address) Orphan {
	o := Orphan{Address: a.at, IPAddress: a.ip.Name}
	if a.ip.Spec.ParentRef != nil {
		o.Parent = *a.ip.Spec.ParentRef
	}
	return o
}

// orphans returns the addresses of these families in the ranges, sorted, each once. If limit is above 0, it returns at
// most that many, the first by address, and whether there are more. With a limit, the cost does not grow with the
// number of addresses in the ranges: a /12 can have a million. ranges must be sorted and must not overlap.
func (x *Index) orphans(ranges []netipx.IPRange, of family, limit int) (orphans []Orphan, more bool) {
	// Families are searched one after the other, because each has a sorted list of its own. The order of families is
	// not the order of addresses: a manifest can label an IPv6 address with the family IPv4. So all are sorted once
	// more at the end.
	for _, f := range allFamilies() {
		if f&of == none {
			continue
		}
		different := 0 // of this family: the first of all are among the first of each
		for _, r := range ranges {
			x.addresses.in(f, r, func(a address) bool {
				// Addresses come in order, but IPAddresses of one address come in any order, so all of these are read.
				if different == 0 || orphans[len(orphans)-1].Address != a.at {
					different++
				}
				orphans = append(orphans, orphanOf(a))
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

// sortOrphans sorts by address, name and parent, and removes duplicates.
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
