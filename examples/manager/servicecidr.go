package main

import (
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube/examples/manager/controller"
	"github.com/purekube/purekube/servicecidr"
)

func newServiceCIDR(c *cluster) runner {
	index := servicecidr.NewIndex(servicecidr.Snapshot{}, servicecidr.Options{MatchUpstream: c.release})
	r := controller.New("servicecidr", index, c.client, c.events, controller.Options[*servicecidr.Index, servicecidr.Snapshot]{
		At:            func(now time.Time, _ *servicecidr.Index) servicecidr.Snapshot { return servicecidr.Snapshot{Now: now} },
		RetryProblems: true,
		Retries:       servicecidr.MaxRetries,
	})
	controller.Watch(r, c.informers.Networking().V1().ServiceCIDRs().Informer(), func(o *networkingv1.ServiceCIDR) servicecidr.Snapshot {
		return servicecidr.Snapshot{ServiceCIDRs: []*networkingv1.ServiceCIDR{o}}
	})
	controller.Watch(r, c.informers.Networking().V1().IPAddresses().Informer(), func(o *networkingv1.IPAddress) servicecidr.Snapshot {
		return servicecidr.Snapshot{IPAddresses: []*networkingv1.IPAddress{o}}
	})
	return r
}
