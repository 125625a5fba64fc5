package clientgo

import (
	"fmt"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/internal/reconcile/cidrmemory"
	"github.com/purekube/purekube/servicecidr"
)

// ServiceCIDRController is the controller of [NewServiceCIDR].
type ServiceCIDRController = Controller[*servicecidr.Index, servicecidr.Snapshot, servicecidr.Action]

// serviceCIDRRetries is how often a failed ServiceCIDR is tried again before it rests, as kube-controller-manager does
// (BR-31-04): after 5 ms, then twice as long each time, up to 81.92 s.
const serviceCIDRRetries = 15

// NewServiceCIDR returns a controller of ServiceCIDRs. It watches ServiceCIDRs and IPAddresses.
//
// It removes a finalizer only when both caches are known to have everything up to the end of the grace period. It asks
// the API server by Cluster.Metadata how far that is. It is an error if an informer has no method
// LastSyncResourceVersion() string.
func NewServiceCIDR(c Cluster, o servicecidr.Options) (*ServiceCIDRController, error) {
	type S = servicecidr.Snapshot
	caches := &upToDate{wanted: make(chan struct{}, 1)}
	m := &cidrmemory.Memory{Grace: ptr.Deref(o.GracePeriod, servicecidr.DeletionGracePeriod), Caches: caches}
	index := servicecidr.NewIndex(S{DeletionSeen: map[types.UID]time.Time{}}, o)
	controller, err := NewController("servicecidr", index, c, Options[*servicecidr.Index, S]{
		At: m.At, Restored: m.Restored,
		Retries: serviceCIDRRetries, // of writes: only an event mends an object that a plan finds wrong
	})
	if err != nil {
		return nil, err
	}
	Watch(controller, func(o *networkingv1.ServiceCIDR) S { return m.See(time.Now(), o) }, m.Gone)
	Watch(controller, func(o *networkingv1.IPAddress) S { return S{IPAddresses: []*networkingv1.IPAddress{o}} })
	if controller.broken != nil {
		return controller, controller.broken
	}
	if err := caches.of(controller.watched, c.Metadata); err != nil {
		return nil, fmt.Errorf("servicecidr: %w", err)
	}
	controller.beside = caches.run
	return controller, nil
}
