package wholecluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// Every pod and claim that is named has an answer, and what the input has is the answer for its name, whatever the order is.
func TestAnswers(t *testing.T) {
	pod := func(name string, claim *string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name, UID: "u-1"}}
		p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: claim}}
		return p
	}
	there, twin, idle := pod("there", ptr.To("gone")), pod("there", ptr.To("c")), pod("idle", nil)
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "c", OwnerReferences: []metav1.OwnerReference{{Name: "owner"}}}}
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "there"}, {Resource: "pods", Name: "deleted"}}

	of := func(apiVersion, kind, name string) purekube.Need {
		return purekube.Need{APIVersion: apiVersion, Kind: kind, Namespace: "ml", Name: name}
	}
	want := map[purekube.Need]purekube.Answer{
		of("v1", "Pod", "there"):                          {Object: there},
		of("v1", "Pod", "idle"):                           {Object: idle},
		of("v1", "Pod", "deleted"):                        {},
		of("v1", "Pod", "owner"):                          {},
		of("resource.k8s.io/v1", "ResourceClaim", "gone"): {},
		of("resource.k8s.io/v1", "ResourceClaim", "c"):    {Object: claim},
	}
	got := Answers([]*corev1.Pod{there, nil, twin, idle}, []*resourcev1.ResourceClaim{nil, claim})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
