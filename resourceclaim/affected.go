package resourceclaim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/podstate"
)

// AffectedByPod returns the keys to plan after an event of a pod, sorted: the pod if it may need
// work, and, when it is deleted, in a final phase, or being deleted without a node, the claims
// that it uses: those its entries name, the one of status.extendedResourceClaimStatus, and
// those that are reserved for it or controlled by it. s is the snapshot after the event;
// deleted says that the pod is gone.
//
// It names at least what upstream's enqueuePod does, for the default mode. The last two kinds of
// claims upstream does not look for.
func AffectedByPod(pod *corev1.Pod, deleted bool, s Snapshot) []Key {
	var keys keySet
	if pod != nil {
		keys.addPods([]*corev1.Pod{pod}, deleted, s)
	}
	return keys.sorted()
}

// AffectedByClaim returns the keys to plan after an event of a claim, sorted: the claim unless
// it is gone, and what [AffectedByPod] names for each pod that uses it. old is nil for a new
// claim, new for a deleted one; s is the snapshot after the event.
//
// A pod uses a claim that an entry resolves to (upstream's enqueueResourceClaim) or, beyond
// upstream, that was generated for it and is not in its status yet.
func AffectedByClaim(old, new *resourcev1.ResourceClaim, s Snapshot) []Key {
	var keys keySet
	claim := new
	if claim != nil {
		keys.add(ClaimKey, claim.Namespace, claim.Name)
	} else if claim = old; claim == nil {
		return nil
	}
	_, owner, owned := owningPod(claim)
	keys.addPods(podsWhere(s, claim.Namespace, func(pod *corev1.Pod) bool {
		if owned && pod.UID == owner {
			return true
		}
		for i := range pod.Spec.ResourceClaims {
			if name, _ := ClaimName(pod, &pod.Spec.ResourceClaims[i]); name == claim.Name && name != "" {
				return true
			}
		}
		return false
	}), false, s)
	return keys.sorted()
}

// AffectedByTemplate returns the keys to plan after a template was added or changed, sorted:
// what [AffectedByPod] names for each pod whose spec names the template (upstream's
// enqueueResourceClaimTemplate). s is the snapshot after the event.
func AffectedByTemplate(t *resourcev1.ResourceClaimTemplate, s Snapshot) []Key {
	var keys keySet
	if t != nil {
		keys.addPods(podsWhere(s, t.Namespace, func(pod *corev1.Pod) bool {
			for i := range pod.Spec.ResourceClaims {
				if name := pod.Spec.ResourceClaims[i].ResourceClaimTemplateName; name != nil && *name == t.Name {
					return true
				}
			}
			return false
		}), false, s)
	}
	return keys.sorted()
}

func podsWhere(s Snapshot, namespace string, match func(*corev1.Pod) bool) []*corev1.Pod {
	var out []*corev1.Pod
	for _, pod := range s.Pods {
		if pod != nil && pod.Namespace == namespace && match(pod) {
			out = append(out, pod)
		}
	}
	return out
}

// keySet collects keys. The zero value is empty.
type keySet map[Key]bool

func (k *keySet) add(kind Kind, namespace, name string) {
	if name == "" {
		return
	}
	if *k == nil {
		*k = keySet{}
	}
	(*k)[Key{kind, namespace, name}] = true
}

func (k keySet) sorted() []Key {
	var out []Key
	for key := range k {
		out = append(out, key)
	}
	slices.SortFunc(out, compareKeys)
	return out
}

// addPods adds what an event of each of the pods affects. It reads the claims once.
func (k *keySet) addPods(pods []*corev1.Pod, deleted bool, s Snapshot) {
	pods = slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return !usesClaims(pod) })
	if len(pods) == 0 {
		return
	}
	claims := claimsByName(pods, s)
	over := map[types.UID]bool{}
	for _, pod := range pods {
		if needsWork(pod, claims) {
			k.add(PodKey, pod.Namespace, pod.Name)
		}
		if !deleted && !podstate.Done(pod) {
			continue
		}
		over[pod.UID] = true
		for i := range pod.Spec.ResourceClaims {
			if name, state := ClaimName(pod, &pod.Spec.ResourceClaims[i]); state == NameKnown {
				k.add(ClaimKey, pod.Namespace, name)
			}
		}
		if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
			k.add(ClaimKey, pod.Namespace, extended.ResourceClaimName)
		}
	}
	if len(over) == 0 {
		return
	}
	// Claims of a pod that is over whose names it does not know: reserved for it by hand, or
	// generated when its status could not be written.
	for _, claim := range s.Claims {
		if claim != nil && heldBy(claim, over) {
			k.add(ClaimKey, claim.Namespace, claim.Name)
		}
	}
}

func heldBy(claim *resourcev1.ResourceClaim, pods map[types.UID]bool) bool {
	for i := range claim.Status.ReservedFor {
		if pods[claim.Status.ReservedFor[i].UID] {
			return true
		}
	}
	_, owner, ok := owningPod(claim)
	return ok && pods[owner]
}

// listedClaim is what the caller's cache has of a name that an entry resolves to.
type listedClaim struct {
	claim *resourcev1.ResourceClaim
	// count is how many claims of that name there are; more than one is a defect of the
	// snapshot.
	count int
}

// claimsByName are the claims that the pods' entries resolve to, as the caller's cache has them.
// Assumed ones do not count: their event is yet to come.
func claimsByName(pods []*corev1.Pod, s Snapshot) map[types.NamespacedName]listedClaim {
	wanted := map[types.NamespacedName]listedClaim{}
	for _, pod := range pods {
		for i := range pod.Spec.ResourceClaims {
			if name, state := ClaimName(pod, &pod.Spec.ResourceClaims[i]); state == NameKnown {
				wanted[types.NamespacedName{Namespace: pod.Namespace, Name: name}] = listedClaim{}
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for _, claim := range s.Claims {
		if claim == nil {
			continue
		}
		name := types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name}
		if found, ok := wanted[name]; ok {
			wanted[name] = listedClaim{claim, found.count + 1}
		}
	}
	return wanted
}

// needsWork reports whether the pod's plan may have anything to do (podNeedsWork in upstream's
// controller.go). claims are those its entries resolve to.
func needsWork(pod *corev1.Pod, claims map[types.NamespacedName]listedClaim) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	for i := range pod.Spec.ResourceClaims {
		pc := &pod.Spec.ResourceClaims[i]
		name, state := ClaimName(pod, pc)
		switch state {
		case NameNotNeeded:
			continue
		case NameNotCreated, NameUnsupported:
			return true
		}
		found := claims[types.NamespacedName{Namespace: pod.Namespace, Name: name}]
		claim := found.claim
		switch {
		case found.count > 1:
			// The plan says so.
			return true
		case claim == nil && !generated(pc):
			// Its user has to create it, and then there is an event.
			continue
		case claim == nil:
			return true
		case generated(pc) && !isForPod(pod, claim):
			// Upstream waits for that claim to go, although its own pass generates another.
			return true
		case pod.Spec.NodeName != "" && claim.Status.Allocation != nil && !isReservedFor(pod, claim):
			return true
		}
	}
	return false
}
