// Package ttl decides the annotation node.alpha.kubernetes.io/ttl of nodes: for how many
// seconds a kubelet may use a Secret or ConfigMap that it has read before. The larger the
// cluster, the longer, in steps:
//
//	step   nodes           TTL
//	0      0 … 100         0 s
//	1      90 … 500        15 s
//	2      450 … 1,000     30 s
//	3      900 … 2,000     60 s
//	4      1,800 …         300 s
//
// Neighbouring steps overlap, so that a cluster whose size swings around a limit does not have
// all its nodes rewritten time and again. The step is therefore not a function of the node
// count: in an overlap it depends on where the cluster came from. It is the only thing to
// remember from one plan to the next, a plain number, in [Snapshot].Step.
//
// [PlanAll] settles the step for the count and returns it with the nodes to write; [Plan]
// answers for one node at a given step; [Table] is the state machine on its own; [Explain] says
// why.
//
// # The caller's duties
//
//  1. Give all nodes of the cluster, from a cache that has synced: their count drives the step.
//     Nodes that are being deleted count until they are gone.
//  2. Keep the step that PlanAll returned and put it into the next Snapshot. After a restart,
//     take it from [Table.Recover]: starting over at 0 is allowed, and rewrites every node
//     of a cluster whose size is in an overlap.
//  3. When a node is added or deleted, call PlanAll, or [Table.Next] for the step alone; when
//     a node is updated, Plan for that node is enough.
//  4. Carry a [SetTTL] out as its Patch says. A node that is gone by then is no failure.
//
// # Bad input
//
// A nil node, a node without a name and a name that two nodes have are reported as
// [purekube.ObjectError]; the rest is planned. A name that two nodes have counts as one node and
// is not written. A step outside of the table stands for the nearest one inside. An annotation
// that is not an integer is no error: it is written over.
//
// # Upstream
//
// pkg/controller/ttl/ttl_controller.go of Kubernetes v1.36.3. What is written for a given step is the
// same, byte for byte, so there is no MatchUpstream here. The rules are BR-19-01 … BR-19-07: the five
// steps, the hysteresis between them, and no write where the annotation is right already.
package ttl
