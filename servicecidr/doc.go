// Package servicecidr decides what kube-controller-manager's ServiceCIDR controller decides:
// which ServiceCIDRs get the protecting finalizer and the condition Ready, and whether one that
// is being deleted may go. It may go when no Service's address would be left without a range
// (BR-31-02); [CheckDeletion] names the addresses that stand in the way.
//
//	snapshot ──► Plan ──► AddFinalizer, SetCondition, RemoveFinalizer, or "look again at …"
//
// # What contains what
//
// A prefix contains an address of its family, except its network address and, IPv4 only, its
// broadcast address: no allocator hands those out, so no Service can have them from that prefix.
// A /31, a /32 and a /128 therefore contain nothing, a /127 one address. Everything a prefix
// contains is also contained in every shorter prefix around it: the network or broadcast address
// of the outer one, if it lies in the inner one at all, is the same of the inner one. That is
// why "another ServiceCIDR contains the whole prefix" (BR-31-05) is enough, and why it needs no
// look at the addresses. Two halves do not make a whole, though: 10.0.0.0/25 and 10.0.0.128/25
// lack .127 and .128, which 10.0.0.0/24 contains.
//
//   - 10.0.0.5/24, which an API server refuses but a manifest can hold, is 10.0.0.0/24, and is
//     reported so.
//   - An IPv4-mapped IPv6 address (::ffff:10.0.0.5) or prefix is IPv6. It is in no IPv4 prefix.
//   - An address with a zone (fe80::1%eth0) is in no prefix. A prefix with a zone does not parse.
//   - Upper case and long forms of an IPv6 address (FD00:0::5) are that address.
//
// An IPAddress counts when both labels of the allocator are on it: managed-by with the value
// [ManagedBy], and ip-family with the family of one of the ServiceCIDR's prefixes.
//
// # What the caller does
//
//  1. Gives all ServiceCIDRs and all IPAddresses of the cluster, from caches that have synced.
//     The snapshot must not be older than the grace period: the ten seconds are what keeps a
//     decision on a slightly stale snapshot safe.
//  2. Plans a ServiceCIDR again whenever [AffectedByServiceCIDR] or [AffectedByIPAddress] names
//     it, and at Result.RecheckAt. For an update of an IPAddress ask for the old and the new
//     object; for a deletion give the last known state.
//  3. Carries the actions out in order with the patches they return (SetCondition goes to the
//     status subresource, with [FieldManager] and force). NotFound counts as done. A conflict
//     on RemoveFinalizer means that the name belongs to a new object: plan again.
//  4. After an error, from a write or from Plan, tries again after [RetryDelay].
//  5. If a SetCondition fails, may record its FailureEvent, as upstream does.
//
// # Upstream
//
// Mirrors Kubernetes v1.36.3, pkg/controller/servicecidrs and pkg/api/servicecidr. With
// Options.MatchUpstream the requests are upstream's, byte for byte. Without it these differ:
//
//   - D-1 Two ServiceCIDRs that are being deleted do not excuse each other. Upstream lets each
//     of two twins lean on the other, and orphans what lives in them. See Order below.
//   - D-2 A CIDR that does not parse, or an empty list, is an error that names object and field,
//     whether the ServiceCIDR is being deleted or not, and its finalizer stays. Upstream takes
//     it for contained, lets go, and reports nothing; so does MatchUpstream.
//   - D-3 The patch that removes the finalizer carries the UID, so that it cannot hit a new
//     object of the same name.
//   - D-4 An update or deletion of a ServiceCIDR affects those that overlap it, as an addition
//     does upstream.
//
// In an object as only a manifest can hold it, with two overlapping prefixes, upstream counts the
// one as a cover of the other and lets the object go with its addresses. A ServiceCIDR never
// covers itself here; under MatchUpstream it does.
//
// # Order
//
// The ServiceCIDRs that are being deleted are ordered by deletion timestamp, then name. Such a
// one may lean on those that are not being deleted, and on those that come after it; never on
// one before it. So of all that contain an address the last one stays until the address is gone,
// in whatever order and from whatever mixture of plans the others go. A deletion that begins
// later only appends to that order, so it takes nothing away from a decision made before.
//
//   - One that is being deleted and does not carry [Finalizer] is no cover for anybody: nothing
//     here holds it, so it may vanish at any moment.
//   - CheckDeletion of one that is not being deleted takes it for the last of all. Its deletion
//     would be the newest, so every other one that is being deleted may be gone before it. This
//     also holds against those whose timestamp is later than Now, or within the same second.
//
// # Problems
//
// Errors are *purekube.ObjectError, joined. What they hold back is only ever a removal:
//
//   - A nil ServiceCIDR covers nothing. A nil IPAddress may be any address: what could be blocked
//     by an address does not lose its finalizer.
//   - A managed IPAddress whose name is not an address: the same, for the ServiceCIDRs of its
//     labelled family. MatchUpstream passes over both, as upstream does over the second.
//   - Two ServiceCIDRs of one name: nothing is planned for that name, and neither covers another
//     one. A deletion that this may be holding back carries the error too. A ServiceCIDR without a
//     name is an error, and covers nothing.
//   - Two IPAddresses of one name count as one, without an error: no answer hangs on which is real.
//
// Time: at exactly deletion timestamp plus grace period the finalizer goes. A deletion timestamp
// in the future moves that moment with it. A zero Now is a moment like any other, before every
// deletion: no grace period is over then, and conditions are dated with the zero time.
package servicecidr
