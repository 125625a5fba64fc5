package clientgo

import (
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/servicecidr"
)

// ServiceCIDRController is the controller of [NewServiceCIDR].
type ServiceCIDRController = Controller[*servicecidr.Index, servicecidr.Snapshot, servicecidr.Action]

// serviceCIDRRetries is how often a failed ServiceCIDR is tried again before it rests, as kube-controller-manager does
// (BR-31-04): after 5 ms, then twice as long each time, up to 81.92 s.
const serviceCIDRRetries = 15

// NewServiceCIDR returns a controller of ServiceCIDRs. It watches ServiceCIDRs and IPAddresses.
func NewServiceCIDR(c Cluster, o servicecidr.Options) (*ServiceCIDRController, error) {
	type S = servicecidr.Snapshot
	// The grace period counts from when this controller saw the deletion, so that no other clock decides. Only the handler
	// of ServiceCIDRs uses the map. After a restore of etcd, a ServiceCIDR may not be being deleted any more: its next
	// deletion is another one.
	seen := map[types.UID]time.Time{}
	index := servicecidr.NewIndex(S{DeletionSeen: map[types.UID]time.Time{}}, o)
	controller, err := NewController("servicecidr", index, c, Options[*servicecidr.Index, S]{
		At:      func(now time.Time, _ *servicecidr.Index) S { return S{Now: now} },
		Retries: serviceCIDRRetries, // of writes: only an event mends an object that a plan finds wrong
	})
	if err != nil {
		return nil, err
	}
	Watch(controller, func(o *networkingv1.ServiceCIDR) S {
		s := S{ServiceCIDRs: []*networkingv1.ServiceCIDR{o}}
		if o.DeletionTimestamp != nil {
			if seen[o.UID].IsZero() {
				seen[o.UID] = time.Now()
			}
			s.DeletionSeen = map[types.UID]time.Time{o.UID: seen[o.UID]}
		} else {
			delete(seen, o.UID)
		}
		return s
	}, func(o *networkingv1.ServiceCIDR) { delete(seen, o.UID) })
	Watch(controller, func(o *networkingv1.IPAddress) S { return S{IPAddresses: []*networkingv1.IPAddress{o}} })
	return controller, controller.broken
}
