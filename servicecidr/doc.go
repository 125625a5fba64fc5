// Package servicecidr decides what the ServiceCIDR controller of kube-controller-manager decides:
// which ServiceCIDRs get the protecting finalizer and the condition Ready, and whether one that is
// being deleted may go. It may go when no address of a Service would be left without a range.
//
// [Plan] and [PlanAll] return the writes. [CheckDeletion] says whether a ServiceCIDR may go, being
// deleted or not, and names the addresses in the way with the Services that they belong to.
// [Explain] and [ExplainAll] say why. An [Index] answers the same questions for a cluster that
// changes event by event, at the cost of what changes, and names the ServiceCIDRs to plan again after an event.
//
// # Rules
//
//   - BR-31-01: a ServiceCIDR that is not being deleted carries [Finalizer]. The condition Ready=True
//     is set after that.
//   - BR-31-02: a ServiceCIDR that is being deleted stays while an IPAddress lies in it that no other
//     ServiceCIDR covers. It gets the condition Ready=False, reason Terminating.
//   - BR-31-03: a ServiceCIDR that may go keeps the finalizer until ten seconds after its deletion
//     timestamp, and after the time that Snapshot.DeletionSeen has for it, so that every API server's
//     allocator has heard of the deletion.
//   - BR-31-04: a ServiceCIDR whose write fails is tried again after 5 ms, then after twice as long each
//     time, 15 times; then it is dropped until something changes. That is up to the caller's queue.
//   - BR-31-05: a ServiceCIDR may go if, for each of its prefixes, another ServiceCIDR contains the
//     whole prefix.
//
// # What contains what
//
// A prefix contains an address of its family, except its network address and, IPv4 only, its
// broadcast address: no allocator assigns those, so no Service can have them from that prefix. A /31,
// a /32 and a /128 therefore contain nothing, a /127 one address. Everything a prefix contains is also
// contained in every shorter prefix around it: the network or broadcast address of the outer one, if
// it lies in the inner one at all, is the same of the inner one. So "another ServiceCIDR contains the
// whole prefix" (BR-31-05) needs no look at the addresses. Two halves do not make a whole:
// 10.0.0.0/25 and 10.0.0.128/25 lack .127 and .128, which 10.0.0.0/24 contains.
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
// # The caller's duties
//
//  1. Give all ServiceCIDRs and all IPAddresses of the cluster, from caches that have synced. Less is
//     enough for some questions: the plan for a ServiceCIDR that is not being deleted needs that one
//     only; the plan for one that is being deleted, CheckDeletion and Explain need the ServiceCIDRs
//     that overlap it and the IPAddresses that lie in it. No other kind is read.
//  2. Give a snapshot that is at most a few seconds old. The ten seconds of the grace period must be more
//     than these together: the time until every API server's allocator has heard of a deletion; the time
//     from the state that a snapshot shows until the writes of its plan have arrived; and, without
//     DeletionSeen, the most by which two clocks of API servers and caller differ, and one second, since
//     deletion timestamps are cut to whole seconds. With less, addresses can be orphaned.
//  3. Record when you first see that a ServiceCIDR is being deleted, in the cache that the snapshots are
//     made from and by the clock that Now is from, and give the record as Snapshot.DeletionSeen: then no
//     other clock is involved. Never change an entry while its ServiceCIDR exists. After a restart, and
//     wherever another process takes over, begin a new record.
//  4. After an event, plan what Index.With or Index.Without names; plan a result with a RecheckAt again at
//     that time.
//  5. Make the calls that Request returns, in order, and none after one that failed: Ready=True
//     would be wrong without the finalizer. 404 Not Found means that the ServiceCIDR is gone: drop the
//     action. 422 Invalid on metadata.uid, from RemoveFinalizer or SetCondition, means that another
//     ServiceCIDR has the name by now: plan the name again when the cache has caught up. 409 Conflict
//     does not come: no call depends on a resourceVersion.
//  6. If a SetCondition fails, record its FailureEvent, as upstream does.
//  7. Retry after a failed write (BR-31-04). Do not retry an error of Plan: it names
//     objects that have to be mended, and their events bring the plan back. The actions of a result
//     that comes with an error are right: make them.
//  8. Do not run this beside the service-cidr-controller of kube-controller-manager: switch that one
//     off (--controllers=*,-service-cidr-controller). Where it cannot be switched off, as on managed
//     clusters, set Options.MatchUpstream: then both write the same. With the default decisions the two
//     do not undo each other's writes, but the stock controller removes the finalizers that this
//     package keeps (D-1, D-2, D-25), so that the default protects nothing.
//
// # Upstream
//
// The source is pkg/controller/servicecidrs and pkg/api/servicecidr of Kubernetes v1.36.3; v1.37.2
// decides alike. With Options.MatchUpstream the requests are upstream's, byte for byte, and the names
// that an event affects are those that upstream queues. By default these differ:
//
//   - D-1: of two ServiceCIDRs that are being deleted, only the one that goes later covers addresses of
//     the other. Upstream lets each of two equal ones count for the other, removes both finalizers, and
//     orphans the addresses in them. See Order below.
//   - D-2: a CIDR that does not parse, or an empty list, is an error that names object and field,
//     whether the ServiceCIDR is being deleted or not, and its finalizer stays. Upstream takes it for
//     contained, lets the ServiceCIDR go, and reports nothing.
//   - D-3: the patch that removes the finalizer carries the UID, so that it cannot hit a new object of
//     the same name.
//   - D-4: an update or deletion of a ServiceCIDR affects those that overlap it, as an addition does
//     upstream.
//   - D-25: a ServiceCIDR without the finalizer covers no addresses of others, whether it is being
//     deleted or not. Nothing holds it: it may be deleted, and gone, between the plan that relies on
//     it and the removal of the other one's finalizer. Its own plan adds the finalizer, and then it
//     covers. Upstream relies on it.
//   - D-26: the apply of the condition carries the UID, so that it cannot hit a new object of the same
//     name.
//
// In an object as only a manifest can hold it, with two overlapping prefixes, upstream counts the one
// as a cover of the other and lets the object go with its addresses. A ServiceCIDR never covers itself
// here; under MatchUpstream it does.
//
// # Order
//
// The ServiceCIDRs that are being deleted are ordered by the time that Snapshot.DeletionSeen has for
// them, if the caller gives that, then by deletion timestamp, then by name. Such a one may rely on those
// that are not being deleted, and on those that come after it; never on one before it. So of all that
// contain an address the last one stays until the address is gone, in whatever order and from whatever
// mixture of plans the others go.
//
// This needs more: a deletion that a plan does not know of must come later in the order, or it would
// take away what the plan relied on. With DeletionSeen it does: the caller sees it later. Without, the
// timestamp of a deletion that began later can be the earlier one where two API servers' clocks
// differ, and within one second the name decides. Then the grace period
// prevents it. A finalizer goes that long after its own timestamp, so a deletion that the plan does not
// know of has a later timestamp, if the age of the snapshot, the difference of the clocks and one second
// together are less than the grace period.
//
// A process that begins a new record may order deletions in another way than the one before. No
// finalizer goes by the new record until a grace period is over, and by then the writes of the process
// before have arrived and are in the cache (duty 2).
//
// CheckDeletion of one that is not being deleted takes it for the last of all. Its deletion would be
// the newest, so every other one that is being deleted may be gone before it. This also holds
// against those whose timestamp is later than Now, or within the same second.
//
// # Bad input
//
// Errors are [purekube.ObjectError], joined. What they hold back is only ever a removal:
//
//   - A nil ServiceCIDR covers nothing. A nil IPAddress may be any address: a ServiceCIDR that may be
//     the only one to contain an address does not lose its finalizer.
//   - A managed IPAddress whose name is not an address: the same, for the ServiceCIDRs of its
//     labelled family. Under MatchUpstream both are passed over, as upstream does with the second.
//   - Two ServiceCIDRs of one name: nothing is planned for that name, and neither covers another
//     one. A deletion that this may be holding back carries the error too. A ServiceCIDR without a
//     name is an error, and covers nothing.
//   - Two IPAddresses of one name count as one, without an error: no decision depends on which is real.
//     Orphans name the parents of both.
//
// At exactly deletion timestamp plus grace period the finalizer goes. A deletion timestamp in the
// future moves that moment with it. A zero Now is a moment like any other, before every deletion: no
// grace period is over then, and conditions are dated with the zero time.
package servicecidr
