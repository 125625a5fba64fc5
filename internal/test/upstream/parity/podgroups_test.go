package parity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/resourceclaim"
)

// schedulingGroupOf is the name of the pod's PodGroup.
func schedulingGroupOf(p *corev1.Pod) string {
	if p.Spec.SchedulingGroup == nil {
		return ""
	}
	return ptr.Deref(p.Spec.SchedulingGroup.PodGroupName, "")
}

var podGroupNames = []string{"g0", "g1", "g2"}

// podGroupsCore is the resource claim controller with the features GenericWorkload and
// DRAWorkloadResourceClaims on, and snapshots with PodGroups.
var podGroupsCore = func() Core[claimsCase] {
	core := resourceclaimCore
	core.Name = "resourceclaim with PodGroups"
	core.Generate = generateGroups
	core.Kinds = append(slices.DeleteFunc(slices.Clone(core.Kinds), func(kind string) bool { return kind == "not a pod" }),
		"apply podgroups/status", "get podgroups", "event Warning FailedResourceClaimCreation on a PodGroup",
		"made for a group", "a group adopts", "its group's claim for a pod", "reserved for a group", "a group is gone", "a group is deleted", "a group is replaced",
		"a pod without its group")
	core.Marks = func(c claimsCase, t Trace) []string { return append(markClaims(c, t), markGroups(c, t)...) }
	core.Describe = func(c claimsCase) string {
		return fmt.Sprintf("%s\ngroups on the API server, not in the cache: %v", resourceclaimCore.Describe(c), c.liveGroups)
	}
	return core
}()

func TestResourceClaimPodGroups(t *testing.T) {
	if Release == purekube.V1_36 {
		t.Skip("PodGroups are compared from v1.37 on")
	}
	podGroupsCore.Test(t)
}

func someGroup(r *rand.Rand, name string) resourceclaim.PodGroup {
	g := resourceclaim.PodGroup{APIVersion: "scheduling.k8s.io/v1beta1", Namespace: "ns", Name: name, UID: someUID(r, name), Deleting: r.IntN(8) == 0}
	for i := range r.IntN(4) {
		entry := corev1.PodResourceClaim{Name: fmt.Sprintf("e%d", i)}
		status := corev1.PodResourceClaimStatus{Name: entry.Name}
		switch r.IntN(12) {
		case 0:
			// From an API that is newer than both.
		case 1, 2:
			entry.ResourceClaimName = ptr.To(claimNames[r.IntN(len(claimNames))])
		default:
			entry.ResourceClaimTemplateName = ptr.To([]string{"plain", "plain", "plain", "list", "none"}[r.IntN(5)])
			switch r.IntN(6) {
			case 0:
				g.ResourceClaimStatuses = append(g.ResourceClaimStatuses, status)
			case 1, 2, 3:
				status.ResourceClaimName = ptr.To(claimNames[r.IntN(len(claimNames))])
				g.ResourceClaimStatuses = append(g.ResourceClaimStatuses, status)
			}
		}
		g.ResourceClaims = append(g.ResourceClaims, entry)
	}
	return g
}

