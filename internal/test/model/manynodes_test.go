package model

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/ttl"
)

// manyNodes is a ttl.Index in which each node of a small cluster counts as several, beside others that never change: so
// a few nodes move the cluster from one step to the next, whose limits are 90 and 100 nodes. The nodes that only count
// have no annotation, and nobody plans them.
type manyNodes struct {
	*ttl.Index
	scale scale
}

var _ purekube.Index[manyNodes, ttl.Snapshot, ttl.Action] = manyNodes{}

// scale is how many nodes there are beside those of the small cluster, and how many each of those counts as.
type scale struct{ others, each int }

// of is how many nodes that many nodes of the small cluster count as.
func (c scale) of(nodes int) int { return c.others + c.each*nodes }

// allows reports whether a step with that TTL allows the number of nodes.
func (c scale) allows(b ttl.Boundary, nodes int) bool {
	return b.SizeMin <= c.of(nodes) && c.of(nodes) <= b.SizeMax
}

// index is the Index of a snapshot of the small cluster.
func (c scale) index(s ttl.Snapshot) manyNodes {
	all := c.counted(s)
	for i := range c.others {
		all.Nodes = append(all.Nodes, counting("other", i))
	}
	return manyNodes{ttl.NewIndex(all, ttl.Options{}), c}
}

// counted has the nodes, and those that count with them.
func (c scale) counted(s ttl.Snapshot) ttl.Snapshot {
	nodes := slices.Clone(s.Nodes)
	for _, n := range s.Nodes {
		for i := range c.each - 1 {
			nodes = append(nodes, counting(n.Name, i))
		}
	}
	s.Nodes = nodes
	return s
}

func counting(name string, i int) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s/%d", name, i)}}
}

func (x manyNodes) With(changed ttl.Snapshot) (manyNodes, []purekube.Key) {
	return x.small(x.Index.With(x.scale.counted(changed)))
}

func (x manyNodes) Without(gone ttl.Snapshot) (manyNodes, []purekube.Key) {
	return x.small(x.Index.Without(x.scale.counted(gone)))
}

// PlanAll leaves out the nodes that only count.
func (x manyNodes) PlanAll() ([]ttl.Outcome, error) {
	outcomes, err := x.Index.PlanAll()
	return slices.DeleteFunc(outcomes, func(o ttl.Outcome) bool { return onlyCounts(o.Key) }), err
}

func onlyCounts(k purekube.Key) bool { return strings.Contains(k.Name, "/") }

func (x manyNodes) Recover() (manyNodes, []purekube.Key) { return x.small(x.Index.Recover()) }

func (x manyNodes) small(next *ttl.Index, affected []purekube.Key) (manyNodes, []purekube.Key) {
	return manyNodes{next, x.scale}, slices.DeleteFunc(affected, onlyCounts)
}
