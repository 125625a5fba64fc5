// Package purekube has the types that its five packages share: results of plans, requests, and errors about objects.
//
// A package takes a snapshot, a plain struct of API objects as an informer cache hands them
// out, and returns the writes that a Kubernetes controller would make:
//
//	snapshot ──► Plan ──► Result{Actions, Events, Needs, RecheckAt}
//	    │                            │
//	    └─► Index                    └─► Action.Request: each write as data, for any client
//	        With / Without ──► the next Index, and the keys to plan again
//
// The packages are servicecidr (can this ServiceCIDR be deleted), resourceclaim (DRA claims), ttl (the TTL annotation
// of nodes), rbacaggregate (aggregated ClusterRoles) and disruption (PodDisruptionBudgets and evictions, with drains in
// disruption/drain).
//
// # What holds for all of them
//
//   - A package reads only its arguments. There is no client, context, logger, clock, random number, goroutine or
//     package state; time is Snapshot.Now.
//   - Nothing reachable from a snapshot is written to, and nothing returned aliases it.
//   - The same snapshot gives the same result, whatever the order of its slices.
//   - What the snapshot cannot answer is a [Need], never a guess. Use an answer only for the plan that asked for it,
//     then discard it: nothing notifies you when it becomes stale.
//   - One bad object never blocks the rest: the valid part of a plan is returned with an error that joins one
//     [ObjectError] per problem. No input panics.
//   - After you send the requests of all actions and plan again, the result has no actions.
//   - When in doubt, refuse: an error, a gap or staleness in the input makes an answer stricter, never more permissive.
//
// A field means the same in all packages, with two exceptions:
//
//   - A pod that is left out of Snapshot.Pods is gone for disruption. For resourceclaim it is unknown, and a Need.
//   - An Answer with an Err is final for disruption: the budget allows no disruption. For resourceclaim it is no
//     answer: the plan still has the Need, and the error.
//
// # One form for all
//
// Plan answers for one object. PlanAll answers for all of them, and returns only the outcomes that say something,
// sorted by key. A problem that belongs to no key, such as a nil entry in a slice, is PlanAll's error.
//
// Explain and ExplainAll say why, as data: each [Reason] has a code and a sentence. ExplainAll explains the objects of
// the kinds that the package plans, in the order of PlanAll. It leaves out objects about which nothing is decided, such
// as a pod without claims; its comment says which. In every package, the code Duplicate explains a name that several
// objects have.
//
// An Index is a snapshot arranged for many questions, which are its methods. Plan(s, key, o) answers
// as NewIndex(s, o).Plan(key) does. An Index never changes; With and Without return another one and
// name the keys whose plan may differ, so an informer's handler is one call. Code for any of them is
// generic over the interface [Index].
//
// An [Action] says what to write. Its [Request] is the complete call that writes it. You write one function that makes
// a call from a Request. With that function, [CarryOut] sends the requests of the plans of all five packages. An action
// names the object that it writes by Namespace, Name and UID, or has the whole object to write: Claim, Budget or Pod. A
// UID that is not empty is checked. If another object has the name, Apply returns it unchanged, and the API server
// refuses the request, unless the comment of the action says that the write is right for that object, too.
//
// The zero value of each enum has a name. In options it is the default and is named for what it does, such as RoundUp
// and AsWritten. In answers it is No and the name of the type, such as NoVerdict and NoOutcome: there is no answer. A
// Code has no zero value, since each [Reason] has one.
//
// Options.MatchUpstream, where a package has it, asks for the requests that kube-controller-manager of that [Upstream]
// would send for the same snapshot, its defects included.
package purekube
