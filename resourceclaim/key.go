package resourceclaim

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube"
)

// The kinds of keys.
const (
	podKind      = "Pod"
	claimKind    = "ResourceClaim"
	podGroupKind = "PodGroup"
	templateKind = "ResourceClaimTemplate" // no plan is for one
)

// PodKey is the key of a pod's plan: its claims are created, named in its status and reserved for it.
func PodKey(namespace, name string) purekube.Key {
	return purekube.Key{Kind: podKind, Namespace: namespace, Name: name}
}

// ClaimKey is the key of a claim's plan: reservations that nobody needs are released, and what is left over
// is deallocated and deleted.
func ClaimKey(namespace, name string) purekube.Key {
	return purekube.Key{Kind: claimKind, Namespace: namespace, Name: name}
}

// PodGroupKey is the key of a PodGroup's plan: the claims that its pods share are created and named in its
// status.
func PodGroupKey(namespace, name string) purekube.Key {
	return purekube.Key{Kind: podGroupKind, Namespace: namespace, Name: name}
}

// KeyOfPod is the key of the pod's plan; the zero key for nil.
func KeyOfPod(pod *corev1.Pod) purekube.Key {
	if pod == nil {
		return purekube.Key{}
	}
	return PodKey(pod.Namespace, pod.Name)
}

// KeyOfClaim is the key of the claim's plan; the zero key for nil.
func KeyOfClaim(claim *resourcev1.ResourceClaim) purekube.Key {
	if claim == nil {
		return purekube.Key{}
	}
	return ClaimKey(claim.Namespace, claim.Name)
}

// KeyOfPodGroup is the key of the PodGroup's plan; the zero key for nil.
func KeyOfPodGroup(group *PodGroup) purekube.Key {
	if group == nil {
		return purekube.Key{}
	}
	return PodGroupKey(group.Namespace, group.Name)
}
