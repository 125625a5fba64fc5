package model

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/test/apiserver"
)

// needing is the pod with that UID if it runs or may yet run, or the PodGroup with that UID if it is there; empty: neither.
func needing(v *View, uid types.UID) string {
	if p := podWith(v, uid); p != nil && podNeeds(p) {
		return fmt.Sprintf("pod %s (%s)", p.Name, p.UID)
	}
	if g := groupWith(v, uid); g != nil {
		return fmt.Sprintf("PodGroup %s (%s)", g.Name, g.UID)
	}
	return ""
}

func nothingTakenFromLivePods(s *Step) string {
	if s.Request == nil {
		return ""
	}
	for _, before := range All[*resourcev1.ResourceClaim](s.Before) {
		after := Get[*resourcev1.ResourceClaim](s.After, "ns", before.Name)
		if after != nil && after.ResourceVersion == before.ResourceVersion {
			continue
		}
		for _, r := range before.Status.ReservedFor {
			user := needing(s.Before, r.UID)
			switch {
			case user == "":
			case after == nil:
				return fmt.Sprintf("claim %s goes, and %s uses it", before.Name, user)
			case !reservedFor(after, r.UID):
				return fmt.Sprintf("claim %s is not reserved for %s any more, which uses it", before.Name, user)
			case before.Status.Allocation != nil && after.Status.Allocation == nil:
				return fmt.Sprintf("claim %s is deallocated, and %s uses it", before.Name, user)
			}
		}
		if owner := needing(s.Before, ownerOf(before)); owner != "" && before.DeletionTimestamp == nil && (after == nil || after.DeletionTimestamp != nil) {
			return fmt.Sprintf("claim %s is deleted, and %s, for which it was made, is alive", before.Name, owner)
		}
	}
	return ""
}

func noSecondClaim(s *Step) string {
	if s.Request == nil || s.Request.Verb != "create" {
		return ""
	}
	by := map[string]string{}
	for _, c := range All[*resourcev1.ResourceClaim](s.After) {
		owner := ownerOf(c)
		if owner == "" || c.DeletionTimestamp != nil {
			continue
		}
		entry := string(owner) + " " + c.Annotations[podClaimName]
		if other := by[entry]; other != "" {
			return fmt.Sprintf("claims %s and %s are both for entry %s of %s", other, c.Name, c.Annotations[podClaimName], owner)
		}
		by[entry] = c.Name
	}
	return ""
}

// claimsKeepWhatIsTheirs: of an existing claim the controller writes nothing but reservedFor, the allocation and
// its own finalizer, and it deletes no claim that was not made for a pod; of a pod or PodGroup it writes nothing but
// the names of claims.
func claimsKeepWhatIsTheirs(s *Step) string {
	if s.Request == nil {
		return ""
	}
	for _, before := range All[*resourcev1.ResourceClaim](s.Before) {
		after := Get[*resourcev1.ResourceClaim](s.After, "ns", before.Name)
		if after == nil || after.DeletionTimestamp != nil && before.DeletionTimestamp == nil {
			if ownerOf(before) == "" && before.DeletionTimestamp == nil {
				return "claim " + before.Name + " is deleted, and nobody made it for a pod"
			}
			continue
		}
		if changedBeyond(before, after, func(c *resourcev1.ResourceClaim) {
			c.Finalizers = slices.DeleteFunc(c.Finalizers, func(f string) bool { return f == claimFinalizer })
			c.Status.Allocation, c.Status.ReservedFor = nil, nil
		}) {
			return "claim " + before.Name + " is changed beyond its reservations, allocation and finalizer"
		}
	}
	return cmp.Or(
		writtenBeyond(s, "pod", "its claims' names", func(p *corev1.Pod) { p.Status.ResourceClaimStatuses = nil }),
		writtenBeyond(s, "PodGroup", "its claims' names", func(g *apiserver.PodGroup) { g.Status.ResourceClaimStatuses = nil }))
}

func claimsServePods(v *View) string {
	for _, p := range All[*corev1.Pod](v) {
		if !podNeeds(p) || p.DeletionTimestamp != nil {
			continue
		}
		names := claimsOf(p)
		for _, e := range p.Spec.ResourceClaims {
			c := Get[*resourcev1.ResourceClaim](v, "ns", names[e.Name])
			switch {
			case e.ResourceClaimTemplateName != nil && ownEntry(v, p, e.Name) && (c == nil || ownerOf(c) != p.UID):
				return fmt.Sprintf("at rest, every entry of a pod has its claim: entry %s of %s has none", e.Name, p.Name)
			case c != nil && p.Spec.NodeName != "" && c.Status.Allocation != nil && c.DeletionTimestamp == nil && !reservedFor(c, consumerOf(c, p).UID):
				return fmt.Sprintf("at rest, a running pod has its claims reserved: %s is not reserved for %s", c.Name, p.Name)
			}
		}
	}
	for _, c := range All[*resourcev1.ResourceClaim](v) {
		for _, r := range c.Status.ReservedFor {
			if needing(v, r.UID) == "" && membersOn(v, c, r) == "" {
				return fmt.Sprintf("at rest, no claim is held for what does not need it: %s by %s", c.Name, r.Name)
			}
		}
		held := slices.Contains(c.Finalizers, claimFinalizer)
		if c.DeletionTimestamp != nil && len(c.Status.ReservedFor) == 0 && (held || c.Status.Allocation != nil) {
			return "at rest, nothing of this controller's holds back a deletion: " + describeClaimOrPod(c)
		}
		if owner := ownerOf(c); owner != "" && c.DeletionTimestamp == nil && needing(v, owner) == "" {
			return "at rest, no claim is left over: " + c.Name
		}
	}
	return groupsHaveTheirClaims(v)
}
