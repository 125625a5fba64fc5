// Package ttl decides the annotation node.alpha.kubernetes.io/ttl of nodes: for how many seconds a kubelet may use a
// Secret or ConfigMap before it reads it again. The larger the cluster, the larger the TTL, in steps:
//
//	step   nodes           TTL
//	0      0 … 100         0 s     BR-19-01
//	1      90 … 500        15 s    BR-19-02
//	2      450 … 1,000     30 s    BR-19-03
//	3      900 … 2,000     60 s    BR-19-04
//	4      1,800 …         300 s   BR-19-05
//
// An Index settles the step and returns the nodes to write:
//
//	index := ttl.NewIndex(ttl.Snapshot{Step: step, Nodes: nodes}, ttl.Options{})
//	outcomes, err := index.PlanAll()
//	for _, o := range outcomes {
//		fmt.Println(o.Key, o.Result.Actions) // Node/worker-1 [SetTTL worker-1: 15s]
//	}
//	step = index.Step() // for the next snapshot
//
// # Rules
//
//   - BR-19-01 to BR-19-05: the table above, [Steps].
//   - BR-19-06: where two steps allow the number of nodes, the step does not change. Without this rule, a cluster
//     whose size swings around a limit would rewrite all of its nodes each time.
//   - BR-19-07: a node whose annotation already has the TTL is not written.
//
// # Your duties
//
//  1. Give PlanAll all nodes of the cluster, from a cache that has synced: their number decides the step. Nodes that
//     are being deleted count. Plan and Explain need one node and the step.
//  2. Keep the step of [Index.Step] for the next Snapshot. An Index keeps it itself. After a restart, take the step
//     from [Index.Recover]. You may also start at 0, which rewrites every node of a cluster whose size two steps allow.
//  3. After an event, plan the keys that [Index.With] or [Index.Without] names.
//  4. Send the [purekube.Request] of each action. 404 Not Found means that the node is gone: drop the action. Retry
//     other errors with back-off.
//  5. Do not retry an error of Plan. It names nodes that somebody must fix, and their events bring the keys back. The
//     actions of a result with an error are right: send their requests.
//  6. Switch off the ttl-controller of kube-controller-manager (--controllers=*,-ttl-controller). It starts at step 0
//     after each restart, and two controllers at different steps keep overwriting each other. If you cannot switch it
//     off, as on managed clusters, ask questions and send nothing.
//
// # Bad input
//
// A nil node, a node without a name, and two nodes of one name are a [purekube.ObjectError]; the rest is planned. Nodes
// of one name count as one node, which is not written. A step outside of the table counts as the nearest step in it. An
// annotation that is not an integer is overwritten.
//
// # Cost and source
//
// An event costs O(log n), and one key for each node when the step moves. The source is
// pkg/controller/ttl/ttl_controller.go of Kubernetes v1.36.3 and v1.37.2, which decide alike. For a given step nothing
// differs, so there is no MatchUpstream. In addition, this package recovers the step from the annotations, and names
// every node when the step moves; upstream waits for the next update of each node, for example the next status report
// of its kubelet.
package ttl
