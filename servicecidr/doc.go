// Package servicecidr decides which ServiceCIDRs get the protecting finalizer and the condition Ready, and whether a
// ServiceCIDR that is being deleted may go. It may go when no address of a Service would be left without a range.
//
//	snapshot := servicecidr.Snapshot{Now: now, ServiceCIDRs: cidrs, IPAddresses: addresses}
//	index := servicecidr.NewIndex(snapshot, servicecidr.Options{})
//	deletion, err := index.CheckDeletion(servicecidr.Key("services"), 10) // name at most 10 addresses
//	if err != nil || !deletion.Safe {
//		fmt.Println("refused:", deletion.Orphans, err)
//	}
//	result, err := index.Plan(servicecidr.Key("services"))
//	fmt.Println(result.Actions) // for example [RemoveFinalizer services]
//
// # Rules
//
//   - BR-31-01: a ServiceCIDR that is not being deleted gets [Finalizer], and then the condition Ready=True.
//   - BR-31-02: a ServiceCIDR that is being deleted stays while it contains an IPAddress that is in no other
//     ServiceCIDR on which it may rely (D-1, D-25). It gets the condition Ready=False with the reason Terminating.
//   - BR-31-03: the finalizer stays until ten seconds after the deletion timestamp, and after the time in
//     Snapshot.DeletionSeen, so that the allocator of every API server knows of the deletion.
//   - BR-31-04: a failed write is retried after 5 ms, then after twice as long each time, 15 times in all. Your queue
//     does this.
//   - BR-31-05: a ServiceCIDR may go if, for each of its prefixes, another ServiceCIDR contains the whole prefix.
//
// An IPAddress counts if it has both labels of the allocator: managed-by with the value [ManagedBy], and ip-family with
// the family of one of the ServiceCIDR's prefixes. [PrefixContainsIP] says what a prefix contains. Of two ServiceCIDRs
// that are both being deleted, the one whose deletion began first may rely on the other, and not the reverse (D-1).
//
// # Your duties
//
//  1. Give all ServiceCIDRs and IPAddresses of the cluster, from caches that have synced. For one ServiceCIDR, the
//     overlapping ServiceCIDRs and the IPAddresses in its range are enough.
//  2. Give a snapshot that is at most a few seconds old. These together must be less than ten seconds: the time until
//     every allocator knows of a deletion; the age of the snapshot until the requests have arrived; and, without
//     DeletionSeen, the largest difference of two clocks plus one second. Otherwise addresses can be orphaned.
//  3. Record, by the clock of Now, when you first see that a ServiceCIDR is being deleted, and give the record as
//     Snapshot.DeletionSeen. Then no other clock matters. Never change an entry. Start a new record after a restart.
//  4. After an event, plan the keys that [Index.With] or [Index.Without] names. Plan again at RecheckAt.
//  5. Send the [purekube.Request] of each action, in order, and none after a failure: Ready=True would be wrong without
//     the finalizer. 404 Not Found means that the ServiceCIDR is gone. 422 Invalid on metadata.uid means that another
//     ServiceCIDR has the name: plan again when the cache has caught up. If SetCondition fails, record its
//     FailureEvent.
//  6. Retry after a failed write (BR-31-04). Do not retry an error of Plan: it names objects that somebody must fix,
//     and their events bring the keys back. The actions of a result with an error are right: send their requests.
//  7. Switch off the service-cidr-controller of kube-controller-manager. If you cannot, set Options.MatchUpstream: then
//     both write the same. Otherwise it removes finalizers that this package keeps (D-1, D-2, D-25).
//
// # Bad input
//
// Errors are [purekube.ObjectError], joined, and only ever prevent a removal. A nil IPAddress, or one whose name is not
// an address, may be any address. A nil ServiceCIDR, a ServiceCIDR without a name, and ServiceCIDRs of one name contain
// nothing for others. A zero Now is before every deletion, so no grace period is over.
//
// # Cost and source
//
// The event of an IPAddress costs O(log n) for n IPAddresses, and the plans of the ServiceCIDRs that contain it. The
// event of a ServiceCIDR costs a pass over all ServiceCIDRs: a cluster has one to ten of them, and only administrators
// write them. The source is pkg/controller/servicecidrs of Kubernetes v1.36.3 and v1.37.2. D-1 to D-4, D-25 and D-26
// differ: see docs/divergences.md.
package servicecidr
