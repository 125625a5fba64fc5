package snapshot

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PatchAsRead returns the body of a strategic merge patch of an object that a plan has read: the fields to change, and
// the object's UID and resourceVersion. The API server refuses the patch if the object of that name has another
// resourceVersion (409) or, where the plan read none, another UID (422).
//
// An object without a resourceVersion was not read from an API server. Then the patch sets it to nothing, which is what
// an update without a resourceVersion does: the API server refuses it or not, as it does for that kind.
func PatchAsRead(object metav1.Object, metadata, status map[string]any) []byte {
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	if uid := object.GetUID(); uid != "" {
		metadata["uid"] = uid
	}
	metadata["resourceVersion"] = object.GetResourceVersion()
	body := map[string]any{"metadata": metadata}
	if status != nil {
		body["status"] = status
	}
	return JSON(body)
}
