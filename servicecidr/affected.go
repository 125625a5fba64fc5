package servicecidr

import (
	"net/netip"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube"
)

// affectsOthers says whether the event can change the plans of other ServiceCIDRs.
func affectsOthers(was, is *object, o Options) bool {
	switch {
	case o.matchUpstream():
		return was == nil
	case was == nil || is == nil:
		return true
	}
	return was.goes.compare(is.goes) != 0 || was.covers.compare(is.covers) != 0 || was.Name != is.Name ||
		!slices.Equal(was.Spec.CIDRs, is.Spec.CIDRs)
}

// prefixesOf returns the entries of spec.cidrs that parse.
func prefixesOf(c *networkingv1.ServiceCIDR) []netip.Prefix {
	if c == nil {
		return nil
	}
	var prefixes []netip.Prefix
	for _, s := range c.Spec.CIDRs {
		if p, err := netip.ParsePrefix(s); err == nil {
			prefixes = append(prefixes, p.Masked())
		}
	}
	return prefixes
}

// affectsCIDRs says whether the event can change the plan of any ServiceCIDR.
func affectsCIDRs(oldObj, newObj *networkingv1.IPAddress, o Options) bool {
	if oldObj == nil || newObj == nil {
		return oldObj != newObj
	}
	if o.matchUpstream() {
		return false // upstream does not listen to updates
	}
	return oldObj.Name != newObj.Name || managed(oldObj) != managed(newObj) || familyOf(oldObj) != familyOf(newObj)
}

func managed(ip *networkingv1.IPAddress) bool { return ip.Labels[labelManaged] == ManagedBy }

func appendNames(names []string, cidrs []*networkingv1.ServiceCIDR) []string {
	for _, c := range cidrs {
		names = append(names, c.Name)
	}
	return names
}

// sortedKeys returns the keys of the names, sorted, each once; none is empty, since no plan has that key.
func sortedKeys(names []string) []purekube.Key {
	slices.Sort(names)
	var keys []purekube.Key
	for _, name := range slices.Compact(names) {
		if name != "" {
			keys = append(keys, Key(name))
		}
	}
	return keys
}

func mergedKeys(keys []purekube.Key, names []string) []purekube.Key {
	for _, key := range keys {
		names = append(names, key.Name)
	}
	return sortedKeys(names)
}
