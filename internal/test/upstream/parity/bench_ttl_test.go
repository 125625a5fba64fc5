package parity

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/ttl"
)

// BenchmarkTTL starts on a cluster of which no node has its annotation yet.
func BenchmarkTTL(b *testing.B) {
	b.Run("nodes=10000", func(b *testing.B) {
		s := ttl.Snapshot{Nodes: make([]*corev1.Node, 0, 10000)}
		for n := range 10000 {
			s.Nodes = append(s.Nodes, node(n, noTTL))
		}
		SideBySide(b, 5, asObjects(s.Nodes), startTTL, func() int {
			outcomes, _ := ttl.PlanAll(s, ttl.Options{})
			requests := 0
			for _, o := range outcomes {
				for _, a := range o.Result.Actions {
					if r := a.Request(nil); len(r.Patch) > 0 {
						requests++
					}
				}
			}
			return requests
		})
	})
}
