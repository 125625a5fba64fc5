package resourceclaim

import (
	"hash/maphash"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

// terms are the hashes by which an [Index] finds objects that refer to others. The hash decides
// about speed only: what is found is looked at.
type terms struct {
	seed maphash.Seed
	Options
}

// What a term is about is mixed into it, so that the terms of one object differ.
const (
	claimTerm    uint64 = iota*0x9e3779b97f4a7c1 + 1 // a pod's entry resolves to the claim of this name
	templateTerm                                     // a pod's entry names this template
	podUIDTerm                                       // the pod of this UID, if a claim can be generated for it
	podTerm                                          // a claim names the pod of this name as consumer or owner
	ownerTerm                                        // a claim was generated for an entry of the pod or PodGroup with this UID
	memberTerm                                       // a pod is in the PodGroup of this name
	groupTerm                                        // a claim names the PodGroup of this name as consumer
)

func (t terms) named(about uint64, namespace, name string) uint64 {
	return about + maphash.String(t.seed, name) + 31*maphash.String(t.seed, namespace)
}

func (t terms) uid(about uint64, uid types.UID) uint64 {
	return about + maphash.String(t.seed, string(uid))
}

// ofPod are the claims and templates that the pod's entries are about.
func (t terms) ofPod(pod *corev1.Pod, add func(uint64)) {
	if len(pod.Spec.ResourceClaims) == 0 {
		return
	}
	of := entriesOf(pod)
	for i := range pod.Spec.ResourceClaims {
		pc := &pod.Spec.ResourceClaims[i]
		if name, state := of.claimName(i); state == NameKnown {
			add(t.named(claimTerm, pod.Namespace, name))
		}
		if pc.ResourceClaimTemplateName != nil {
			add(t.named(templateTerm, pod.Namespace, *pc.ResourceClaimTemplateName))
		}
	}
	if anyGenerated(pod) {
		add(t.uid(podUIDTerm, pod.UID))
	}
	if t.PodGroupOf != nil {
		if group := t.PodGroupOf(pod); group != "" {
			add(t.named(memberTerm, pod.Namespace, group))
		}
	}
}

// ofPodGroup are the claims and templates that the group's entries are about.
func (t terms) ofPodGroup(g *podGroup, add func(uint64)) {
	t.PodGroupOf = nil // a group is in none
	t.ofPod(&g.Pod, add)
}

// ofClaim are the pods and PodGroups that the claim's plan depends on.
func (t terms) ofClaim(claim *resourcev1.ResourceClaim, add func(uint64)) {
	owner, _, owned := owningPod(claim)
	if owned = owned && t.ownerMatters(claim); owned {
		add(t.named(podTerm, claim.Namespace, owner))
	}
	if of, ok := owningEntry(claim); ok {
		add(t.uid(ownerTerm, of.owner))
	}
	if t.PodGroupOf != nil {
		for i := range claim.Status.ReservedFor {
			if consumer := &claim.Status.ReservedFor[i]; isPodGroup(consumer) {
				add(t.named(groupTerm, claim.Namespace, consumer.Name))
			}
		}
	}
	for i := range claim.Status.ReservedFor {
		consumer := &claim.Status.ReservedFor[i]
		// Most claims are reserved for the pod that owns them.
		if isPod(consumer) && !(owned && consumer.Name == owner) {
			add(t.named(podTerm, claim.Namespace, consumer.Name))
		}
	}
}

func ofTemplate(*resourcev1.ResourceClaimTemplate, func(uint64)) {}
