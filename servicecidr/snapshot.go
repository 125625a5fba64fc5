package servicecidr

import (
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

const (
	// Finalizer keeps a ServiceCIDR until its addresses are gone or covered (BR-31-01).
	Finalizer = "networking.k8s.io/service-cidr-finalizer"
	// FieldManager applies the condition Ready.
	FieldManager = "service-cidr-controller"
	// ManagedBy is the value of the label networkingv1.LabelManagedBy on the IPAddresses that
	// the API server allocates for Services. Others do not count.
	ManagedBy = "ipallocator.k8s.io"
	// DeletionGracePeriod is how long the finalizer stays on a ServiceCIDR that may go, from
	// its deletion timestamp on, or from the time in Snapshot.DeletionSeen on if that is later, so
	// that every API server's allocator has heard of the deletion and takes no more addresses from it (BR-31-03).
	DeletionGracePeriod = 10 * time.Second
)

// Snapshot is what a plan is made from. Nothing in it is written to.
type Snapshot struct {
	// Now is the time of the decision, and of the condition that a plan sets.
	Now time.Time
	// ServiceCIDRs are all of the cluster's.
	ServiceCIDRs []*networkingv1.ServiceCIDR
	// IPAddresses are all of the cluster's.
	IPAddresses []*networkingv1.IPAddress
	// DeletionSeen says when the caller first saw each ServiceCIDR being deleted, by UID and by the clock that Now is
	// from. The grace period then counts from the later of the deletion timestamp and that time, and the ServiceCIDRs
	// that are being deleted are ordered by it (D-1), so that the clock of no API server decides.
	//
	// Where the map has no entry, or a zero time, the deletion is first seen now: the finalizer stays for a grace
	// period from Now on, in each plan anew until there is an entry, and the ServiceCIDR covers no addresses of others.
	// A nil map says that the caller does not record deletions: the deletion timestamps alone count. MatchUpstream does
	// not read it.
	DeletionSeen map[types.UID]time.Time
}

// Options change how a plan is made. The zero value asks for the default decisions.
type Options struct {
	// MatchUpstream asks for the requests that kube-controller-manager of that release would send, its defects
	// included: the differences that the package comment lists do not apply. The zero value asks for the default
	// decisions.
	MatchUpstream purekube.Upstream
	// GracePeriod replaces DeletionGracePeriod. Zero or negative: none. The package comment says what it must be longer
	// than.
	GracePeriod *time.Duration
}

func (o Options) matchUpstream() bool { return o.MatchUpstream != "" }

// err is what is wrong with the options: every answer says so, and nothing else.
func (o Options) err() error { return snapshot.CheckUpstream(o.MatchUpstream) }

func (o Options) gracePeriod() time.Duration {
	if o.GracePeriod != nil {
		return *o.GracePeriod
	}
	return DeletionGracePeriod
}

// Result is what a plan for one ServiceCIDR decided. It has no events and no lookups.
type Result = purekube.Result[Action]

// Outcome is one ServiceCIDR's share of [PlanAll].
type Outcome = purekube.Outcome[Action]

// Key returns the key of the ServiceCIDR of this name.
func Key(name string) purekube.Key { return purekube.Key{Kind: kindServiceCIDR, Name: name} }

// KeyOf returns the key of a ServiceCIDR. It returns the zero key for nil.
func KeyOf(c *networkingv1.ServiceCIDR) purekube.Key {
	if c == nil {
		return purekube.Key{}
	}
	return Key(c.Name)
}

const (
	kindServiceCIDR = "ServiceCIDR"
	kindIPAddress   = "IPAddress"
)
