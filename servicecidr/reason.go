package servicecidr

import "github.com/purekube/purekube"

// Reason is one step on the way to a decision. Field is a path in the ServiceCIDR. Object is the other ServiceCIDR, or
// the IPAddress, that the step is about.
type Reason = purekube.Reason[Code]

// Code is the machine-readable part of a [Reason]. It is one of the constants below; a new version may add codes.
type Code string

// The codes are stable: programs compare them, and people read the messages.

// What the plan does and why. Each explanation begins with one or two of these.
const (
	// ReasonUnprotected: the finalizer is missing, and AddFinalizer adds it (BR-31-01).
	ReasonUnprotected Code = "Unprotected"
	// ReasonConditionDiffers: the condition Ready is missing or different, and SetCondition writes it.
	ReasonConditionDiffers Code = "ConditionDiffers"
	// ReasonUpToDate: it is not being deleted, and has its finalizer and condition.
	ReasonUpToDate Code = "UpToDate"
	// ReasonBlocked: addresses would be orphaned (BR-31-02).
	ReasonBlocked Code = "Blocked"
	// ReasonUncertain: no address is known to block the deletion, but an object that cannot be read may block it. The
	// finalizer stays.
	ReasonUncertain Code = "Uncertain"
	// ReasonGracePeriod: it may go once the grace period is over (BR-31-03).
	ReasonGracePeriod Code = "GracePeriod"
	// ReasonRemovable: it may go, and RemoveFinalizer removes the finalizer.
	ReasonRemovable Code = "Removable"
	// ReasonReleased: it may go, and the finalizer is already removed. Only other finalizers delay its deletion.
	ReasonReleased Code = "Released"
)

// What an entry of spec.cidrs contributes. Field is the entry.
const (
	// ReasonContained: a prefix of another ServiceCIDR contains the whole entry (BR-31-05).
	ReasonContained Code = "Contained"
	// ReasonContainedByDeleting: a prefix of another ServiceCIDR contains the entry, but that ServiceCIDR is being
	// deleted too and may be gone first (D-1).
	ReasonContainedByDeleting Code = "ContainedByDeleting"
	// ReasonContainedByUnprotected: a prefix of another ServiceCIDR contains the entry, but that ServiceCIDR does not
	// have the finalizer and may be gone at any moment (D-25).
	ReasonContainedByUnprotected Code = "ContainedByUnprotected"
	// ReasonContainedInPart: a prefix of another ServiceCIDR contains a part of the entry.
	ReasonContainedInPart Code = "ContainedInPart"
	// ReasonAddressesOrphaned: addresses would be orphaned. Object is the first of these addresses.
	ReasonAddressesOrphaned Code = "AddressesOrphaned"
	// ReasonNoAddresses: no address would be orphaned.
	ReasonNoAddresses Code = "NoAddresses"
	// ReasonUnparsable: the entry does not parse, or spec.cidrs is empty (D-2).
	ReasonUnparsable Code = "Unparsable"
)

// What is uncertain.
const (
	// ReasonAddressUnknown: an IPAddress is nil, or its name is not an address. It may be an address of this
	// ServiceCIDR.
	ReasonAddressUnknown Code = "AddressUnknown"
	// ReasonDuplicate: several ServiceCIDRs have the name of Object. If Object is the explained ServiceCIDR, nothing
	// is decided about it. Otherwise, a ServiceCIDR of that name overlaps the explained one and may contain its
	// addresses, but it does not count.
	ReasonDuplicate Code = "Duplicate"
)
