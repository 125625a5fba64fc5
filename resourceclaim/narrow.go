package resourceclaim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// narrow leaves of the snapshot what the plan for that key rests on, so that a plan for one
// object reads the rest once and does not index it.
func narrow(s Snapshot, key purekube.Key, o Options) Snapshot {
	n := Snapshot{Now: s.Now, Deleted: s.Deleted, Answers: s.Answers}
	if o.PodGroupOf == nil {
		s.PodGroups = nil
	}
	is := func(name string) bool { return name == key.Name }
	switch key.Kind {
	case claimKind:
		n.Claims = named(s.Claims, key.Namespace, is)
		n.Assumed = named(s.Assumed, key.Namespace, is)
		pods := podsOf(slices.Concat(n.Claims, n.Assumed))
		n.Pods = named(s.Pods, key.Namespace, pods.has)
		n.Pods = append(n.Pods, groupPods(s.Pods, key, slices.Concat(n.Claims, n.Assumed), pods, o)...)
		n.PodGroups = namedGroups(s.PodGroups, key.Namespace, pods.has)
	case podKind:
		n.Pods = named(s.Pods, key.Namespace, is)
		owners := n.Pods
		if o.PodGroupOf != nil {
			groups := names{}
			for _, pod := range n.Pods {
				if group := o.PodGroupOf(pod); group != "" {
					groups[group] = true
				}
			}
			n.PodGroups = namedGroups(s.PodGroups, key.Namespace, groups.has)
			owners = slices.Concat(owners, asPods(n.PodGroups))
			for group := range groups {
				if g, ok := s.Answers[needPodGroup(key.Namespace, group)].Object.(PodGroup); ok {
					owners = append(owners, asPods([]PodGroup{g})...)
				}
			}
		}
		narrowClaims(&n, s, key, n.Pods, owners)
	case podGroupKind:
		n.PodGroups = namedGroups(s.PodGroups, key.Namespace, is)
		groups := asPods(n.PodGroups)
		narrowClaims(&n, s, key, groups, groups)
	}
	return n
}

// groupPods are the pods that use the claim of that key and are in a PodGroup that it is reserved for,
// without those of the names that are there already.
func groupPods(pods []*corev1.Pod, key purekube.Key, claims []*resourcev1.ResourceClaim, there names, o Options) []*corev1.Pod {
	groups := names{}
	for _, claim := range claims {
		for i := range claim.Status.ReservedFor {
			if consumer := &claim.Status.ReservedFor[i]; isPodGroup(consumer) {
				groups[consumer.Name] = true
			}
		}
	}
	if o.PodGroupOf == nil || len(groups) == 0 {
		return nil
	}
	using := named(pods, key.Namespace, func(name string) bool { return !there[name] })
	return slices.DeleteFunc(using, func(pod *corev1.Pod) bool { return !groups[o.PodGroupOf(pod)] || !resolvesTo(pod, key.Name) })
}

// narrowClaims puts into n the claims and templates that the users name, and the claims of the owners.
func narrowClaims(n *Snapshot, s Snapshot, key purekube.Key, users, owners []*corev1.Pod) {
	claims, templates := claimsOf(users)
	// A claim counts with all objects of its name, or it would pass for the only one.
	claims.addOwned(s.Claims, owners)
	claims.addOwned(s.Assumed, owners)
	n.Claims = named(s.Claims, key.Namespace, claims.has)
	n.Assumed = named(s.Assumed, key.Namespace, claims.has)
	n.Templates = named(s.Templates, key.Namespace, templates.has)
}

// asPods are the groups with their fields where a pod has them.
func asPods(groups []PodGroup) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, g := range podGroupsOf(groups) {
		pods = append(pods, &g.Pod)
	}
	return pods
}

// namedGroups are the groups of that namespace with a name that is wanted.
func namedGroups(groups []PodGroup, namespace string, wanted func(name string) bool) []PodGroup {
	var out []PodGroup
	for i := range groups {
		if g := &groups[i]; g.Name != "" && g.Namespace == namespace && wanted(g.Name) {
			out = append(out, *g)
		}
	}
	return out
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
		if of, ok := owningEntry(claim); ok && uids[of.owner] {
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
