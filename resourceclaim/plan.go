package resourceclaim

import "github.com/purekube/purekube"

// Plan decides about one pod, claim or PodGroup.
//
// A pod's plan creates the claims for its templates, writes their names into its status and, once the pod has a node,
// reserves its allocated claims for it. A claim's plan removes the consumers that do not need it, deallocates it with
// the last of them, and deletes it if it was generated for a pod that is done. A PodGroup's plan creates the claims
// that its pods share, and writes their names into its status.
//
// Needs are pods, claims and PodGroups to look up at the API server: add the answers to [Snapshot].Answers, and plan
// again. An error joins one [purekube.ObjectError] for each problem with the snapshot's objects. The result has all
// decisions that do not depend on these objects:
//
//   - A nil entry in a slice, or an object without a name: an error. The entry is ignored.
//   - Several objects of one name: nothing is planned for that name. A reservation for such a pod stays. An entry that
//     names such a claim or template gets nothing.
//   - Versions of a claim in Claims and Assumed that do not compare: the version in Claims counts, and the claim's own
//     plan has the error.
//   - An entry of spec.resourceClaims for which no claim can be used: an error and an event on the pod. The other
//     entries get their claims. A plan without such an error has no events.
//
// For a key that is not in the snapshot, the result is empty: the object is gone.
func Plan(s Snapshot, key purekube.Key, o Options) (Result, error) { return NewIndex(s, o).Plan(key) }

// PlanAll plans every pod, claim and PodGroup of the snapshot. It returns the outcomes that are not empty, sorted by
// kind ("Pod", "PodGroup", "ResourceClaim"), namespace and name, each with the Result that [Plan] has for its key.
//
// The error joins one [purekube.ObjectError] for each problem that belongs to no key: nil entries, objects without a
// name, and several templates of one name. The outcomes are complete despite this error.
func PlanAll(s Snapshot, o Options) ([]Outcome, error) { return NewIndex(s, o).PlanAll() }
