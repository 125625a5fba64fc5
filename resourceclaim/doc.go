// Package resourceclaim decides what becomes of the claims of dynamic resource allocation: which
// are created for pods, reserved for them, released, deallocated and deleted. It makes the
// decisions of the resourceclaim controller of kube-controller-manager.
//
//	pod pass    create a claim for each template entry ─► write the names into the pod's status
//	            ─► reserve what is allocated, once the pod has a node
//	claim pass  take away consumers that are done or gone ─► deallocate with the last of them
//	            ─► remove the finalizer ─► delete what was generated for a pod that is done
//	group pass  create a claim for each template entry of a PodGroup ─► write the names into its status
//
// A pod that the snapshot does not hold is not known to be gone. Existence has three values: there,
// gone, and unknown. What is unknown is a Need: a pod, claim or PodGroup to look up at the API server. No
// reservation is taken away, and no named claim made again, on a guess.
//
// # Rules
//
//   - BR-30-01: For each entry of a pod's spec.resourceClaims that names a template, a claim is
//     created from that template, unless the pod has one.
//   - BR-30-02: The pod is the controller of such a claim (an owner reference), and a claim that it
//     does not control is not its own.
//   - BR-30-03: The claim's name is generated from the names of pod and entry, each shortened where
//     both together are longer than 57 characters.
//   - BR-30-04: A claim that was just written counts although the caller's cache does not show it.
//   - BR-30-05: A pod that is done (it succeeded, failed, or is being deleted without a node) or gone
//     is taken out of status.reservedFor.
//   - BR-30-06: Whether a consumer is gone is decided from the cached pods, then from an answer of the API
//     server. A UID that was seen to be deleted makes the cached pod doubtful, and then the answer decides (D-37).
//     Upstream goes by the deleted UIDs first.
//   - BR-30-07: With its last consumer, a claim that has the finalizer loses its allocation and then
//     the finalizer. A claim that is being deleted without a consumer does too.
//   - BR-30-08: A claim without consumers that was generated for a pod is deleted when that pod is
//     done or replaced. When the pod is gone, that is up to the garbage collector.
//   - BR-30-09: The UIDs of 500 deleted pods are remembered (DeletedPods in package memory).
//
// # PodGroups
//
// With Options.PodGroupOf the pods of a PodGroup (scheduling.k8s.io) share claims, as they do where
// the features GenericWorkload and DRAWorkloadResourceClaims are on, in v1.37 (with V1_36 the result
// is not compared with the controller of v1.36, in which they are alpha):
//
//   - For each entry of the group's spec.resourceClaims that names a template, a claim is created that
//     the PodGroup controls, and its name is written into the group's status.
//   - An entry of a pod is its group's if name, claim and template are those of one of the group's
//     entries. Its claim is the group's: the pod's plan writes that name into the pod's status, and
//     never creates a claim for it.
//   - Once a pod has a node, the claim is reserved for the PodGroup. Pods and PodGroups are told by
//     their UID; a claim's owner also by its name under MatchUpstream (D-33).
//   - A PodGroup is taken out of status.reservedFor when the API server has another one of its name, or none:
//     never because its pods are done, and not while one of them that is not
//     done uses the claim (D-36).
//   - A claim of a PodGroup is deleted by the garbage collector.
//
// The API's type is in no version that all supported releases of k8s.io/api have, so a snapshot has
// [PodGroup] structs. The caller copies into them the fields of whatever it reads. Which pods are in
// which group stands in a field that k8s.io/api has from v0.36 on.
//
// # The caller's duties
//
//  1. Plan every pod, claim and PodGroup at the start, and after an event the keys that Index.With and
//     Index.Without name.
//  2. Carry out one key at a time: make the request of each action in order, with the answers to
//     those before it. Where a call fails, make those behind it only if its Request says ContinueOnError, and
//     record the event of a [purekube.FailureReporter]. Then take a new snapshot and plan again,
//     with back-off. So do after a Request with an Err, and after HTTP 409 (the object has changed or is gone), 422 (for a patch:
//     another object has the name) and 404; the comment on each action's Request says what they
//     mean for it. A 404 for RemoveFinalizer and DeleteClaim means that the work is done.
//  3. Retry a key whose plan has an error, with back-off, until an event makes the error go: a
//     missing template or a snapshot that contradicts itself does not get better by trying, but
//     the valid part of the plan is to be carried out each time. Every event of a plan comes with
//     such an error: where nothing is wrong, nothing is recorded again.
//  4. Keep the claims that writes returned until the cache has them: AssumedClaims in package memory. Hand them
//     over in Snapshot.Assumed, or an entry may get a second claim. Call its CacheAt before each plan: when
//     it reports that the API server was restored from a backup, empty the DeletedPods and plan every
//     key. A new start of the process does the same, and more surely.
//  5. After a restart, begin with a list of claims that is no older than the last claim
//     created: an entry whose claim does not show gets another one. So do after a create that ended
//     without an answer (a timeout, a broken connection): it may have made the claim.
//  6. Answer Needs from the API server and not from a cache, put the answers into Snapshot.Answers, and plan again
//     with a snapshot whose claims are no newer. The Need of a PodGroup has the apiVersion v1beta1: where the
//     cluster serves another one, ask for that, and answer the Need as it is. A lookup that fails is no answer.
//     Use an answer only for the plan that asked for it, then discard it: nothing notifies you when it becomes stale.
//  7. You may remember the pods and PodGroups that you saw go: DeletedPods in package memory. A pod that your cache
//     still shows gets nothing then. That saves writes that would have to be taken back.
//  8. Leave claims whose owner is gone to the garbage collector.
//  9. Do not run this beside the resourceclaim controller of kube-controller-manager: both would
//     create claims, and with D-5 the two apply different sets of names to a pod's status in turns.
//     Where that controller cannot be switched off, plan with MatchUpstream and carry nothing out.
//
// The functions arrange the snapshot that they get for one answer. An [Index] is the same snapshot arranged for many
// questions: an event of an informer gives the next Index and the keys to plan, and costs what it
// touches.
//
// What a snapshot has to hold: all pods, claims and templates of a namespace are enough for every
// question about that namespace. For a pod's plan, the pod, the claims that its entries name or
// that it controls, and its templates are enough; for a claim's plan, the claim and the pods that
// it names as consumers or owner. With PodGroups, a pod's plan needs its group and the claims that
// the group controls, and a claim's plan the groups among its consumers and the pods of these groups
// that use the claim. A pod or PodGroup that is left out costs a lookup, and so does a claim that a
// status names. Any other claim that is left out passes for one that is not there, and a pod of a
// PodGroup that is left out for one that does not use the claim (D-36).
//
// # Upstream
//
// The source is pkg/controller/resourceclaim of Kubernetes v1.36.3 and v1.37.2. With
// Options.MatchUpstream the requests are upstream's; under V1_37 claims are looked up one at a time, in
// upstream's order. By default these differ:
//
//   - D-5: the apply of the pod's status carries all of its entries. Upstream sends the new ones
//     only, and the server takes the others away. v1.37 leaves out those that need no claim.
//   - D-6: the template is never written to. (In both modes.)
//   - D-7: a pod that is done gets neither a claim nor a reservation.
//   - D-8: an entry that fails or has to wait does not hold back the others, nor does a call that
//     the API server refuses. That includes a claim that cannot be reserved: one that is being
//     deleted, or that has 256 consumers.
//   - D-9: a generateName that had to be cut is a valid one and keeps something of both names.
//   - D-10: a deletion carries the UID and, as the only action, the resourceVersion.
//   - D-16: a claim that two entries name is reserved once.
//   - D-17: a claim that is being deleted is not deleted again.
//   - D-21: a consumer or owner whose name another cached pod has is looked up at the API server
//     before it is taken for replaced: the pods may be older than the claims, and the cached pod
//     its predecessor. A cached pod whose UID is known to be deleted does not count.
//   - D-26: the apply of the pod's status carries the pod's UID, so that it cannot hit another pod
//     of the name.
//   - D-27: without Options.PodGroupOf, an entry whose status names a claim of a PodGroup is an error
//     and keeps that status, and a claim that is reserved for a PodGroup is not reserved for a pod as
//     well. Upstream, with its features off, makes a claim for the pod alone (v1.36) or does nothing
//     for the pod (v1.37).
//   - D-28: before a claim that a status names is made again because no cache shows it, it is looked
//     up. v1.37 does that too.
//   - D-31: the apply of a PodGroup's status carries all of its entries, as D-5 for pods.
//   - D-32: a PodGroup that the snapshot does not have is looked up. A pod whose group nobody has gets
//     no new claim, but those of its own are named and reserved. Upstream does nothing for the pod.
//   - D-33: a claim or reservation of another PodGroup of the name is not the pod's group's. Upstream
//     knows the group of a pod by its name.
//   - D-34: a pod whose status names a claim of its group that is gone gets the name of the one that
//     the group has now. Upstream leaves the pod as it is.
//   - D-36: a claim stays reserved for a PodGroup that is gone while a pod of that group uses it and is
//     not done. Upstream releases and deallocates it under the running pods.
//   - D-37: a pod or PodGroup whose UID was seen to be deleted is looked up before a claim is released from it, and
//     before anything is done for it, unless it is done. After a restore from a backup UIDs come back. Upstream
//     takes it for gone.
//   - D-38: a claim that may have been created for an entry, but has lost its controller reference or
//     its annotation to an admission policy, is the last one that is created for the entry. It is put
//     into the status if it is not there. Without a controller reference to the pod it is an error
//     after that. Upstream's pass creates another one each time.
//
// Assumed claims count in every step by default. Upstream looks at its own writes only when it
// searches for a claim to adopt.
//
// Reservations for other consumers are kept: without Options.PodGroupOf those for PodGroups too.
package resourceclaim
