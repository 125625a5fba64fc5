// Package ttl decides the annotation node.alpha.kubernetes.io/ttl of nodes: for how many seconds a
// kubelet may use a Secret or ConfigMap that it has read before. The larger the cluster, the longer,
// in steps:
//
//	step   nodes           TTL
//	0      0 … 100         0 s
//	1      90 … 500        15 s
//	2      450 … 1,000     30 s
//	3      900 … 2,000     60 s
//	4      1,800 …         300 s
//
// Neighbouring steps overlap, so that a cluster whose size swings around a limit does not have all its
// nodes rewritten each time. The step is therefore not a function of the number of nodes: in an overlap
// it depends on the step before. It is the only thing to remember from one plan to the next, a plain
// number, in [Snapshot].Step.
//
// [StepOf] settles the step for the number of nodes, and [PlanAll] returns the nodes to write at that step:
//
//	index := ttl.NewIndex(ttl.Snapshot{Step: step, Nodes: nodes}, ttl.Options{})
//	outcomes, err := index.PlanAll()
//	step = index.Step() // for the next snapshot
//
// [Plan] answers for one node at a given step; [Table] is the table of steps on its own. [Explain] and
// [ExplainAll] say why a node is written, [ExplainStep] why the cluster is at its step.
// An [Index] answers the same questions for a cluster that changes event by event. It keeps the step, and says
// which nodes to plan again after an event.
//
// # Rules
//
//   - BR-19-01: with 0 to 100 nodes the TTL is 0 s.
//   - BR-19-02: with 90 to 500 nodes it is 15 s.
//   - BR-19-03: with 450 to 1,000 nodes it is 30 s.
//   - BR-19-04: with 900 to 2,000 nodes it is 60 s.
//   - BR-19-05: with 1,800 nodes and more it is 300 s.
//   - BR-19-06: where two steps allow the number of nodes, the cluster stays at the step that it is at.
//   - BR-19-07: a node whose annotation says the TTL already is not written.
//
// # The caller's duties
//
//  1. Give PlanAll all nodes of the cluster, from a cache that has synced: their number moves the
//     step. Nodes that are being deleted count until they are gone. Plan and Explain need one node, and
//     the step. No other kind is read.
//  2. Keep the step of StepOf or Index.Step and put it into the next Snapshot; an Index keeps it itself. After
//     a restart, take it from [Table.Recover] or [Index.Recover]. Starting over at 0 is allowed; it rewrites
//     every node of a cluster whose size is in an overlap.
//  3. After an event, plan what Index.With or Index.Without names; or call PlanAll.
//  4. Make the call that Request returns. 404 Not Found means that the node is gone: drop the action.
//     409 Conflict and 422 Invalid are not expected, since the patch carries neither a
//     resourceVersion nor a UID; retry other errors with back-off.
//  5. Do not retry an error of Plan: it names nodes of the snapshot that have to be mended. The
//     actions of a result that comes with an error are right: make them.
//  6. Do not run this beside the ttl-controller of kube-controller-manager: switch that one off
//     (--controllers=*,-ttl-controller). Both write the same only while they are at the same step, and
//     the step of the stock controller cannot be read: it starts at 0 after each restart. Two at
//     different steps keep overwriting each other on every node. Where it cannot be switched off, as on
//     managed clusters, use the answers and make none of the writes. There is no MatchUpstream to
//     help, since for a given step nothing differs.
//
// # Bad input
//
// A nil node, a node without a name and a name that two nodes have are reported as
// [purekube.ObjectError]; the rest is planned. A name that two nodes have counts as one node and is not
// written. A step outside of the table stands for the nearest one inside. An annotation that is not an
// integer is no error: it is written over.
//
// # Upstream
//
// The source is pkg/controller/ttl/ttl_controller.go of Kubernetes v1.36.3; v1.37.2 decides alike. What
// is written for a given step is the same, byte for byte, so there is no MatchUpstream. Beyond
// upstream, the step can be recovered from the annotations, and when the step moves every node is
// named to be planned again, where upstream waits for the heartbeats of the kubelets.
package ttl
