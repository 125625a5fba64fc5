package model

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/resourceclaim"
)

// memberOf is the label that says which PodGroup a pod of these worlds is in.
const memberOf = "group"

// groupFinalizer holds a PodGroup for as long as its pods may run, as v1.37's protection controller does.
const groupFinalizer = "scheduling.k8s.io/podgroup-protection"

// podGroupWorld is a PodGroup with a template entry, which comes back under its name, a pod that has that entry, and one
// that has an entry of its own as well.
func podGroupWorld(o resourceclaim.Options) Scenario { return podGroupWorldOf(o, "gpu") }

// podGroupWorldOf is the world in which the PodGroup has these entries.
func podGroupWorldOf(o resourceclaim.Options, entries ...string) Scenario {
	o.PodGroupOf = podGroupOf
	w := claimWorldOf(o, "team-0", "also-0").without("claim held by a driver")
	w.Name = "PodGroups"
	w.Kinds = []schema.GroupVersionResource{pods, apiserver.PodGroups, claims, templates}
	w.Objects = w.Objects[:1] // no shared claim
	w.Events = append(w.Events, podGroupEvents([]string{"group-0"}, entries...)...)
	return w
}

// podGroupOf is the PodGroup of a pod of these worlds.
func podGroupOf(p *corev1.Pod) string { return p.Labels[memberOf] }

// podGroupEvents are what happens to PodGroups of these names, which have these entries.
func podGroupEvents(names []string, entries ...string) []Event {
	return []Event{
		{Name: "group created", Max: 2, Do: func(v *View, do func(string, ...Change)) {
			for _, name := range names {
				if Get[*apiserver.PodGroup](v, "ns", name) != nil {
					continue
				}
				g := &apiserver.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: UID(v.Fresh), Finalizers: []string{groupFinalizer}}}
				for _, entry := range entries {
					g.Spec.ResourceClaims = append(g.Spec.ResourceClaims, corev1.PodResourceClaim{Name: entry, ResourceClaimTemplateName: ptr.To("gpu")})
				}
				do(fmt.Sprintf("PodGroup %s is created (%s)", name, g.UID), Put(g))
			}
		}},
		{Name: "group deleted", Do: func(v *View, do func(string, ...Change)) {
			for _, g := range All[*apiserver.PodGroup](v) {
				if g.DeletionTimestamp == nil {
					do("the user deletes PodGroup "+g.Name, Delete(v.Now, g))
				}
			}
		}},
		{Name: "group let go", Settles: true, Do: func(v *View, do func(string, ...Change)) {
			for _, g := range All[*apiserver.PodGroup](v) {
				if g.DeletionTimestamp != nil && !slices.ContainsFunc(All[*corev1.Pod](v), func(p *corev1.Pod) bool { return podGroupOf(p) == g.Name && podNeeds(p) }) {
					do("PodGroup "+g.Name+" has no pod that may run, and goes", Remove(g))
				}
			}
		}},
	}
}

// withoutPods is the world in which there is nothing but PodGroups and their claims.
func (w Scenario) withoutPods() Scenario {
	w.Name += " without pods"
	return w.only("group created", "group deleted", "group let go", "claim deleted", "garbage collected")
}

// groupFor is the group as the package takes it; nil for nil.
func groupFor(g *apiserver.PodGroup) *resourceclaim.PodGroup {
	if g == nil {
		return nil
	}
	return &resourceclaim.PodGroup{Namespace: g.Namespace, Name: g.Name, UID: g.UID, Deleting: g.DeletionTimestamp != nil,
		ResourceClaims: g.Spec.ResourceClaims, ResourceClaimStatuses: g.Status.ResourceClaimStatuses}
}

func podGroupsOf(v *View) (groups []resourceclaim.PodGroup) {
	for _, g := range All[*apiserver.PodGroup](v) {
		groups = append(groups, *groupFor(g))
	}
	return groups
}

func groupWith(v *View, uid types.UID) *apiserver.PodGroup {
	for _, g := range All[*apiserver.PodGroup](v) {
		if g.UID == uid {
			return g
		}
	}
	return nil
}

// ownEntry reports whether the claim of the pod's entry is known to be the pod's. Without the PodGroup that the pod is in it
// is not known which entries are the group's (D-32).
func ownEntry(v *View, p *corev1.Pod, entry string) bool {
	group := podGroupOf(p)
	return group == "" || entry != "gpu" && Get[*apiserver.PodGroup](v, "ns", group) != nil
}

// madeFor reports whether the claim was made for the pod, or for the PodGroup that it is in.
func madeFor(v *View, c *resourcev1.ResourceClaim, p *corev1.Pod) bool {
	if g := groupWith(v, ownerOf(c)); g != nil {
		return g.Name == podGroupOf(p)
	}
	return ownerOf(c) == p.UID
}

// consumerOf is the one that the claim is reserved for when the pod uses it: the pod, or its PodGroup where the claim was
// made for that, or is a user's and reserved for that.
func consumerOf(c *resourcev1.ResourceClaim, p *corev1.Pod) resourcev1.ResourceClaimConsumerReference {
	if owner := metav1.GetControllerOf(c); owner != nil && owner.Kind == "PodGroup" {
		return resourcev1.ResourceClaimConsumerReference{APIGroup: apiserver.PodGroups.Group, Resource: apiserver.PodGroups.Resource, Name: owner.Name, UID: owner.UID}
	}
	for _, r := range c.Status.ReservedFor {
		if ownerOf(c) == "" && kindOf(r) == "PodGroup" && r.Name == podGroupOf(p) {
			return r
		}
	}
	return resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: p.Name, UID: p.UID}
}

func kindOf(r resourcev1.ResourceClaimConsumerReference) string {
	if r.Resource == apiserver.PodGroups.Resource {
		return "PodGroup"
	}
	return "pod"
}

// groupsHaveTheirClaims says what is wrong with the PodGroups at rest, and with the claims that their pods share.
func groupsHaveTheirClaims(v *View) string {
	for _, g := range All[*apiserver.PodGroup](v) {
		if g.DeletionTimestamp != nil {
			continue
		}
		for _, e := range g.Spec.ResourceClaims {
			i := slices.IndexFunc(g.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == e.Name })
			if i < 0 {
				return "at rest, every entry of a PodGroup has its claim: the status names none for " + e.Name
			}
			c := Get[*resourcev1.ResourceClaim](v, "ns", *g.Status.ResourceClaimStatuses[i].ResourceClaimName)
			if c == nil || ownerOf(c) != g.UID {
				return "at rest, every entry of a PodGroup has its claim: there is none for " + e.Name
			}
			for _, p := range All[*corev1.Pod](v) {
				if name, has := claimsOf(p)[e.Name]; has && podGroupOf(p) == g.Name && podNeeds(p) && p.DeletionTimestamp == nil && name != c.Name && !ownEntry(v, p, e.Name) {
					return fmt.Sprintf("at rest, a pod has the claims of its PodGroup: %s does not know %s", p.Name, c.Name)
				}
			}
		}
	}
	return ""
}
