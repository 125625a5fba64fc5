// Package resourceclaim decides what becomes of the claims of dynamic resource allocation: which claims are created,
// reserved for pods, released, deallocated and deleted. A claim is never released on a guess: if the snapshot does not
// say whether a consumer exists, the plan has a Need.
//
//	snapshot := resourceclaim.Snapshot{Now: now, Pods: pods, Claims: claims, Templates: templates}
//	index := resourceclaim.NewIndex(snapshot, resourceclaim.Options{})
//	result, err := index.Plan(resourceclaim.PodKey("ml", "train-0"))
//	for _, need := range result.Needs {
//		fmt.Println("ask the API server first:", need)
//	}
//	fmt.Println(result.Actions, err) // [CreateClaim ml/train-0 gpu: …, SetClaimStatuses ml/train-0: gpu pending] <nil>
//
// # Rules
//
//   - BR-30-01: for each entry of a pod's spec.resourceClaims that names a template, a claim is created, unless the
//     pod has one.
//   - BR-30-02: the pod is the controller of the created claim. A claim that the pod does not control is not its own.
//   - BR-30-03: the claim's name is generated from the names of pod and entry. Both are shortened if
//     <pod>-<entry>- has more than 57 characters.
//   - BR-30-04: a newly written claim counts even if your cache does not show it yet.
//   - BR-30-05: a pod that is done (succeeded, failed, or being deleted without a node) or gone leaves
//     status.reservedFor.
//   - BR-30-06: whether a consumer is gone is decided by the cached pods, then by the API server's answer. A UID in
//     Snapshot.Deleted makes the cached pod doubtful, and then the answer decides (D-37).
//   - BR-30-07: a claim with the finalizer loses its allocation and then the finalizer with its last consumer, or
//     when it is being deleted without a consumer.
//   - BR-30-08: a generated claim without consumers is deleted when its pod is done or replaced. When the pod is gone,
//     the garbage collector deletes the claim.
//   - BR-30-09: the UIDs of 500 deleted pods are remembered (memory.DeletedPods).
//
// With Options.PodGroupOf, the pods of a [PodGroup] share the claims that the PodGroup controls.
//
// # Your duties
//
//  1. Give all pods, claims and templates of a namespace, and the PodGroups if you use them. Snapshot says what is
//     enough for one key, and what becomes of objects that you leave out.
//  2. Plan every key at the start, and after an event the keys that [Index.With] or [Index.Without] names.
//  3. Send the requests of one key at a time, in order, with the answers to earlier ones ([purekube.CarryOut]). After
//     an error, or 404, 409 or 422, take a new snapshot and plan again with back-off.
//  4. Retry a key whose plan has an error, with back-off. The actions of a result with an error are right.
//  5. Keep the claims that writes returned until the cache has them (memory.AssumedClaims), and give them as
//     Snapshot.Assumed; otherwise an entry may get a second claim. If your cache goes back to an older resourceVersion,
//     etcd was restored from a backup: end the process, and begin with empty memories.
//  6. After a restart, and after a create without an answer, list claims that are no older than the last created claim.
//  7. Answer Needs from the API server, not from a cache, and discard an answer after the plan that asked for it.
//  8. Switch off the resourceclaim controller of kube-controller-manager: both would create claims, even with
//     MatchUpstream. If you cannot, ask questions and send nothing.
//
// # Cost and source
//
// An event costs what it affects. The source is pkg/controller/resourceclaim of Kubernetes v1.36.3 and v1.37.2. D-5 to
// D-10, D-16, D-17, D-21, D-26 to D-28, D-31 to D-34 and D-36 to D-38 differ: see docs/divergences.md.
package resourceclaim
