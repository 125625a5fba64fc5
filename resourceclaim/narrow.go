package resourceclaim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/snapshot"
)

// narrow leaves of the snapshot what the plan for that key rests on, so that a plan for one
// object reads the rest once and does not index it.
func narrow(s Snapshot, key Key) Snapshot {
	n := Snapshot{Now: s.Now, Deleted: s.Deleted, Confirmed: s.Confirmed, ConfirmedClaims: s.ConfirmedClaims}
	is := func(name string) bool { return name == key.Name }
	switch key.Kind {
	case ClaimKey:
		n.Claims = named(s.Claims, key.Namespace, is)
		n.Assumed = named(s.Assumed, key.Namespace, is)
		pods := podsOf(slices.Concat(n.Claims, n.Assumed))
		n.Pods = named(s.Pods, key.Namespace, pods.has)
	case PodKey:
		n.Pods = named(s.Pods, key.Namespace, is)
		claims, templates := claimsOf(n.Pods)
		// A claim counts with all objects of its name, or it would pass for the only one.
		claims.addOwned(s.Claims, n.Pods)
		claims.addOwned(s.Assumed, n.Pods)
		n.Claims = named(s.Claims, key.Namespace, claims.has)
		n.Assumed = named(s.Assumed, key.Namespace, claims.has)
		n.Templates = named(s.Templates, key.Namespace, templates.has)
	}
	return n
}

// names are the names of some objects of one kind and namespace.
type names map[string]bool

func (n names) has(name string) bool { return n[name] }

// podsOf are the pods that the claims name: consumers and owners.
func podsOf(claims []*resourcev1.ResourceClaim) names {
	pods := names{}
	for _, claim := range claims {
		for i := range claim.Status.ReservedFor {
			pods[claim.Status.ReservedFor[i].Name] = true
		}
		if owner, _, ok := owningPod(claim); ok {
			pods[owner] = true
		}
	}
	return pods
}

// claimsOf are the claims and templates that the pods name.
func claimsOf(pods []*corev1.Pod) (claims, templates names) {
	claims, templates = names{}, names{}
	for _, pod := range pods {
		of := entriesOf(pod)
		for i := range pod.Spec.ResourceClaims {
			pc := &pod.Spec.ResourceClaims[i]
			if name, state := of.claimName(i); state == NameKnown {
				claims[name] = true
			}
			if pc.ResourceClaimTemplateName != nil {
				templates[*pc.ResourceClaimTemplateName] = true
			}
		}
	}
	return claims, templates
}

// addOwned adds the claims that one of the pods controls.
func (n names) addOwned(claims []*resourcev1.ResourceClaim, pods []*corev1.Pod) {
	uids := make(map[types.UID]bool, len(pods))
	for _, pod := range pods {
		uids[pod.UID] = true
	}
	for _, claim := range claims {
		if claim == nil {
			continue
		}
		if _, uid, ok := owningPod(claim); ok && uids[uid] {
			n[claim.Name] = true
		}
	}
}

// named are the objects of that namespace with a name that is wanted.
func named[T any, P snapshot.Object[T]](objects []P, namespace string, wanted func(name string) bool) []P {
	var out []P
	for _, o := range objects {
		if o != nil && o.GetName() != "" && o.GetNamespace() == namespace && wanted(o.GetName()) {
			out = append(out, o)
		}
	}
	return out
}
