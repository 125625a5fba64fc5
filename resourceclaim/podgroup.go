package resourceclaim

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// The rules for PodGroups
//
// With Options.PodGroupOf the pods of a PodGroup (scheduling.k8s.io) share claims, as in v1.37 with the features
// GenericWorkload and DRAWorkloadResourceClaims. In v1.36 these are alpha, and V1_36 is not compared with it.
//
//   - For each entry of the group's spec.resourceClaims that names a template, a claim is created that the PodGroup
//     controls, and its name is written into the group's status.
//   - A pod's entry belongs to the group if its name, claim and template equal an entry of the group. The pod's plan
//     writes the name of the group's claim into the pod's status, and never creates a claim for the entry.
//   - Once a pod has a node, the claim is reserved for the PodGroup. Pods and PodGroups are identified by their UID;
//     under MatchUpstream also by the name of the claim's owner (D-33).
//   - A PodGroup leaves status.reservedFor when the API server has another one of its name, or none. It does not leave
//     because its pods are done, nor while a pod of the group that is not done uses the claim (D-36).
//   - The garbage collector deletes the claim of a PodGroup.

// maxPodGroupClaims is how many entries the API allows in a PodGroup's spec.resourceClaims.
const maxPodGroupClaims = 4

const (
	podGroupResource   = "podgroups"
	schedulingGroup    = "scheduling.k8s.io"
	podGroupAPIVersion = schedulingGroup + "/v1beta1"
)

// podGroup is a [PodGroup] as an object among others: with metadata, so that internal/persistent can find it by name
// like a pod or a claim. It is never written to.
type podGroup struct {
	metav1.ObjectMeta
	apiVersion string
	entries    []corev1.PodResourceClaim
	statuses   []corev1.PodResourceClaimStatus
}

// podGroupsOf makes the objects of the groups, in their order. They share the entries and statuses with the caller.
func podGroupsOf(groups []PodGroup) []*podGroup {
	out := make([]*podGroup, len(groups))
	for i := range groups {
		g := &groups[i]
		out[i] = &podGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: g.Name, UID: g.UID},
			apiVersion: cmp.Or(g.APIVersion, podGroupAPIVersion), entries: g.ResourceClaims, statuses: g.ResourceClaimStatuses,
		}
		if g.Deleting {
			// Only whether there is one counts, so any time will do.
			out[i].DeletionTimestamp = &metav1.Time{}
		}
	}
	return out
}

// binds reports whether the pod's entry is one of the group's: name, claim and template all match (BindTo in
// k8s.io/dynamic-resource-allocation/resourceclaim). failsAt is the position of the first entry of the group
// that names neither claim nor template, if upstream finds it before a match, and gives up there; -1: there is none.
//
//	entries of the group          entry of the pod              bound
//	gpu, template big             gpu, template big             yes
//	gpu, template big             gpu, template small           no: the pod's own claim
//	gpu, template big             accelerator, template big     no: the pod's own claim
//	net, claim shared             net, claim shared             yes: reserved for the group
func (g *podGroup) binds(pc *corev1.PodResourceClaim) (bound bool, failsAt int) {
	failsAt = -1
	for i := range g.entries {
		switch gc := &g.entries[i]; {
		case gc.ResourceClaimName == nil && gc.ResourceClaimTemplateName == nil:
			// Only what is before the match counts: upstream returns at the match.
			if failsAt < 0 {
				failsAt = i
			}
		case gc.Name == pc.Name && ptr.Equal(gc.ResourceClaimName, pc.ResourceClaimName) &&
			ptr.Equal(gc.ResourceClaimTemplateName, pc.ResourceClaimTemplateName):
			return true, failsAt
		}
	}
	return false, failsAt
}

// membership is what is known about the PodGroup that a pod is in.
//
//	name    group   unknown   problem
//	empty                               in no group, or PodGroups are off
//	set     set                         in this group
//	set             true                it is not known whether the group exists
//	set                       set       the group does not exist, or cannot be used
type membership struct {
	// name of the group; empty: the pod is in none.
	name string
	// group is the PodGroup that counts, or nil.
	group *podGroup
	// unknown: the API server has to be asked for the group, if decides is set: a lookup is made only if the plan depends
	// on it. A pod whose entries all name claims that are reserved for it needs no group.
	unknown, decides bool
	// noAnswer is the error of an answer of the API server that cannot be used.
	noAnswer *purekube.ObjectError
	// problem is why a group that is known not to exist is missing.
	problem error
}

// consult is called where the group decides.
func (m *membership) consult() { m.decides = m.unknown }

// groupName is the name of the PodGroup that the pod is in; empty: it is in none, or PodGroups are off. PodGroupOf is
// the caller's function, because the field is not in all supported releases of k8s.io/api.
func (o Options) groupName(pod *corev1.Pod) string {
	if pod == nil || o.PodGroupOf == nil {
		return ""
	}
	return o.PodGroupOf(pod)
}
