package parity

import "k8s.io/apimachinery/pkg/runtime"

// asObjects is the same list under the interface that all API objects share.
func asObjects[T runtime.Object](list []T) []runtime.Object {
	objects := make([]runtime.Object, 0, len(list))
	for _, o := range list {
		objects = append(objects, o)
	}
	return objects
}
