package admission

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/internal/test/reviews"
	"github.com/purekube/purekube/purekubetest"
)

// BenchmarkDecide answers reviews by indexes of so many objects: what a decision costs depends on the review and on the
// objects that it rests on, not on the cluster. A budget has 90 pods.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		var objects []purekubetest.Object
		var pod *corev1.Pod
		for i := 0; len(objects) < n*93/100; i++ {
			w := purekubetest.Deployment(fmt.Sprintf("ns%02d/app%04d", i%50, i), 90)
			objects = append(objects, w.Objects()...)
			objects = append(objects, purekubetest.MaxUnavailable(fmt.Sprintf("ns%02d/app%04d", i%50, i), "1"))
			pod = w.Pods[0]
		}
		for i := range n * 7 / 100 {
			objects = append(objects, purekubetest.Address(fmt.Sprintf("10.96.%d.%d", i/250, i%250+1), "shop/web"))
		}
		objects = append(objects, purekubetest.ServiceCIDR("used", "10.96.0.0/16"), purekubetest.AggregatedRole("view", "to-view"))
		x, o := indexesOf(purekubetest.NewCluster(b, objects...)), strict
		eviction := reviews.Evicts(pod.Name)
		eviction.Namespace, eviction.Object = pod.Namespace, map[string]any{}
		for _, tc := range []struct {
			name    string
			request reviews.Request
			allowed bool
		}{
			{"evict", eviction, true},
			{"budget", reviews.WritesBudget(purekubetest.MaxUnavailable("ns00/app0000", "0")), false},
			{"role", reviews.WritesRole(nil, reviews.Role("team", "to-view", podsRule)), true},
			{"refused role", reviews.WritesRole(nil, reviews.Role("team", "to-view", secretsRule)), false},
			{"used ServiceCIDR", reviews.DeletesCIDR("used", "10.96.0.0/16"), false},
			{"free ServiceCIDR", reviews.DeletesCIDR("free", "10.97.0.0/16"), true},
		} {
			r := tc.request.Review(b)
			b.Run(fmt.Sprintf("%s/objects=%d", tc.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if a := Decide(x, r, o); a.Allowed != tc.allowed {
						b.Fatal(messageOf(a))
					}
				}
			})
		}
	}
}
