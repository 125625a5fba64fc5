package bounds

import (
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/largecluster"
	"github.com/purekube/purekube/servicecidr"
)

var serviceCIDRs = Subject{Name: "servicecidr", Cluster: func(n int) Cluster {
	// Only administrators write ServiceCIDRs. An event of one costs a pass over all.
	const cidrs = 20
	c := largecluster.Addresses(cidrs, n-cidrs, 1)
	s := servicecidr.Snapshot{Now: largecluster.Now, ServiceCIDRs: c.ServiceCIDRs, IPAddresses: shuffled(c.IPAddresses)}
	x := servicecidr.NewIndex(s, servicecidr.Options{})
	// Of the ServiceCIDRs that are not being deleted, and have one other one around them at the most.
	number := func(i int) int { return 1 + at(i, cidrs-4)/4*4 + 2 }
	key := func(i int) purekube.Key { return servicecidr.KeyOf(s.ServiceCIDRs[number(i)]) }
	address := func(i int) servicecidr.Snapshot {
		i = at(i, len(s.IPAddresses))
		return servicecidr.Snapshot{IPAddresses: s.IPAddresses[i : i+1]}
	}
	return Cluster{
		Objects: n,
		NewIndex: func() any {
			x := servicecidr.NewIndex(s, servicecidr.Options{})
			_, err := x.Plan(key(0)) // arranges the addresses
			must(err)
			return x
		},
		Updated: func() any {
			x := servicecidr.NewIndex(s, servicecidr.Options{})
			all(x)
			for i := range s.IPAddresses {
				x, _ = x.With(servicecidr.Snapshot{IPAddresses: s.IPAddresses[i : i+1]})
			}
			return x
		},
		Questions: []Question{
			change("an address goes, and returns", func(i int) (int, int) { return returns(x, address(i)) }),
			change("a ServiceCIDR loses its finalizer", func(i int) (int, int) {
				changed := *s.ServiceCIDRs[number(i)]
				changed.Finalizers = nil
				return event(x, servicecidr.Snapshot{ServiceCIDRs: []*networkingv1.ServiceCIDR{&changed}})
			}),
			about("Plan", func(i int) (int, int) { return one(x, key(i)) }),
			about("CheckDeletion", func(i int) (int, int) { return explained(x.CheckDeletion(key(i), 10)) }),
			about("Explain", func(i int) (int, int) { return explained(x.Explain(key(i))) }),
			ofAll("NewIndex and Plan", func() (int, int) {
				return one(servicecidr.NewIndex(s, servicecidr.Options{}), key(0))
			}),
			ofAll("PlanAll", func() (int, int) { return all(x) }),
		},
	}
}}
