package resourceclaim

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// fewEntries are so many that searching them costs less than a map of them.
const fewEntries = 8

// entries are the entries of the spec.resourceClaims of a pod or PodGroup together with their
// statuses, such that going through all of them costs no more than their number.
type entries struct {
	// pod has them. It is the group's if that is set.
	pod   *corev1.Pod
	group *podGroup
	// member is the PodGroup that the pod is in.
	member membership
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

// kind is the kind of the object that has the entries.
func (e entries) kind() string {
	if e.group != nil {
		return podGroupKind
	}
	return "Pod"
}

// noun is the kind as messages have it.
func (e entries) noun() string {
	if e.group != nil {
		return podGroupKind
	}
	return "pod"
}

// owner is the owner reference of a claim that is generated for an entry.
func (e entries) owner() metav1.OwnerReference {
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: e.kind(), Name: e.pod.Name, UID: e.pod.UID, Controller: ptr.To(true)}
	if e.group != nil {
		owner.APIVersion = e.group.apiVersion
	}
	return owner
}

// generatedFor is what the claim of an entry is found by.
func (e entries) generatedFor(entry string) generatedFor {
	return generatedFor{namespace: e.pod.Namespace, owner: e.pod.UID, entry: entry}
}

// changedFor are what the claim of an entry is found by after an admission policy has changed it.
func (e entries) changedFor(entry string) [2]generatedFor {
	of := e.generatedFor(entry)
	of.changed = true
	unnamed := of
	unnamed.entry, unnamed.generateName = "", GenerateName(e.pod.Name, entry)
	return [...]generatedFor{of, unnamed}
}

// mayBeFor reports whether a claim that is not the object's by its controller reference may have been
// created for entry i all the same. A claim of another pod or PodGroup is not.
func (e entries) mayBeFor(i int, claim *resourcev1.ResourceClaim) bool {
	controller := metav1.GetControllerOfNoCopy(claim)
	if controller == nil {
		return true
	}
	if _, _, ok := owningPod(claim); ok {
		return false
	}
	if _, _, ok := owningPodGroup(claim); ok {
		return false
	}
	return claim.GenerateName == GenerateName(e.pod.Name, e.pod.Spec.ResourceClaims[i].Name) ||
		slices.ContainsFunc(claim.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID == e.pod.UID })
}

// failed is the event for an entry that gets no claim.
func (e entries) failed(entry, reason string) purekube.Event {
	regarding := corev1.ObjectReference{
		APIVersion: "v1", Kind: e.kind(), Namespace: e.pod.Namespace, Name: e.pod.Name, UID: e.pod.UID, ResourceVersion: e.pod.ResourceVersion,
	}
	if e.group != nil {
		regarding.APIVersion = e.group.apiVersion
	}
	return failedEvent(regarding, entry, reason)
}

// problem is an error about entry i, or about a field of it.
func (e entries) problem(i int, field string, err error) *purekube.ObjectError {
	path := fmt.Sprintf("spec.resourceClaims[%d]", i)
	if field != "" {
		path += "." + field
	}
	return &purekube.ObjectError{Kind: e.kind(), Namespace: e.pod.Namespace, Name: e.pod.Name, Field: path, Err: err}
}

// unsupported is upstream's text about an entry that names neither a claim nor a template.
func (e entries) unsupported(entry string) string {
	text := fmt.Sprintf("pod %q, spec.resourceClaim %q", e.pod.Namespace+"/"+e.pod.Name, entry)
	if e.group != nil {
		text = fmt.Sprintf("PodGroup %s/%s, spec.resourceClaim %s", e.pod.Namespace, e.pod.Name, entry)
	}
	return fmt.Sprintf("checking for claim before creating it: %s: %v", text, ErrUnsupported)
}
