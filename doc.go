// Package purekube holds the vocabulary that its five decision packages share:
// what a plan returns, and how it reports an object it cannot use.
//
// A package takes a snapshot, a plain struct of API objects as an informer cache
// hands them out, and returns the writes that a Kubernetes controller would make:
//
//	snapshot ──► Plan ──► Result{Actions, Events, Needs, RecheckAt}
//
// The packages:
//
//   - servicecidr: may this ServiceCIDR go, and would addresses be orphaned
//   - resourceclaim: create, reserve, release, deallocate and delete DRA claims
//   - ttl: the TTL annotation of nodes, in steps with hysteresis
//   - rbacaggregate: the rules of aggregated ClusterRoles
//   - disruption: the arithmetic of PodDisruptionBudgets, and evictions
//
// What holds for all of them:
//
//   - Nothing is read but the arguments. There is no client, context, logger, clock,
//     random number, goroutine or package state; time is Snapshot.Now.
//   - Nothing reachable from a snapshot is written to, and nothing returned aliases it.
//   - The same snapshot gives the same result, whatever the order of its slices.
//   - What the snapshot cannot answer is a [Need], never a guess.
//   - One bad object never blocks the rest: the valid part of a plan is returned together
//     with an error that joins one [ObjectError] per problem. No input panics.
//   - Carrying the actions out and planning again gives an empty result.
//
// Plan answers for one object. PlanAll answers for all of them at the cost of about one pass
// over the snapshot, and returns only the outcomes that say something, sorted by key. A
// problem that belongs to no key (a nil entry in a slice, say) is PlanAll's error.
//
// An [Action] says what to write. Its [Request] is the call that does it, complete: one
// function that makes a call from a Request carries out the plans of all five packages.
//
// Options.MatchUpstream, where a package has it, asks for the requests that
// kube-controller-manager of that [Release] would send for the same snapshot, its defects
// included.
package purekube
