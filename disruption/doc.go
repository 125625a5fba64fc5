// Package disruption computes PodDisruptionBudgets: what their status should say, and whether a
// pod may be evicted.
//
// It decides what the disruption controller of kube-controller-manager and the eviction handler
// of the API server decide, from objects alone.
//
//   - [Plan] and [PlanAll]: the status of budgets, and the condition DisruptionTarget of pods.
//   - [CheckEviction]: the eviction handler's answer, and the budget as it writes it. Package drain plays
//     kubectl drain of a node through with it.
//   - [Explain] and [ExplainAll]: why a budget allows what it allows, pod by pod and controller by
//     controller.
//   - [DesiredHealthy], [DisruptionsAllowed] and [AllowedAtFullHealth]: the arithmetic alone.
//   - [BudgetsFor]: which budgets cover a pod.
//   - [Index]: a snapshot arranged for many questions, one event at a time. With and Without say what to
//     plan again.
//
// # Rules
//
//   - BR-25-01: minAvailable is the number of pods that stay healthy, or a percentage of the
//     scale of the pods' controllers, rounded up.
//   - BR-25-02: maxUnavailable is subtracted from that scale. A percentage is rounded up, as Kubernetes
//     does and documents it; [RoundDown] is the stricter rule.
//   - BR-25-03: disruptionsAllowed is the number of healthy pods beyond that, and never negative.
//   - BR-25-04: an evicted pod does not count as healthy for two minutes, unless it is deleted sooner.
//   - BR-25-05: a condition DisruptionTarget of a pod that was not deleted is set to False after two minutes.
//   - BR-25-06: a status that cannot be computed allows no disruption.
//
// # Keys
//
// [BudgetKey] and [PodKey] make the keys. Each budget has a plan. A pod has a plan of its own if its
// condition DisruptionTarget is True and it neither is being deleted nor has ended; for any other pod the plan
// is empty. [Index.With] and [Index.Without] name the keys that an event concerns, so that one queue and
// one loop serve both kinds.
//
// # The caller's duties
//
//  1. Hand in the part of the cluster that a question needs. Plan and Explain of a budget, and
//     CheckEviction with Recomputed: all budgets, pods, ReplicationControllers, ReplicaSets,
//     Deployments and StatefulSets of the budget's namespace. CheckEviction with AsWritten: the
//     pod and all budgets of its namespace. Plan of a pod: the pod. A pod that is left out is a
//     pod that is gone. A workload that is left out costs a lookup (D-22), and nothing else.
//  2. Look up each Need at the API server. Put the answer into Snapshot.Answers under the Need
//     and plan again; an answer may bring another Need. A Need with the subresource scale is for a
//     scale. HTTP 404 for it has two meanings. If discovery lists the subresource scale for the
//     kind's resource, the object does not exist: answer with the zero [purekube.Answer]. If discovery
//     does not list it, the kind has no scale: answer with an Err "nodes does not implement the
//     scale subresource", as upstream does. A Need without a subresource is for a ReplicaSet: get the
//     object. Put every other error into Answer.Err.
//     Use an answer only for the plan that asked for it, then discard it: nothing notifies you when it
//     becomes stale.
//  3. Make the call of each action: its Request has the resourceVersion of the object that was planned for. HTTP 409
//     (conflict): the object changed since; plan again. 404: the object is gone; forget the key. 422: the API server does
//     not accept the object, which a later version of it may mend; plan again when the object changes.
//  4. Plan again what With and Without name when a budget, a pod or a workload changes, and
//     at RecheckAt.
//  5. An error of Plan is about objects in the snapshot. Planning again without another snapshot gives
//     the same error, so do not retry; an event brings the key back. Where the error stands beside an
//     UpdateStatus, that is the fail-safe status (BR-25-06): write it. It is the decision, and
//     no attempt that failed. Only an error that came out of Answer.Err is worth another lookup later.
//  6. Plan with a clock that agrees with the API server's to within seconds, and with pods that are at
//     most a few seconds old: status.disruptedPods holds the API server's times, and the two minutes are for the
//     deletion of an evicted pod and for the age of the snapshot together.
//  7. Do not run this beside kube-controller-manager's own disruption controller: two writers of one
//     status. D-13 and RoundDown differ from it for good, so that the two keep overwriting each other. Where
//     it cannot be switched off, set MatchUpstream to its release and leave
//     MaxUnavailableRounding at RoundUp, or ask questions only and write nothing.
//
// # Cost
//
// PlanAll costs about one pass over the pods and budgets, and each pair of a budget and a pod that it covers.
// Whoever writes many budgets that cover the same pods makes many pairs; evictions of such pods
// are refused. A function that asks about one budget or pod costs a pass over the snapshot; an [Index] answers without
// one. Nothing grows faster than n log n in the number of a budget's pods, controllers,
// entries, or selector values, nor in the number of pods and budgets that use the same label keys.
//
// One thing is quadratic in the pods and budgets of one namespace: budgets each of which selects by other keys, or
// by In with several values, none of whose labels is rare, and pods that have all of these keys. They are the orthogonal vectors problem, for
// which no algorithm is known that is substantially faster. A pod is then held to the budgets of which it has the
// two or three rarest labels: 2,048 budgets of that kind and as many pods take 161 ms, and half of both a quarter of that (BenchmarkConjunctions, own-keys). The budgets of one namespace cost only the pods of
// that namespace anything, so a quota for budgets bounds it.
//
// # Upstream
//
// The source is pkg/controller/disruption and pkg/registry/core/pod/storage/eviction.go of Kubernetes
// v1.36.3; v1.37.2 decides alike. With Options.MatchUpstream the requests are upstream's, except for
// D-12. By default these differ, each of which fixes a defect:
//
//   - D-12: spec.replicas that is absent counts as 1, the API's default. Upstream panics, so both
//     modes do this.
//   - D-13: with maxUnavailable 0 or "0%" nothing may be disrupted, whatever the scale. Where the scale
//     is not available, the number of pods takes its place. Upstream: SyncFailed.
//   - D-14: an entry of status.disruptedPods that is older than the pod of its name is about the
//     predecessor of the pod, a StatefulSet's for example, and is dropped. Upstream counts the new pod as
//     evicted for up to two minutes.
//   - D-15: the event NotDeleted names the budget. Upstream prints its namespace twice.
//   - D-18: a fail-safe status that is there is not written again. Upstream writes it on every
//     pass.
//   - D-19: at exactly two minutes an entry of status.disruptedPods is over in every respect. Upstream
//     keeps it, counts its pod as healthy, and looks again at once; RecheckAt is then the
//     instant after Now.
//   - D-22: a ReplicaSet that names a Deployment which the snapshot does not hold is asked for by the scale of
//     the Deployment, and a ReplicaSet that the snapshot does not hold as an object, since its controller decides whose
//     scale counts. Upstream uses the ReplicaSet's own scale, which is too small during a rollout.
//   - D-23: a sum of scales beyond int32 stays at the largest number. Upstream's wraps around,
//     and may allow every disruption there is.
//   - D-24: D-14 holds only where the pod's creationTimestamp is not later than Now. With a clock that is
//     behind, the entry that an eviction just wrote would look like a predecessor's.
//   - D-29: the events NoPods (Normal) and UnmanagedPods come with a write of the status, so that an idle cluster has
//     none; upstream records them on every pass. The event MultiplePodDisruptionBudgets, with which no
//     write goes, is left to Explain and CheckEviction. An event about a failure comes whenever the error does.
//
// Values that the API server rejects, such as negative replicas, are errors; no disruption is allowed.
// MatchUpstream computes with them.
//
// Upstream goes through pods and budgets in the order of a map, which changes from pass to pass. Where
// that shows (the first of several errors, the budget that "was chosen arbitrarily") the first by
// name is taken here, in both modes.
package disruption
