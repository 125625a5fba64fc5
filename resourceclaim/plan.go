package resourceclaim

import "github.com/purekube/purekube"

// Plan decides about one pod, claim or PodGroup.
//
// A pod's plan creates the claims that its templates call for, writes their names into its
// status and, once it has a node, reserves its allocated claims for it. A claim's plan takes
// away the consumers that do not need it, deallocates it with the last of them, and deletes
// it if it was generated for a pod that is done. A PodGroup's plan creates the claims that its pods
// share, and writes their names into its status.
//
// Needs are pods, claims and PodGroups to look up at the API server: put the answers into
// [Snapshot].Answers, and plan again. An error joins one
// [purekube.ObjectError] for each problem with the snapshot's objects; what does not depend on them
// is in the result all the same:
//
//   - A nil entry in a slice, or an object without a name: an error, otherwise ignored.
//   - Several objects of one name: nothing is planned for that name. A reservation for such a
//     pod is kept; an entry that names such a claim or template gets nothing.
//   - Versions of a claim in Claims and Assumed that do not compare: the one in Claims counts,
//     and the claim's own plan has the error.
//   - An entry of spec.resourceClaims that cannot be served: an error and an event on the pod.
//     The other entries get what is theirs. A plan without such an error has no events.
//
// A key that the snapshot does not hold gives an empty result: the object is gone.
func Plan(s Snapshot, key purekube.Key, o Options) (Result, error) { return NewIndex(s, o).Plan(key) }

// PlanAll decides about every pod, claim and PodGroup of the snapshot. It returns those that have
// something to say, sorted by kind ("Pod", "PodGroup", "ResourceClaim"), namespace and name, each with the
// Result that [Plan] has for its key.
//
// The error joins one [purekube.ObjectError] for each problem that belongs to no key: nil entries,
// objects without a name, and several templates of one name. The outcomes are complete all the
// same.
func PlanAll(s Snapshot, o Options) ([]Outcome, error) { return NewIndex(s, o).PlanAll() }
