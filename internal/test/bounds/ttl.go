package bounds

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/largecluster"
	"github.com/purekube/purekube/ttl"
)

var ttlNodes = Subject{Name: "ttl", Cluster: func(n int) Cluster {
	step := ttl.NewIndex(ttl.Snapshot{Nodes: largecluster.Nodes(n, "0").Nodes}, ttl.Options{}).Step()
	seconds := fmt.Sprint(ttl.Steps()[step].TTL.Seconds())
	s := ttl.Snapshot{Step: step, Nodes: shuffled(largecluster.Nodes(n, seconds).Nodes)}
	x := ttl.NewIndex(s, ttl.Options{})
	// The nodes disagree with every step.
	y := ttl.NewIndex(ttl.Snapshot{Step: step, Nodes: shuffled(largecluster.Nodes(n, "7").Nodes)}, ttl.Options{})
	// The nodes are too many for the first step, so the next node moves it.
	full := ttl.NewIndex(ttl.Snapshot{Nodes: s.Nodes}, ttl.Options{})
	node := func(i int) ttl.Snapshot {
		i = at(i, n)
		return ttl.Snapshot{Nodes: s.Nodes[i : i+1]}
	}
	key := func(i int) purekube.Key { return ttl.KeyOf(s.Nodes[at(i, n)]) }
	return Cluster{
		Objects:  n,
		NewIndex: func() any { return ttl.NewIndex(s, ttl.Options{}) },
		Updated: func() any {
			x := ttl.NewIndex(s, ttl.Options{})
			for i := range s.Nodes {
				x, _ = x.With(ttl.Snapshot{Nodes: s.Nodes[i : i+1]})
			}
			return x
		},
		Questions: []Question{
			change("a node sends a heartbeat", func(i int) (int, int) { return event(x, node(i)) }),
			change("a node goes, and returns", func(i int) (int, int) { return returns(x, node(i)) }),
			touching("With, a node changes the step", func(int) (int, int) {
				another := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "new"}}
				_, affected := full.With(ttl.Snapshot{Nodes: []*corev1.Node{another}})
				return len(affected), 0
			}),
			about("Plan", func(i int) (int, int) { return one(y, key(i)) }),
			about("Explain", func(i int) (int, int) { return explained(x.Explain(key(i))) }),
			ofAll("NewIndex", func() (int, int) { ttl.NewIndex(s, ttl.Options{}); return 0, 0 }),
			ofAll("PlanAll, all agree", func() (int, int) { return all(x) }),
			ofAll("PlanAll, all differ", func() (int, int) { return all(y) }),
		},
	}
}}
