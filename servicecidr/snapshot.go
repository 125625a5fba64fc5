package servicecidr

import (
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

const (
	// Finalizer keeps a ServiceCIDR until its addresses are gone or in other ServiceCIDRs (BR-31-01).
	Finalizer = "networking.k8s.io/service-cidr-finalizer"
	// fieldManager is the field manager that applies the condition Ready.
	fieldManager = "service-cidr-controller"
	// ManagedBy is the value of the label networkingv1.LabelManagedBy on the IPAddresses that
	// the API server allocates for Services. Others do not count.
	ManagedBy = "ipallocator.k8s.io"
	// DeletionGracePeriod is how long the finalizer stays on a ServiceCIDR that may go (BR-31-03). It begins at the
	// deletion timestamp, or at the time in Snapshot.DeletionSeen if that is later. After it, the allocator of every
	// API server knows of the deletion and takes no more addresses from the ServiceCIDR.
	DeletionGracePeriod = 10 * time.Second
)

// Snapshot is what a plan is made from. Nothing in it is written to.
type Snapshot struct {
	// Now is the time of the decision, and of the condition that a plan sets.
	Now time.Time
	// ServiceCIDRs are all ServiceCIDRs of the cluster.
	ServiceCIDRs []*networkingv1.ServiceCIDR
	// IPAddresses are all IPAddresses of the cluster. An IPAddress without both labels of the allocator does not count:
	// managed-by with the value [ManagedBy], and ip-family.
	IPAddresses []*networkingv1.IPAddress
	// DeletionSeen says when the caller first saw that each ServiceCIDR is being deleted, by UID, according to the
	// clock of Now. The grace period then begins at the later of that time and the deletion timestamp. ServiceCIDRs
	// that are being deleted are ordered by that time (D-1), so that no API server's clock decides.
	//
	// If the map has no entry or a zero time for a ServiceCIDR, its deletion counts as first seen at Now. Every plan
	// then keeps the finalizer for a grace period from Now on, until there is an entry, and no other ServiceCIDR may
	// rely on this one. A nil map means that the caller does not record deletions: only the deletion timestamps count.
	// MatchUpstream ignores the map.
	DeletionSeen map[types.UID]time.Time
}

// Options change how a plan is made. The zero value asks for the default decisions.
type Options struct {
	// MatchUpstream asks for the requests that kube-controller-manager of that release would send, its defects
	// included: the differences that the package comment lists do not apply. The zero value asks for the default
	// decisions.
	MatchUpstream purekube.Upstream
	// GracePeriod replaces DeletionGracePeriod. If it is zero or negative, there is no grace period. Duty 2 of the
	// package comment says how long it must be.
	GracePeriod *time.Duration
}

// matchUpstream reports whether the divergences do not apply.
func (o Options) matchUpstream() bool { return o.MatchUpstream != "" }

// err is what is wrong with the options: every answer says so, and nothing else.
func (o Options) err() error { return snapshot.CheckUpstream(o.MatchUpstream) }

// gracePeriod returns the time that BR-31-03 waits. A pointer tells "no wait" from "the default".
func (o Options) gracePeriod() time.Duration {
	if o.GracePeriod != nil {
		return *o.GracePeriod
	}
	return DeletionGracePeriod
}

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
