package ttl

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/internal/snapshot"
)

// KeyOf returns the key of the plan for a node: its name; empty for nil.
func KeyOf(n *corev1.Node) string {
	if n == nil {
		return ""
	}
	return n.Name
}

// AffectedByNode returns the names of the nodes to plan again after a node was added (oldObj is nil),
// updated or deleted (newObj is nil), sorted, each once. s has the nodes after the event and the step
// before it.
//
// The node itself is always among them. An addition or a deletion may move the step; then every node
// in s is, once. The caller keeps the step:
//
//	names := ttl.AffectedByNode(s, oldObj, newObj, o)
//	s.Step = o.Table.Settle(s.Step, len(s.Nodes)) // the step for the plans of these names, and for the next event
//
// An update costs nothing per node of the cluster, an addition or a deletion one pass over the nodes
// to count them; an [Index] counts as it goes.
//
// Upstream plans the node itself only, and leaves the others to the heartbeats of their kubelets.
func AffectedByNode(s Snapshot, oldObj, newObj *corev1.Node, o Options) []string {
	if oldObj == nil && newObj == nil {
		return nil
	}
	affected := []string{KeyOf(oldObj), KeyOf(newObj)}
	// Only a name that comes or goes changes the number of nodes.
	if affected[0] != affected[1] {
		all := nodeList(s.Nodes).sorted(&snapshot.Problems{})
		if before := clamp(s.Step, len(o.Table.all())); o.Table.Settle(before, all.count()) != before {
			affected = append(affected, all.names()...)
		}
	}
	return sortedNames(affected)
}

// sortedNames sorts the names, each once; none is empty, since no plan has that key.
func sortedNames(names []string) []string {
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > 0 && names[0] == "" {
		names = names[1:]
	}
	if len(names) == 0 {
		return nil
	}
	return names
}
