package drain

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// BenchmarkRoomOfAPod counts the room of a node with a pod of many containers. Host ports of one number at many addresses,
// and a status of each container, cost about as much as as many numbers, and no statuses.
func BenchmarkRoomOfAPod(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		for _, tc := range []struct {
			name     string
			number   func(i int) int32
			statuses int
		}{
			{"own-numbers", func(i int) int32 { return int32(i + 1) }, 0},
			{"one-number", func(int) int32 { return 80 }, 0},
			{"statuses", func(i int) int32 { return int32(i + 1) }, n},
		} {
			p := pod("p", on("n0"))
			for i := range n {
				c := corev1.Container{Name: fmt.Sprintf("container-%05d", i)}
				c.Ports = []corev1.ContainerPort{{HostPort: tc.number(i), HostIP: fmt.Sprintf("10.0.%d.%d", i/256, i%256)}}
				p.Spec.Containers = append(p.Spec.Containers, c)
			}
			for i := range tc.statuses {
				p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: p.Spec.Containers[i].Name})
			}
			b.Run(fmt.Sprintf("%s/%d", tc.name, n), func(b *testing.B) {
				for b.Loop() {
					left := &room{free: requests{}, ports: map[hostPort]bool{}}
					left.take(requestsOf(p), hostPorts(p))
					for _, c := range p.Spec.Containers {
						if !left.hasPort(c.Ports[0]) {
							b.Fatal(c.Name)
						}
					}
				}
			})
		}
	}
}