// generateGroups puts PodGroups into a case, pods into them, and their claims beside the pods'.
func generateGroups(r *rand.Rand) claimsCase {
	seldom := func() bool { return r.IntN(5) == 0 }
	often := func() bool { return r.IntN(5) > 0 }
	c := generateClaims(r)
	c.options.PodGroupOf = schedulingGroupOf
	for _, name := range podGroupNames {
		switch r.IntN(5) {
		case 0:
		case 1:
			c.liveGroups = append(c.liveGroups, resourceclaim.PodGroup{Namespace: "ns", Name: name, UID: someUID(r, name)})
		default:
			c.snapshot.PodGroups = append(c.snapshot.PodGroups, someGroup(r, name))
		}
	}
	for _, p := range c.snapshot.Pods {
		if seldom() {
			continue
		}
		name := podGroupNames[r.IntN(len(podGroupNames))]
		if g := c.group(name); g != nil {
			for i := range min(len(p.Spec.ResourceClaims), len(g.ResourceClaims)) {
				if often() {
					p.Spec.ResourceClaims[i] = *g.ResourceClaims[i].DeepCopy()
				}
			}
		} else if often() {
			continue
		}
		p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
	}
	made := map[string]bool{} // one claim for an entry: of two, upstream takes any
	for _, claim := range slices.Concat(c.snapshot.Claims, c.liveClaims) {
		if r.IntN(2) == 0 {
			name := podGroupNames[r.IntN(len(podGroupNames))]
			uid, entry := someUID(r, name), fmt.Sprintf("e%d", r.IntN(3))
			if key := string(uid) + entry; !made[key] {
				made[key] = true
				version := []string{"v1beta1", "v1beta1", "v1alpha3"}[r.IntN(3)]
				claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "scheduling.k8s.io/" + version, Kind: "PodGroup", Name: name, UID: uid, Controller: ptr.To(true)}}
				claim.Annotations = map[string]string{"resource.kubernetes.io/pod-claim-name": entry}
			}
		}
		for i := range claim.Status.ReservedFor {
			if r.IntN(3) == 0 {
				name := podGroupNames[r.IntN(len(podGroupNames))]
				claim.Status.ReservedFor[i] = resourcev1.ResourceClaimConsumerReference{APIGroup: "scheduling.k8s.io", Resource: "podgroups", Name: name, UID: someUID(r, name)}
			}
		}
	}
	// Some groups have got as far as a claim, and some of their pods as far as a node.
	for _, claim := range c.snapshot.Claims {
		if len(c.snapshot.PodGroups) == 0 || seldom() {
			break
		}
		g := &c.snapshot.PodGroups[r.IntN(len(c.snapshot.PodGroups))]
		i := r.IntN(3)
		if i >= len(g.ResourceClaims) || g.ResourceClaims[i].ResourceClaimTemplateName == nil || made[string(g.UID)+g.ResourceClaims[i].Name] {
			continue
		}
		entry := g.ResourceClaims[i]
		made[string(g.UID)+entry.Name] = true
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "scheduling.k8s.io/v1beta1", Kind: "PodGroup", Name: g.Name, UID: g.UID, Controller: ptr.To(true)}}
		claim.Annotations = map[string]string{"resource.kubernetes.io/pod-claim-name": entry.Name}
		claim.Status.ReservedFor = nil
		if often() {
			claim.Status.Allocation = &resourcev1.AllocationResult{}
		}
		for _, p := range c.snapshot.Pods {
			j := slices.IndexFunc(p.Spec.ResourceClaims, func(e corev1.PodResourceClaim) bool { return e.Name == entry.Name })
			if schedulingGroupOf(p) != g.Name || j < 0 || seldom() {
				continue
			}
			p.Spec.ResourceClaims[j] = *entry.DeepCopy()
			p.Status.ResourceClaimStatuses = slices.DeleteFunc(p.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == entry.Name })
			if r.IntN(2) == 0 {
				p.Status.ResourceClaimStatuses = append(p.Status.ResourceClaimStatuses, corev1.PodResourceClaimStatus{Name: entry.Name, ResourceClaimName: &claim.Name})
				p.DeletionTimestamp = nil
			}
		}
	}
	if r.IntN(3) == 0 {
		c.deleted = append(c.deleted, someUID(r, podGroupNames[r.IntN(len(podGroupNames))]))
	}
	return c
}

func markGroups(c claimsCase, t Trace) []string {
	var marks []string
	mark := func(yes bool, what string) {
		if yes && !slices.Contains(marks, what) {
			marks = append(marks, what)
		}
	}
	mark(slices.ContainsFunc(t.Events, func(e Event) bool { return e.Kind == "PodGroup" }), "event Warning FailedResourceClaimCreation on a PodGroup")
	o := c.options
	o.MatchUpstream = Release
	for _, key := range c.queue() {
		result, _, _ := c.plan(key, o)
		for _, a := range result.Actions {
			switch a := a.(type) {
			case resourceclaim.CreateClaim:
				mark(a.Owner.Kind == "PodGroup", "made for a group")
			case resourceclaim.SetClaimStatuses:
				mark(a.Kind == "PodGroup" && len(a.Statuses) > 0, "a group adopts")
				mark(a.Kind == "Pod" && slices.ContainsFunc(a.Statuses, func(s corev1.PodResourceClaimStatus) bool {
					claim := c.claim(*s.ResourceClaimName)
					return claim != nil && len(claim.OwnerReferences) > 0 && claim.OwnerReferences[0].Kind == "PodGroup"
				}), "its group's claim for a pod")
			case resourceclaim.Reserve:
				mark(a.Consumer.Kind == "PodGroup", "reserved for a group")
			case resourceclaim.Release:
				for _, consumer := range a.Removed {
					if consumer.Resource != "podgroups" {
						continue
					}
					switch g := c.group(consumer.Name); {
					case slices.Contains(c.deleted, consumer.UID):
						mark(true, "a group is deleted")
					case g == nil:
						mark(true, "a group is gone")
					default:
						mark(g.UID != consumer.UID, "a group is replaced")
					}
				}
			}
		}
		if key.Kind == "Pod" {
			mark(slices.ContainsFunc(c.snapshot.Pods, func(p *corev1.Pod) bool {
				return p.Name == key.Name && p.DeletionTimestamp == nil && schedulingGroupOf(p) != "" && c.group(schedulingGroupOf(p)) == nil
			}), "a pod without its group")
		}
	}
	return marks
}

func inPodGroup(p *corev1.Pod, group string) *corev1.Pod {
	p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	return p
}
