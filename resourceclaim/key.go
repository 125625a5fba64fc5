package resourceclaim

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// Kind says which of the three passes a [Key] is for.
type Kind string

const (
	// PodKey is the kind of a pod's key: its claims are created, named in its status and
	// reserved for it.
	PodKey Kind = "pod"
	// ClaimKey is the kind of a claim's key: reservations that nobody needs are released,
	// and what is left over is deallocated and deleted.
	ClaimKey Kind = "claim"
	// PodGroupKey is the kind of a PodGroup's key: the claims that its pods share are created and
	// named in its status.
	PodGroupKey Kind = "podgroup"
)

// Key names one pod, claim or PodGroup. Keys are what Plan works on and what a caller queues.
type Key struct {
	Kind            Kind
	Namespace, Name string
}

// KeyOfPod is the key of the pod's plan; the zero key for nil.
func KeyOfPod(pod *corev1.Pod) Key {
	if pod == nil {
		return Key{}
	}
	return Key{PodKey, pod.Namespace, pod.Name}
}

// KeyOfClaim is the key of the claim's plan; the zero key for nil.
func KeyOfClaim(claim *resourcev1.ResourceClaim) Key {
	if claim == nil {
		return Key{}
	}
	return Key{ClaimKey, claim.Namespace, claim.Name}
}

// KeyOfPodGroup is the key of the PodGroup's plan; the zero key for nil.
func KeyOfPodGroup(group *PodGroup) Key {
	if group == nil {
		return Key{}
	}
	return Key{PodGroupKey, group.Namespace, group.Name}
}

// String is the key as upstream's work queue spells it, "pod:ns/name", "claim:ns/name" or
// "podgroup:ns/name".
func (k Key) String() string {
	return string(k.Kind) + ":" + k.Namespace + "/" + k.Name
}

// ParseKey reads what [Key.String] wrote. It is an error if the kind is none of "pod",
// "claim" and "podgroup", or if namespace or name is missing.
func ParseKey(s string) (Key, error) {
	kind, object, _ := strings.Cut(s, ":")
	namespace, name, _ := strings.Cut(object, "/")
	k := Key{Kind: Kind(kind), Namespace: namespace, Name: name}
	switch {
	case k.Kind != PodKey && k.Kind != ClaimKey && k.Kind != PodGroupKey:
		return Key{}, fmt.Errorf("key %q: want pod:namespace/name, claim:namespace/name or podgroup:namespace/name", s)
	case namespace == "" || name == "" || strings.Contains(name, "/"):
		return Key{}, fmt.Errorf("key %q: want a namespace and a name after %s", s, kind)
	}
	return k, nil
}

// compareKeys orders by kind, namespace and name. The zero key comes first.
func compareKeys(a, b Key) int {
	return cmp.Or(
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name),
	)
}
