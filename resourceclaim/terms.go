package resourceclaim

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/persistent"
)

// terms are the hashes by which an [Index] finds objects that refer to others. The hash decides
// about speed only: what is found is looked at.
type terms struct {
	persistent.Hash
	Options
}

// What a term is about.
const (
	usesClaim     uint64 = iota + 1 // an entry of a pod or PodGroup resolves to the claim of this name
	usesEntry                       // the pod or PodGroup of this UID, if a claim can be generated for it
	namesTemplate                   // an entry names the template of this name
	isMember                        // a pod is in the PodGroup of this name
	hasUID                          // the pod of this UID
	namesPod                        // a claim names the pod of this name as consumer or owner
	consumedBy                      // a claim names the PodGroup of this name as consumer
	namesUID                        // a claim was generated for an entry of the pod or PodGroup with this UID, or names it as consumer
)

func (t terms) named(about uint64, name types.NamespacedName) uint64 {
	return t.Term(about, name.Namespace, name.Name)
}

// ofPod are the claims, templates and the PodGroup that the pod's entries are about.
func (t terms) ofPod(terms []uint64, pod *corev1.Pod) []uint64 {
	if len(pod.Spec.ResourceClaims) == 0 {
		return terms
	}
	o := podOwner(pod)
	terms = t.ofOwner(terms, &o)
	if group := t.groupName(pod); group != "" {
		terms = append(terms, t.Term(isMember, pod.Namespace, group))
	}
	return terms
}

func (t terms) ofPodGroup(terms []uint64, g *podGroup) []uint64 {
	o := groupOwner(g)
	return append(t.ofOwner(terms, &o), t.Term(hasUID, string(g.UID)))
}

func (t terms) ofOwner(terms []uint64, o *owner) []uint64 {
	for i := range o.entries {
		if name, state := o.claimName(i); state == NameKnown {
			terms = append(terms, t.Term(usesClaim, o.Namespace, name))
		}
		if template := o.entries[i].ResourceClaimTemplateName; template != nil {
			terms = append(terms, t.Term(namesTemplate, o.Namespace, *template))
		}
	}
	if o.anyGenerated() {
		terms = append(terms, t.Term(usesEntry, string(o.UID)))
	}
	return terms
}

func (t terms) uidOfPod(terms []uint64, pod *corev1.Pod) []uint64 {
	return append(terms, t.Term(hasUID, string(pod.UID)))
}

// ofClaim are the pods and PodGroups that the claim's plan depends on, and the entry that it was generated for.
func (t terms) ofClaim(terms []uint64, claim *resourcev1.ResourceClaim) []uint64 {
	owner, _, owned := owningPod(claim)
	if owned = owned && t.ownerMatters(claim); owned {
		terms = append(terms, t.Term(namesPod, claim.Namespace, owner))
	}
	of, generated := owningEntry(claim)
	if generated {
		terms = append(terms, t.Term(namesUID, string(of.owner)))
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
		if !generated || consumer.UID != of.owner {
			terms = append(terms, t.Term(namesUID, string(consumer.UID)))
		}
	}
	return terms
}
