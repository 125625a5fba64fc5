package lint

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/servicecidr"
)

// serviceCIDRs finds ranges that overlap. Of two prefixes that overlap, one contains the other, so they are sorted
// with the larger one first, and each is compared with the nearest one that contains it.
func (l *linter) serviceCIDRs() {
	type entry struct {
		prefix netip.Prefix
		of     purekube.Key
		field  string
	}
	var all []entry
	for _, c := range l.set.ServiceCIDRs {
		if c == nil {
			continue
		}
		if len(c.Spec.CIDRs) == 0 {
			l.find(ServiceCIDRInvalid, servicecidr.KeyOf(c), "spec.cidrs",
				"required: a ServiceCIDR has one range, or one for each IP family")
		}
		for i, text := range c.Spec.CIDRs {
			field := fmt.Sprintf("spec.cidrs[%d]", i)
			prefix, err := netip.ParsePrefix(text)
			switch {
			case err != nil:
				l.find(ServiceCIDRInvalid, servicecidr.KeyOf(c), field,
					"is "+quoted(text)+`: must be a range such as "10.96.0.0/16"`)
			case prefix != prefix.Masked():
				l.find(ServiceCIDRInvalid, servicecidr.KeyOf(c), field,
					fmt.Sprintf("is %q, which has bits set beyond the prefix length: must be %q", text, prefix.Masked()))
			default:
				all = append(all, entry{prefix, servicecidr.KeyOf(c), field})
			}
		}
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(a.prefix.Addr().Compare(b.prefix.Addr()), cmp.Compare(a.prefix.Bits(), b.prefix.Bits()),
			a.of.Compare(b.of), cmp.Compare(a.field, b.field))
	})
	var around []entry // each contains the next one
	for _, e := range all {
		for len(around) > 0 && !around[len(around)-1].prefix.Overlaps(e.prefix) {
			around = around[:len(around)-1]
		}
		if len(around) > 0 {
			other := around[len(around)-1]
			l.find(ServiceCIDRsOverlap, e.of, e.field,
				fmt.Sprintf("%s is in the range %s of ServiceCIDR %s: it adds no addresses",
					e.prefix, other.prefix, other.of.Name))
		}
		around = append(around, e)
	}
}
