package bounds

import (
	"fmt"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/largecluster"
	"github.com/purekube/purekube/ttl"
)

var ttlNodes = Subject{Name: "ttl", Cluster: func(n int) Cluster {
	step := ttl.Table{}.Settle(0, n)
	s := ttl.Snapshot{Step: step, Nodes: largecluster.Nodes(n, fmt.Sprint(ttl.Table{}.TTL(step).Seconds())).Nodes}
	differ := ttl.Snapshot{Step: step, Nodes: largecluster.Nodes(n, "7").Nodes}
	x := ttl.NewIndex(s, ttl.Options{})
	y := ttl.NewIndex(differ, ttl.Options{})
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
			{Name: "a node sends a heartbeat", Growth: Logarithmic, Event: true, Ask: func(i int) (int, int) { return event(x, node(i)) }},
			{Name: "a node goes, and returns", Growth: Logarithmic, Event: true, Ask: func(i int) (int, int) { return returns(x, node(i)) }},
			{Name: "Plan", Growth: Logarithmic, Ask: func(i int) (int, int) { return one(y, key(i)) }},
			{Name: "Explain", Growth: Logarithmic, Ask: func(i int) (int, int) { return explained(x.Explain(key(i))) }},
			{Name: "NewIndex", Growth: Linearithmic, Once: true, Ask: func(int) (int, int) { ttl.NewIndex(s, ttl.Options{}); return 0, 0 }},
			{Name: "PlanAll, all agree", Growth: Linearithmic, Once: true, Ask: func(int) (int, int) { return all(x) }},
			{Name: "PlanAll, all differ", Growth: Linearithmic, Once: true, Ask: func(int) (int, int) { return all(y) }},
		},
	}
}}
