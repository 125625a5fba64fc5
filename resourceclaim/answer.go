package resourceclaim

import (
	"reflect"
	"slices"

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

// withoutFinalizer is a copy of an answer without the finalizer of claims, unless the claim is allocated. An
// Unstructured stays one, so that no field is lost which this version of the API does not know. ok is false for an
// answer that is not a claim.
//
// An allocated claim keeps the finalizer: the scheduler may have allocated the claim for another pod between the plan
// and the write. Without the finalizer the claim could be deleted while its devices are in use (BR-30-07).
func withoutFinalizer(answer runtime.Object) (body runtime.Object, ok bool) {
	if o, ok := answer.(*unstructured.Unstructured); ok {
		// DeepCopy panics on values that JSON does not have.
		document, err := o.MarshalJSON()
		claim := &unstructured.Unstructured{}
		if err != nil || claim.UnmarshalJSON(document) != nil {
			return nil, false
		}
		// The copy of the list keeps foreign finalizers and their order. They are not this controller's to remove.
		if allocation, _, _ := unstructured.NestedFieldNoCopy(claim.Object, "status", "allocation"); allocation == nil {
			claim.SetFinalizers(slices.DeleteFunc(claim.GetFinalizers(), isOurFinalizer))
		}
		return claim, true
	}
	// If the answer is nil or of another type, o is nil and bodyOf makes an empty claim: RemoveFinalizer sends that for
	// an action without a claim.
	o, ok := answer.(*resourcev1.ResourceClaim)
	claim := bodyOf(o)
	if claim.Status.Allocation == nil {
		claim.Finalizers = slices.DeleteFunc(claim.Finalizers, isOurFinalizer)
	}
	return claim, ok
}

// isOurFinalizer reports whether f is the finalizer that the scheduler sets before it allocates, and that this
// controller alone removes.
func isOurFinalizer(f string) bool { return f == resourcev1.Finalizer }
