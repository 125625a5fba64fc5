package clientgo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// PackageOptions are the options of each package. The zero value is the careful default.
type PackageOptions struct {
	ServiceCIDR   servicecidr.Options
	ResourceClaim resourceclaim.Options
	TTL           ttl.Options
	RBACAggregate rbacaggregate.Options
	Disruption    disruption.Options
}

// Match returns the options that make the requests of that release's kube-controller-manager; the zero value if it is
// empty.
func Match(r purekube.Upstream) PackageOptions {
	return PackageOptions{
		ServiceCIDR:   servicecidr.Options{MatchUpstream: r},
		ResourceClaim: resourceclaim.Options{MatchUpstream: r},
		RBACAggregate: rbacaggregate.Options{MatchUpstream: r},
		Disruption:    disruption.Options{MatchUpstream: r},
	}
}

// constructors are the constructors of the five controllers by name.
var constructors = map[string]func(Cluster, PackageOptions) (Runner, error){
	"servicecidr":   func(c Cluster, o PackageOptions) (Runner, error) { return NewServiceCIDR(c, o.ServiceCIDR) },
	"resourceclaim": func(c Cluster, o PackageOptions) (Runner, error) { return NewResourceClaim(c, o.ResourceClaim) },
	"ttl":           func(c Cluster, o PackageOptions) (Runner, error) { return NewTTL(c, o.TTL) },
	"rbacaggregate": func(c Cluster, o PackageOptions) (Runner, error) { return NewRBACAggregate(c, o.RBACAggregate) },
	"disruption":    func(c Cluster, o PackageOptions) (Runner, error) { return NewDisruption(c, o.Disruption) },
}

// Names are the names of all controllers, sorted.
func Names() []string { return slices.Sorted(maps.Keys(constructors)) }

// NewRunner returns the controller of that name: what NewServiceCIDR, NewTTL and so on return.
func NewRunner(name string, c Cluster, o PackageOptions) (Runner, error) {
	constructor := constructors[name]
	if constructor == nil {
		return nil, fmt.Errorf("unknown controller %q: known are %s", name, strings.Join(Names(), ", "))
	}
	return constructor(c, o)
}
