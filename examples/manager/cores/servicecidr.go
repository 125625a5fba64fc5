package cores

import (
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube/examples/manager/controller"
	"github.com/purekube/purekube/servicecidr"
)

func newServiceCIDR(c *Cluster) Runner {
	index := servicecidr.NewIndex(servicecidr.Snapshot{}, c.ServiceCIDR)
	r := controller.New("servicecidr", index, c.Client, c.Events, controller.Options[*servicecidr.Index, servicecidr.Snapshot, string]{
		Begin:   func(x *servicecidr.Index) []string { return begin(x.PlanAll()) },
		At:      func(now time.Time, _ *servicecidr.Index) servicecidr.Snapshot { return servicecidr.Snapshot{Now: now} },
		Retries: servicecidr.MaxRetries, // of writes: only an event mends an object that a plan finds wrong
	})
	controller.Watch(r, c.Informers.Networking().V1().ServiceCIDRs().Informer(), func(o *networkingv1.ServiceCIDR) servicecidr.Snapshot {
		return servicecidr.Snapshot{ServiceCIDRs: []*networkingv1.ServiceCIDR{o}}
	})
	controller.Watch(r, c.Informers.Networking().V1().IPAddresses().Informer(), func(o *networkingv1.IPAddress) servicecidr.Snapshot {
		return servicecidr.Snapshot{IPAddresses: []*networkingv1.IPAddress{o}}
	})
	return r
}
