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

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/servicecidr"
)

func newServiceCIDRReconciler(c client.Client, recorder events.EventRecorder) *reconciler[purekube.Key, servicecidr.Action] {
	var seen deletions
	return &reconciler[purekube.Key, servicecidr.Action]{client: c, events: recorder,
		plan: func(ctx context.Context, key purekube.Key) (servicecidr.Result, error) {
			s, err := serviceCIDRs(ctx, c)
			if err != nil {
				return servicecidr.Result{}, err
			}
			s.DeletionSeen = seen.record(s)
			result, err := servicecidr.Plan(s, key, servicecidr.Options{})
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

// affectedRanges are the keys to plan after an event about one object, whichever event it was.
func affectedRanges(s, changed servicecidr.Snapshot) []purekube.Key {
	s.IPAddresses = nil // what an event affects does not depend on other addresses
	without, gone := servicecidr.NewIndex(s, servicecidr.Options{}).Without(changed)
	_, added := without.With(changed)
	return append(gone, added...)
}

func setUpServiceCIDRs(m manager.Manager) error {
	c := m.GetClient()
	return builder.TypedControllerManagedBy[purekube.Key](m).Named("servicecidr").WithOptions(options[purekube.Key]()).
		Watches(&networkingv1.ServiceCIDR{}, handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []purekube.Key {
			s, err := serviceCIDRs(ctx, c)
			if err != nil {
				return nil // only before the caches have synced, and then every object comes again
			}
			return affectedRanges(s, servicecidr.Snapshot{ServiceCIDRs: []*networkingv1.ServiceCIDR{o.(*networkingv1.ServiceCIDR)}})
		})).
		Watches(&networkingv1.IPAddress{}, handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []purekube.Key {
			s, err := serviceCIDRs(ctx, c)
			if err != nil {
				return nil
			}
			return affectedRanges(s, servicecidr.Snapshot{IPAddresses: []*networkingv1.IPAddress{o.(*networkingv1.IPAddress)}})
		})).
		Complete(newServiceCIDRReconciler(c, m.GetEventRecorder("servicecidr")))
}
