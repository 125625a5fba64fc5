// Package memory is the memory of a controller that is built on package resourceclaim: the claims that the API server
// returned to its writes ([AssumedClaims]), and the deleted pods and PodGroups ([DeletedPods]).
//
// Both are safe for concurrent use, have no clock and make no calls. Package resourceclaim itself remembers nothing:
// its plans get both as data in a Snapshot.
package memory
