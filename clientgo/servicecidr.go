package clientgo

import (
	"context"
	"fmt"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
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
// Before it removes a finalizer, it lists both with Cluster.ServiceCIDRs, and plans again: an informer whose watch
// hangs, or whose handlers are behind, does not show every address.
func NewServiceCIDR(c Cluster, o servicecidr.Options) (*ServiceCIDRController, error) {
	type S = servicecidr.Snapshot
	m := &cidrmemory.Memory{}
	index := servicecidr.NewIndex(S{DeletionSeen: map[types.UID]time.Time{}}, o)
	controller, err := NewController("servicecidr", index, c, Options[*servicecidr.Index, S]{
		At: func(now time.Time, _ *servicecidr.Index) S { return S{Now: now} },
		Confirm: func(ctx context.Context, _ purekube.Key) (S, error) {
			now := time.Now()
			s, err := c.ServiceCIDRs(ctx)
			return m.Confirm(now, s), err
		},
		Retries: serviceCIDRRetries, // of writes: only an event mends an object that a plan finds wrong
	})
	switch {
	case err != nil:
		return nil, err
	case c.ServiceCIDRs == nil:
		return nil, fmt.Errorf("servicecidr: %w", errNoLists)
	}
	Watch(controller, func(o *networkingv1.ServiceCIDR) S { return m.See(time.Now(), o) }, m.Gone)
	Watch(controller, func(o *networkingv1.IPAddress) S { return S{IPAddresses: []*networkingv1.IPAddress{o}} })
	return controller, controller.broken
}
