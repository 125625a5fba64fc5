// Package memory keeps what a controller made of package resourceclaim remembers between its plans: the claims that the
// API server returned to its writes ([AssumedClaims]), and which pods and PodGroups it saw go ([DeletedPods]).
//
// Both are safe for concurrent use, have no clock and make no calls. Package resourceclaim itself remembers nothing: its
// plans get both as data in a Snapshot.
package memory
