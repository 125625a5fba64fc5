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

// claimMetadata is the metadata of an answer; ok is false if that is not a claim.
func claimMetadata(answer runtime.Object) (metadata metav1.Object, ok bool) {
	switch o := answer.(type) {
	case *resourcev1.ResourceClaim:
		return o, o != nil
	case *unstructured.Unstructured:
		return o, o != nil && o.GetKind() == claimKind && o.GroupVersionKind().Group == claimGVK.Group
	}
	return nil, false
}

// failed reports whether the answer stands for a failed call: nil, or a nil pointer.
func failed(answer runtime.Object) bool {
	v := reflect.ValueOf(answer)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// withoutFinalizer is a copy of an answer without the finalizer of claims, unless it is allocated.
// An Unstructured stays one, so that no field is lost which this version of the API does not
// know. ok is false for an answer that is not a claim.
func withoutFinalizer(answer runtime.Object) (body runtime.Object, ok bool) {
	if o, ok := answer.(*unstructured.Unstructured); ok {
		// DeepCopy panics on values that JSON does not have.
		document, err := o.MarshalJSON()
		claim := &unstructured.Unstructured{}
		if err != nil || claim.UnmarshalJSON(document) != nil {
			return nil, false
		}
		if allocation, _, _ := unstructured.NestedFieldNoCopy(claim.Object, "status", "allocation"); allocation == nil {
			claim.SetFinalizers(slices.DeleteFunc(claim.GetFinalizers(), isOurFinalizer))
		}
		return claim, true
	}
	o, ok := answer.(*resourcev1.ResourceClaim)
	claim := bodyOf(o)
	if claim.Status.Allocation == nil {
		claim.Finalizers = slices.DeleteFunc(claim.Finalizers, isOurFinalizer)
	}
	return claim, ok
}

func isOurFinalizer(f string) bool { return f == resourcev1.Finalizer }
