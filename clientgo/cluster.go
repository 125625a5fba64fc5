package clientgo

import (
	"context"
	"errors"

	"k8s.io/client-go/tools/record"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/servicecidr"
)

// Cluster is what a controller works with. Controllers may share all of it. Give each a Client and a Lookup with a rate
// of its own where one of them must not use up the rate of the others.
type Cluster struct {
	// Informers are required. Start them when the controllers are made.
	Informers Informers
	// Client makes the writes of plans. It is required.
	Client Client
	// Lookup answers the Needs of plans. It is required for ResourceClaims and PodDisruptionBudgets.
	Lookup interface {
		Lookup(context.Context, purekube.Need) (purekube.Answer, error)
	}
	// ServiceCIDRs lists all ServiceCIDRs and IPAddresses, before a finalizer is removed: see [ListServiceCIDRs]. It is
	// required for ServiceCIDRs, and otherwise not used.
	ServiceCIDRs func(context.Context) (servicecidr.Snapshot, error)
	// PodGroups is required for ResourceClaims with resourceclaim.Options.PodGroupOf, and otherwise not used.
	PodGroups *PodGroups
	// Record records the events of plans: see [RecordTo]. Nil: they are dropped.
	Record func(purekube.Event)
	// Workers is how many plans each controller makes at the same time; 0 is 4.
	Workers int
	// Hooks add behaviour of your own.
	Hooks Hooks
}

var (
	errNoConfig    = errors.New("no configuration")
	errNoInformers = errors.New("no Informers: see FromFactory")
	errNoClient    = errors.New("no Client")
	errNoLookup    = errors.New("no Lookup: see LookupFor")
	errNoLists     = errors.New("no ServiceCIDRs to list: see ListServiceCIDRs")
)

func (c Cluster) check() error {
	switch {
	case c.Informers == nil:
		return errNoInformers
	case c.Client == nil:
		return errNoClient
	}
	return nil
}

// workers is how many plans a controller makes at the same time.
func (c Cluster) workers() int {
	if c.Workers < 1 {
		return 4
	}
	return c.Workers
}

// RecordTo records events with an event recorder of client-go. It cuts messages off at 1,024 bytes, which is what the
// API server takes.
func RecordTo(recorder record.EventRecorder) func(purekube.Event) {
	return func(e purekube.Event) {
		recorder.Event(&e.Regarding, e.Type, e.Reason, clip(e.Message, maxEvent))
	}
}
