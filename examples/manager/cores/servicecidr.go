package cores

import (
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/examples/manager/controller"
	"github.com/purekube/purekube/servicecidr"
)

// serviceCIDRRetries is how often a failed ServiceCIDR is tried again before it rests, as kube-controller-manager does
// (BR-31-04): after 5 ms, then twice as long each time, up to 81.92 s. The delays are those of the queue.
const serviceCIDRRetries = 15

func newServiceCIDR(c *Cluster) Runner {
	// The grace period counts from when this manager saw the deletion, so that no other clock decides. Only the handler of
	// ServiceCIDRs uses the map.
	seen := map[types.UID]time.Time{}
	index := servicecidr.NewIndex(servicecidr.Snapshot{DeletionSeen: map[types.UID]time.Time{}}, c.ServiceCIDR)
	r := controller.New("servicecidr", index, c.Client, c.Events, controller.Options[*servicecidr.Index, servicecidr.Snapshot, purekube.Key]{
		Begin:   func(x *servicecidr.Index) []purekube.Key { return begin(x.PlanAll()) },
		At:      func(now time.Time, _ *servicecidr.Index) servicecidr.Snapshot { return servicecidr.Snapshot{Now: now} },
		Retries: serviceCIDRRetries, // of writes: only an event mends an object that a plan finds wrong
	})
	controller.Watch(r, c.Informers.Networking().V1().ServiceCIDRs().Informer(), func(o *networkingv1.ServiceCIDR) servicecidr.Snapshot {
		s := servicecidr.Snapshot{ServiceCIDRs: []*networkingv1.ServiceCIDR{o}}
		if o.DeletionTimestamp != nil {
			if seen[o.UID].IsZero() {
				seen[o.UID] = time.Now()
			}
			s.DeletionSeen = map[types.UID]time.Time{o.UID: seen[o.UID]}
		}
		return s
	}, func(o *networkingv1.ServiceCIDR) { delete(seen, o.UID) })
	controller.Watch(r, c.Informers.Networking().V1().IPAddresses().Informer(), func(o *networkingv1.IPAddress) servicecidr.Snapshot {
		return servicecidr.Snapshot{IPAddresses: []*networkingv1.IPAddress{o}}
	})
	return r
}
