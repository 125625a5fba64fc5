package purekubetest_test

import (
	"fmt"
	"testing"

	"github.com/purekube/purekube/purekubetest"
)

// A test of policy: what becomes of the claims of a pod that has ended?
func Example() {
	t := &testing.T{} // the test's own
	pod := purekubetest.Pod("ml/train-0")
	claim := purekubetest.ClaimFor(pod, "gpu")
	purekubetest.Ended(pod)

	atRest, steps := purekubetest.Converge(t, purekubetest.NewCluster(t, pod, claim).ResourceClaim())
	for _, s := range steps {
		fmt.Println(s)
	}
	fmt.Println("claims left:", len(atRest.Claims))
	// Output:
	// Release ml/train-0-gpu: train-0, deallocate
	// RemoveFinalizer ml/train-0-gpu
	// DeleteClaim ml/train-0-gpu
	// claims left: 0
}
