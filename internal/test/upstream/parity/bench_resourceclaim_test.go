package parity

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/resourceclaim"
)

// BenchmarkResourceClaim has 10,000 pods with a claim of their own, which is allocated and reserved.
// One pod in ten was replaced by another of its name: the claim of the one before is released and
// deallocated, its finalizer removed, and then it is deleted.
func BenchmarkResourceClaim(b *testing.B) {
	b.Run("pods=10000,replaced=1000", func(b *testing.B) {
		var pods, claims []runtime.Object
		for n := range 10_000 {
			name := fmt.Sprintf("worker-%d", n)
			c := inUse(claimOf(name+"-gpu-x4z9k", name, "gpu"))
			p := withEntries(claimPod(name, c.OwnerReferences[0].UID), templated("gpu", "t"))
			p.Spec.NodeName, p.Status.Phase = "node", corev1.PodRunning
			p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To(c.Name)}}
			c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: p.Name, UID: p.UID}}
			if n%10 == 9 {
				p = claimPod(name, p.UID+"-new")
			}
			pods, claims = append(pods, p), append(claims, c)
		}
		objects := append(append(pods, claims...), claimTemplate("t"))
		given := claimsCaseOf(objects)
		// As many workers as kube-controller-manager gives it by default.
		SideBySide(b, 50, objects, startClaims(given), func() int {
			requests := 0
			outcomes, _ := resourceclaim.PlanAll(given.snapshot, resourceclaim.Options{MatchUpstream: Release})
			for _, o := range outcomes {
				for _, a := range o.Result.Actions {
					// Upstream's body is the object to send, which is not encoded here; our patch is.
					a.Request(nil)
					requests++
				}
			}
			return requests
		})
	})
}
