package drain

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// The room of a node with a pod that has many host ports of one number, or many containers with a status, takes about as
// long as with as many numbers, or without statuses.
func TestCostOfAPod(t *testing.T) {
	const n = 8000
	with := func(number func(i int) int32, statuses int) *corev1.Pod {
		p := pod("p", on("n0"))
		for i := range n {
			c := corev1.Container{Name: fmt.Sprintf("container-%05d", i)}
			c.Ports = []corev1.ContainerPort{{HostPort: number(i), HostIP: fmt.Sprintf("10.0.%d.%d", i/256, i%256)}}
			p.Spec.Containers = append(p.Spec.Containers, c)
		}
		for i := range statuses {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: p.Spec.Containers[i].Name})
		}
		return p
	}
	took := func(p *corev1.Pod) time.Duration {
		best := time.Hour
		for range 3 {
			start := time.Now()
			left := &room{free: requests{}, ports: map[hostPort]bool{}}
			left.take(requestsOf(p), hostPorts(p))
			for _, port := range p.Spec.Containers {
				if !left.hasPort(port.Ports[0]) {
					t.Fatal(port)
				}
			}
			best = min(best, time.Since(start))
		}
		return best
	}
	each := func(i int) int32 { return int32(i + 1) }
	one := func(int) int32 { return 80 }
	plain := took(with(each, 0))
	require.Less(t, took(with(one, 0)), 8*plain, "ports of one number")
	require.Less(t, took(with(each, n)), 8*plain, "statuses")
}
