package resourceclaim

import (
	"hash/maphash"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

// terms are the hashes by which an [Index] finds objects that refer to others. The hash decides
// about speed only: what is found is looked at.
type terms struct{ seed maphash.Seed }

// What a term is about is mixed into it, so that the terms of one object differ.
const (
	claimTerm    uint64 = iota*0x9e3779b97f4a7c1 + 1 // a pod's entry resolves to the claim of this name
	templateTerm                                     // a pod's entry names this template
	podUIDTerm                                       // the pod of this UID, if a claim can be generated for it
	podTerm                                          // a claim names the pod of this name as consumer or owner
	ownerTerm                                        // a claim was generated for an entry of the pod with this UID
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
}

// ofClaim are the pods that the claim names.
func (t terms) ofClaim(claim *resourcev1.ResourceClaim, add func(uint64)) {
	owner, _, owned := owningPod(claim)
	if owned {
		add(t.named(podTerm, claim.Namespace, owner))
	}
	if uid, _, ok := owningEntry(claim); ok {
		add(t.uid(ownerTerm, uid))
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
