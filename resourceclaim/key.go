package resourceclaim

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube"
)

// The kinds of keys.
const (
	// They are the API's kinds, so a key reads "Pod/ml/train-0", and an object's kind in a message, a request or an
	// owner reference is the same constant.
	podKind      = "Pod"
	claimKind    = "ResourceClaim"
	podGroupKind = "PodGroup"
	templateKind = "ResourceClaimTemplate" // no plan is for one
)

// PodKey returns the key of a pod. The plan creates the pod's claims, names them in its status and reserves them for
// it.
//
// Plan the pod when it is added or changes, and when its claims, templates or PodGroup do: [Index.With] names it then.
func PodKey(namespace, name string) purekube.Key {
	return purekube.Key{Kind: podKind, Namespace: namespace, Name: name}
}

// ClaimKey returns the key of a claim. The plan releases reservations that nobody needs, and deallocates and deletes
// claims that nobody uses.
//
// The key of a claim that does not exist is harmless: its plan is empty.
func ClaimKey(namespace, name string) purekube.Key {
	return purekube.Key{Kind: claimKind, Namespace: namespace, Name: name}
}

// PodGroupKey returns the key of a PodGroup. The plan creates the claims that its pods share and names them in its
// status.
func PodGroupKey(namespace, name string) purekube.Key {
	return purekube.Key{Kind: podGroupKind, Namespace: namespace, Name: name}
}

// KeyOf returns the key of a pod, a claim or a PodGroup. It returns the zero key for nil.
//
// The type parameter rejects templates when the program is compiled: a template has no plan. [Index.With] names the
// keys that a template affects.
func KeyOf[T *corev1.Pod | *resourcev1.ResourceClaim | *PodGroup](object T) purekube.Key {
	switch o := any(object).(type) {
	case *corev1.Pod:
		if o != nil {
			return PodKey(o.Namespace, o.Name)
		}
	case *resourcev1.ResourceClaim:
		if o != nil {
			return ClaimKey(o.Namespace, o.Name)
		}
	case *PodGroup:
		if o != nil {
			return PodGroupKey(o.Namespace, o.Name)
		}
	}
	return purekube.Key{}
}
