package resourceclaim

import (
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Of several claims for one entry, the one that the pod may be bound with is adopted, whatever their names.
func TestClaimInUseIsAdoptedFirst(t *testing.T) {
	consumers := []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: "p"}}
	claim := func(name string, deleting bool, s resourcev1.ResourceClaimStatus) *resourcev1.ResourceClaim {
		c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: s}
		if deleting {
			c.DeletionTimestamp = &metav1.Time{}
		}
		return c
	}
	reserved := resourcev1.ResourceClaimStatus{ReservedFor: consumers, Allocation: &resourcev1.AllocationResult{}}
	allocated := resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{}}
	best := []*resourcev1.ResourceClaim{
		claim("d", false, reserved), claim("c", false, allocated), claim("a", false, resourcev1.ResourceClaimStatus{}),
		claim("b", false, resourcev1.ResourceClaimStatus{}), claim("e", true, reserved),
	}
	for i, a := range best {
		for j, b := range best {
			require.Equal(t, i < j, preferred(a, b), "%s before %s", a.Name, b.Name)
		}
	}
}
