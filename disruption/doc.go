// Package disruption computes the status of PodDisruptionBudgets, and answers whether a pod may be evicted. Package
// drain drains nodes with it.
//
//	snapshot := disruption.Snapshot{Now: now, Budgets: budgets, Pods: pods, ReplicaSets: replicaSets}
//	index := disruption.NewIndex(snapshot, disruption.Options{})
//	eviction, err := index.CheckEviction(types.NamespacedName{Namespace: "shop", Name: "web-0"}, disruption.Recomputed)
//	fmt.Println(eviction.Verdict, eviction.Reason, err)
//
//	result, err := index.Plan(disruption.BudgetKey("shop", "web"))
//	fmt.Println(result.Actions, err) // the UpdateStatus that writes its status, if it must be written
//
// # Rules
//
//   - BR-25-01: minAvailable is the number of pods that must stay healthy, or a percentage of the scale of their
//     controllers, rounded up.
//   - BR-25-02: maxUnavailable is subtracted from that scale. A percentage is rounded up, as Kubernetes documents;
//     [RoundDown] is the stricter rule.
//   - BR-25-03: disruptionsAllowed is the number of healthy pods beyond that, and never negative.
//   - BR-25-04: an evicted pod does not count as healthy for two minutes, unless it is deleted sooner.
//   - BR-25-05: the condition DisruptionTarget of a pod that was not deleted is set to False after two minutes.
//   - BR-25-06: a status that cannot be computed allows no disruption.
//
// # Your duties
//
//  1. Give all budgets, pods, ReplicationControllers, ReplicaSets, Deployments and StatefulSets of a namespace. With
//     AsWritten, CheckEviction needs the pod and all budgets of its namespace. A pod that you leave out is gone. A
//     workload that you leave out costs a lookup (D-22).
//  2. Look up each Need at the API server, put the [purekube.Answer] into Snapshot.Answers, and plan again; an answer
//     may bring another Need. Pass the object with its metadata.uid: if that is not the UID of the owner reference, the
//     controller counts as not existing. For the subresource scale, 404 has two meanings. If discovery lists the
//     subresource for the kind, the object does not exist: use the zero Answer. Otherwise the kind has no scale: use an
//     Err. Put every other error into Answer.Err. Discard an answer after the plan that asked for it.
//  3. Send the [purekube.Request] of each action. 409 Conflict: the object has changed; plan again. 404: forget the
//     key. 422: plan again when the object changes.
//  4. After an event, plan the keys that [Index.With] or [Index.Without] names. Plan again at RecheckAt.
//  5. Do not retry an error of Plan, unless it comes from Answer.Err: it names objects that somebody must fix, and
//     their events bring the keys back. The actions of a result with an error are right: the status then allows
//     nothing.
//  6. Use a clock that agrees with the API server's to within seconds, and pods that are at most a few seconds old: the
//     two minutes of BR-25-04 must be longer than the deletion of the pod plus the age of the snapshot.
//  7. Switch off the disruption controller of kube-controller-manager: otherwise two writers keep overwriting one
//     status. If you cannot, set MatchUpstream and leave MaxUnavailableRounding at RoundUp, or send nothing.
//
// # Cost
//
// An event costs O(log n) and the budgets and pods that it affects. PlanAll costs one pass over pods and budgets, and
// each pair of a budget and a pod that it selects. Two cases are quadratic in the pods and budgets of a namespace. The
// first is budgets that each demand other label keys, over pods that have all of these keys: 2,048 such budgets and as
// many pods take 161 ms (BenchmarkConjunctions, own-keys, 2026-11-22, 2 vCPU). The second is budgets that demand no
// label, because their selectors have only NotIn and DoesNotExist: as many take 58 ms (no-demands, 2026-11-30, 2 vCPU
// beside other work). A quota for budgets bounds both.
//
// # Source
//
// The source is pkg/controller/disruption and pkg/registry/core/pod/storage/eviction.go of Kubernetes v1.36.3 and
// v1.37.2. D-12 to D-15, D-18, D-19, D-22 to D-24, D-29 and D-39 differ: see docs/divergences.md. Upstream visits pods
// and budgets in the random order of a map; where the order shows, this package takes the first by name.
package disruption
