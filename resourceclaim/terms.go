package resourceclaim

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/persistent"
)

// terms are the hashes by which an [Index] finds objects that refer to others. The hash matters only for speed: each
// found object is checked.
//
// To find an object by its name is a lookup. To find the objects that refer to it would take a pass over all pods for
// each event of a claim. So each object has terms, one for each reference that it has, and a persistent.TermIndex finds
// the objects with a term. The event of claim ml/shared asks for the term (usesClaim, ml,
// shared):
//
//	pod ml/a   spec.resourceClaims: shared           terms: usesClaim ml/shared
//	pod ml/b   template gpu, status: b-gpu-x4z9k     terms: usesClaim ml/b-gpu-x4z9k, namesTemplate ml/gpu, usesEntry
//	pod ml/c   no entries                            terms: none
//
// The terms of an object must depend on the object and the options alone. They are computed when the object changes,
// and not when anything else does.
type terms struct {
	persistent.Hash
	Options
}

// What a term is about.
const (
	// The first part of a term, so that references of different kinds to one name are different terms. A term may find
	// too many objects, and must not miss any: affected.go has to name every key whose plan can differ.
	usesClaim     uint64 = iota + 1 // an entry of a pod or PodGroup resolves to the claim of this name
	usesEntry                       // the pod or PodGroup of this UID, if a claim can be generated for it
	namesTemplate                   // an entry names the template of this name
	isMember                        // a pod is in the PodGroup of this name
	hasUID                          // the pod of this UID
	namesPod                        // a claim names the pod of this name as consumer or owner
	consumedBy                      // a claim names the PodGroup of this name as consumer
	// a claim belongs to the pod or to an entry of the PodGroup with this UID, or names it as consumer
	namesUID
)

// named is the term about the object of that name.
func (t terms) named(about uint64, name types.NamespacedName) uint64 {
	return t.Term(about, name.Namespace, name.Name)
}

// ofPod appends the claims, templates and the PodGroup that the pod's entries are about. A pod without entries has no
// term, although it may be in a PodGroup: its plan is empty whatever happens to the group.
func (t terms) ofPod(terms []uint64, pod *corev1.Pod) []uint64 {
	if len(pod.Spec.ResourceClaims) == 0 {
		return terms
	}
	c := podClaimant(pod)
	terms = t.ofClaimant(terms, &c)
	if group := t.groupName(pod); group != "" {
		terms = append(terms, t.Term(isMember, pod.Namespace, group))
	}
	return terms
}

// ofPodGroup appends the terms of the group's entries and of its UID. PodGroups are few, so their UIDs have no index of
// their own.
func (t terms) ofPodGroup(terms []uint64, g *podGroup) []uint64 {
	c := groupClaimant(g)
	return append(t.ofClaimant(terms, &c), t.Term(hasUID, string(g.UID)))
}

// ofClaimant appends the terms of the entries of a pod or PodGroup.
func (t terms) ofClaimant(terms []uint64, c *claimant) []uint64 {
	for i := range c.entries {
		if name, state := c.claimName(i); state == NameKnown {
			terms = append(terms, t.Term(usesClaim, c.Namespace, name))
		}
		// Also for an entry that has its claim: a template matters again when the claim is deleted.
		if template := c.entries[i].ResourceClaimTemplateName; template != nil {
			terms = append(terms, t.Term(namesTemplate, c.Namespace, *template))
		}
	}
	// For claims that were created for the owner and that its status does not name.
	if c.anyGenerated() {
		terms = append(terms, t.Term(usesEntry, string(c.UID)))
	}
	return terms
}

// uidOfPod appends the pod's UID. Each pod has it, with entries or without: any pod may be a consumer of a claim.
func (t terms) uidOfPod(terms []uint64, pod *corev1.Pod) []uint64 {
	return append(terms, t.Term(hasUID, string(pod.UID)))
}

// ofClaim appends the pods and PodGroups that the claim's plan depends on, and the entry that it was generated for. By
// name, since a plan looks for its consumers by name, and by UID, since UIDs are seen to be deleted.
func (t terms) ofClaim(terms []uint64, claim *resourcev1.ResourceClaim) []uint64 {
	owner, uid, owned := owningPod(claim)
	// D-17: a claim that is being deleted does not depend on its owner. Thousands of such claims, kept by a foreign
	// finalizer, must not be named by each event of the pod.
	if owned = owned && t.ownerMatters(claim); owned {
		terms = append(terms, t.Term(namesPod, claim.Namespace, owner))
	}
	// If the claim has both, they have one UID. The scheduler's claim for an extended resource has no entry.
	of, generated := owningEntry(claim)
	if generated {
		uid = of.owner
	}
	if owned || generated {
		terms = append(terms, t.Term(namesUID, string(uid)))
	}
	for i := range claim.Status.ReservedFor {
		consumer := &claim.Status.ReservedFor[i]
		// Most claims are reserved for the pod that owns them.
		if isPod(consumer) && !(owned && consumer.Name == owner) {
			terms = append(terms, t.Term(namesPod, claim.Namespace, consumer.Name))
		}
		if t.PodGroupOf != nil && isPodGroup(consumer) {
			terms = append(terms, t.Term(consumedBy, claim.Namespace, consumer.Name))
		}
		// The term of the owner's UID was appended above.
		if !(owned || generated) || consumer.UID != uid {
			terms = append(terms, t.Term(namesUID, string(consumer.UID)))
		}
	}
	return terms
}
