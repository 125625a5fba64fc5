package docs_test

import (
	"fmt"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/purekubetest"
)

func Example_needs() {
	t := &testing.T{} // the test's own
	// A pod of a custom workload: only its subresource scale says how many pods there should be.
	pod := purekubetest.Pod("shop/cache-0")
	pod.Labels = map[string]string{"app": "cache"}
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "CacheSet", Name: "cache", UID: "c1", Controller: ptr.To(true)}}
	budget := purekubetest.MaxUnavailable("shop/cache", "1")
	index := disruption.NewIndex(purekubetest.NewCluster(t, pod, budget).Disruption(), disruption.Options{})

	lookUp := func(n purekube.Need) purekube.Answer { // your client: k8s.io/client-go/scale
		fmt.Println("get", n.Subresource, "of", n.Kind, n.Namespace+"/"+n.Name)
		return purekube.Answer{Object: &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{UID: "c1"}, Spec: autoscalingv1.ScaleSpec{Replicas: 1}}}
	}

	planning := index
	result, err := planning.Plan(disruption.KeyOf(budget))
	for len(result.Needs) > 0 && err == nil {
		answers := map[purekube.Need]purekube.Answer{}
		for _, n := range result.Needs {
			answers[n] = lookUp(n)
		}
		planning, _ = planning.With(disruption.Snapshot{Answers: answers})
		result, err = planning.Plan(disruption.KeyOf(budget))
	}
	// The answers were for this plan: go on with index, which does not have them.
	fmt.Println(result.Actions, err)
	// Output:
	// get scale of CacheSet shop/cache
	// [UpdateStatus shop/cache: 1 allowed, 1 healthy, 0 desired, 1 expected] <nil>
}
