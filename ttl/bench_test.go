package ttl

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The floor is reading each node's annotation and nothing else.
func BenchmarkPlanAll(b *testing.B) {
	for _, size := range []int{100, 1_000, 5_000, 20_000} {
		for _, bc := range []struct{ name, annotation string }{{"agree", "300"}, {"differ", "7"}} {
			nodes := fleet(size, bc.annotation)
			s := Snapshot{Step: 4, Nodes: nodes}
			if size < 1800 {
				s.Step = 0
				if bc.name == "agree" {
					s.Step = table(Steps()).settle(0, size)
					s.Nodes = fleet(size, fmt.Sprint(int(table(Steps()).at(s.Step).TTL.Seconds())))
				}
			}
			b.Run(fmt.Sprintf("%s/%d", bc.name, size), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, _ = PlanAll(s, Options{})
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/node")
			})
		}
		b.Run(fmt.Sprintf("floor/%d", size), func(b *testing.B) {
			nodes := fleet(size, "300")
			for b.Loop() {
				readAll(nodes)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/node")
		})
	}
}

func readAll(nodes []*corev1.Node) (right int) {
	for _, n := range nodes {
		if n.Annotations[Annotation] == "300" {
			right++
		}
	}
	return right
}

func BenchmarkPlan(b *testing.B) {
	s := Snapshot{Step: 4, Nodes: fleet(10_000, "60")}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Plan(s, Key("node-05000"), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSettle(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if table(Steps()).settle(0, 2500) != 4 {
			b.Fatal("2,500 nodes are step 4")
		}
	}
}

func BenchmarkRecover(b *testing.B) {
	nodes := fleet(5_000, "300")
	b.ReportAllocs()
	for b.Loop() {
		if recovered(nodes) != 4 {
			b.Fatal("5,000 nodes are step 4")
		}
	}
}
