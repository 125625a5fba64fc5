package resourceclaim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// fewEntries are so many that searching them costs less than a map of them.
const fewEntries = 8

// entries are the entries of a pod's spec.resourceClaims together with their statuses, such that
// going through all of them costs no more than their number.
type entries struct {
	pod *corev1.Pod
	// first and statuses are, by name, the position of the first entry and of the first status.
	// Nil when there are few entries.
	first, statuses map[string]int
}

func entriesOf(pod *corev1.Pod) entries {
	e := entries{pod: pod}
	if len(pod.Spec.ResourceClaims) <= fewEntries {
		return e
	}
	e.first = make(map[string]int, len(pod.Spec.ResourceClaims))
	for i := range pod.Spec.ResourceClaims {
		if _, taken := e.first[pod.Spec.ResourceClaims[i].Name]; !taken {
			e.first[pod.Spec.ResourceClaims[i].Name] = i
		}
	}
	e.statuses = make(map[string]int, len(pod.Status.ResourceClaimStatuses))
	for i := range pod.Status.ResourceClaimStatuses {
		if _, taken := e.statuses[pod.Status.ResourceClaimStatuses[i].Name]; !taken {
			e.statuses[pod.Status.ResourceClaimStatuses[i].Name] = i
		}
	}
	return e
}

// repeated reports whether an entry before this one has its name.
func (e entries) repeated(i int) bool {
	name := e.pod.Spec.ResourceClaims[i].Name
	if e.first != nil {
		return e.first[name] < i
	}
	return slices.IndexFunc(e.pod.Spec.ResourceClaims, func(pc corev1.PodResourceClaim) bool { return pc.Name == name }) < i
}

// status is the first status of that name, or nil. It points into the pod.
func (e entries) status(name string) *corev1.PodResourceClaimStatus {
	if e.statuses == nil {
		return statusOf(e.pod, name)
	}
	if i, there := e.statuses[name]; there {
		return &e.pod.Status.ResourceClaimStatuses[i]
	}
	return nil
}

// claimName is what [ClaimName] says of the entry.
func (e entries) claimName(i int) (name string, state NameState) {
	pc := &e.pod.Spec.ResourceClaims[i]
	if !generated(pc) {
		return ClaimName(nil, pc)
	}
	return generatedName(e.status(pc.Name))
}
