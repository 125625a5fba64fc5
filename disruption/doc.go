// Package disruption computes PodDisruptionBudgets: what their status should say, and whether a
// pod may be evicted.
//
// It decides what the disruption controller of kube-controller-manager and the eviction handler
// of the API server decide, from objects alone. The version mirrored is v1.36.3
// (pkg/controller/disruption; pkg/registry/core/pod/storage/eviction.go).
//
//   - [Plan] and [PlanAll]: the status of budgets. [PlanPod] and [PlanAllPods]: what pods ask for
//     by themselves.
//   - [Evict]: the eviction handler's answer, and the budget as it writes it, so that a drain
//     can be played through without a cluster.
//   - [Explain] and [ExplainAll]: why a budget allows what it allows, pod by pod and controller by
//     controller.
//   - [DesiredHealthy] and [DisruptionsAllowed]: the arithmetic alone.
//   - [BudgetsFor] and [AffectedByPod]: which budgets cover a pod.
//
// # Rules
//
//   - BR-25-01: minAvailable is the number of pods that stay healthy, or a percentage of the
//     scale of the pods' controllers, rounded up.
//   - BR-25-02: maxUnavailable is taken from that scale. A percentage is rounded up, as Kubernetes
//     does and documents it; [RoundDown] gives the rule of the design note.
//   - BR-25-03: disruptionsAllowed is what is healthy beyond that, and never negative.
//   - BR-25-04: an evicted pod is as good as gone for two minutes, until it is.
//   - BR-25-05: a condition DisruptionTarget that came to nothing is cleared after two minutes.
//   - BR-25-06: what cannot be computed allows no disruption.
//
// # The caller's duties
//
//  1. Hand in all budgets, pods, ReplicationControllers, ReplicaSets, Deployments and StatefulSets
//     of a namespace. A pod that is left out is a pod that is gone. A workload that is left
//     out costs a look-up.
//  2. Look up each Need: the scale subresource of that kind and name. Put the answer into
//     Snapshot.Scales under [ScaleKeyOf] and plan again. "Not found" may mean that the kind has no
//     scale; say so in Scale.Err then ("nodes does not implement the scale subresource"), as
//     upstream does. Put every other error there too; look it up again later. Drop
//     answers after a while: nothing tells that a scale changed.
//  3. Write [UpdateStatus] with the resourceVersion it carries, and plan again on a conflict.
//  4. Plan again when a budget changes, for [AffectedByPod] when a pod does (for the old and the
//     new object), and at RecheckAt.
//  5. Plan with a clock that agrees with the API server's to within seconds: status.disruptedPods
//     holds its times.
//
// # Divergences
//
// The default differs from kube-controller-manager v1.36.3 in these, each of which fixes a defect.
// Options.MatchUpstream has none of them but D-12.
//
//   - D-12: spec.replicas that is absent counts as 1, the API's default. Upstream panics, so both
//     modes do this.
//   - D-13: with maxUnavailable 0 or "0%" nothing may be disrupted, whatever the scale. When it
//     cannot be had, the number of pods stands in. Upstream: SyncFailed.
//   - D-14: an entry of status.disruptedPods that is older than the pod of its name is about the
//     predecessor of the pod, a StatefulSet's for example, and is dropped. Upstream counts the new pod as
//     evicted for up to two minutes.
//   - D-15: the event NotDeleted names the budget. Upstream prints its namespace twice.
//   - D-18: a fail-safe status that is there is not written again. Upstream writes it on every
//     pass.
//   - D-19: at exactly two minutes an entry of status.disruptedPods is over in every respect. Upstream
//     keeps it, counts its pod as healthy, and looks again at once; RecheckAt is then the
//     instant after Now.
//
// For what an API server admits there are no others, but for one: sums of scales beyond int32 stay at
// the largest figure, where upstream wraps around and may allow every disruption there is. What it
// does not admit, negative numbers and replicas, is an error and allows nothing; MatchUpstream
// computes with it.
//
// Upstream goes through pods and budgets in the order of a map, which changes from pass to pass. Where
// that shows (the first of several errors, the budget that "was chosen arbitrarily") the first by
// name is taken here, in both modes.
package disruption
