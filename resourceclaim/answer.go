package resourceclaim

import (
	"reflect"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// What follows reads claims from the API server's answers. A typed client returns a ResourceClaim,
// a dynamic one an Unstructured.

// claimMetadata is the metadata of an answer; ok is false if the answer is not a claim, or nil.
//
// The group of an Unstructured counts, and not its version: an API server may convert what it returns. A kind
// "ResourceClaim" of another group is another API, for example one of a platform that has claims of its own.
func claimMetadata(answer runtime.Object) (metadata metav1.Object, ok bool) {
	switch o := answer.(type) {
	case *resourcev1.ResourceClaim:
		return o, o != nil
	case *unstructured.Unstructured:
		// GetKind reads the object's map, so nil has to be ruled out before.
		return o, o != nil && o.GetKind() == claimKind && o.GroupVersionKind().Group == resourcev1.GroupName
	}
	return nil, false
}

// failed reports whether the answer belongs to a failed call: it is nil, or a nil pointer. A client that returns a
// typed nil after an error puts such a pointer into the interface, where a comparison with nil does not find it.
func failed(answer runtime.Object) bool {
	v := reflect.ValueOf(answer)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// hasAllocation reports whether the claim of an answer has an allocation.
func hasAllocation(answer runtime.Object) bool {
	switch o := answer.(type) {
	case *resourcev1.ResourceClaim:
		return o.Status.Allocation != nil
	case *unstructured.Unstructured:
		allocation, _, _ := unstructured.NestedFieldNoCopy(o.Object, "status", "allocation")
		return allocation != nil
	}
	return false
}

// isOurFinalizer reports whether f is the finalizer that the scheduler sets before it allocates, and that this
// controller alone removes.
func isOurFinalizer(f string) bool { return f == resourcev1.Finalizer }
