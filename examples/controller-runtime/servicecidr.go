package main

import (
	"context"
	"errors"
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/purekube/purekube/servicecidr"
)

func newServiceCIDRReconciler(c client.Client, recorder events.EventRecorder) *reconciler[string, servicecidr.Action] {
	var seen deletions
	return &reconciler[string, servicecidr.Action]{client: c, events: recorder,
		plan: func(ctx context.Context, name string) (servicecidr.Result, error) {
			s, err := serviceCIDRs(ctx, c)
			if err != nil {
				return servicecidr.Result{}, err
			}
			s.DeletionSeen = seen.record(s)
			result, err := servicecidr.Plan(s, name, servicecidr.Options{})
			logProblems(ctx, err)
			return result, nil
		}}
}

// deletions are the times at which the deletions of ServiceCIDRs were first seen. The grace period is counted from
// them, and no other clock is involved.
type deletions struct {
	mu   sync.Mutex
	seen map[types.UID]time.Time
}

// record returns the times for the ServiceCIDRs of the snapshot, and forgets those of others.
func (d *deletions) record(s servicecidr.Snapshot) map[types.UID]time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := map[types.UID]time.Time{}
	for _, c := range s.ServiceCIDRs {
		if c.DeletionTimestamp == nil {
			continue
		}
		now[c.UID] = s.Now
		if first, found := d.seen[c.UID]; found {
			now[c.UID] = first
		}
	}
	d.seen = now
	return now
}

// serviceCIDRs reads all ServiceCIDRs and IPAddresses.
func serviceCIDRs(ctx context.Context, c client.Reader) (servicecidr.Snapshot, error) {
	var cidrs networkingv1.ServiceCIDRList
	var addresses networkingv1.IPAddressList
	err := errors.Join(c.List(ctx, &cidrs), c.List(ctx, &addresses))
	return servicecidr.Snapshot{Now: time.Now(), ServiceCIDRs: pointers(cidrs.Items), IPAddresses: pointers(addresses.Items)}, err
}

func setUpServiceCIDRs(m manager.Manager) error {
	c := m.GetClient()
	return builder.TypedControllerManagedBy[string](m).Named("servicecidr").WithOptions(options[string]()).
		Watches(&networkingv1.ServiceCIDR{}, handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []string {
			s, err := serviceCIDRs(ctx, c)
			if err != nil {
				return nil // only before the caches have synced, and then every object comes again
			}
			return servicecidr.AffectedByServiceCIDR(s, nil, o.(*networkingv1.ServiceCIDR), servicecidr.Options{})
		})).
		Watches(&networkingv1.IPAddress{}, handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []string {
			s, err := serviceCIDRs(ctx, c)
			if err != nil {
				return nil
			}
			return servicecidr.AffectedByIPAddress(s, nil, o.(*networkingv1.IPAddress), servicecidr.Options{})
		})).
		Complete(newServiceCIDRReconciler(c, m.GetEventRecorder("servicecidr")))
}
