package resourceclaim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// PodGroup has the fields of a PodGroup of scheduling.k8s.io that this package reads. It is not the API's own type: no
// version of the API type is in all supported releases of k8s.io/api.
//
// Convert the object that your client returns, for each event of a PodGroup. A Snapshot has PodGroups as values: the
// slices in them are shared with the caller and never written to.
type PodGroup struct {
	// APIVersion is the version in which you read and write the group. Empty means "scheduling.k8s.io/v1beta1".
	APIVersion string
	// Namespace and Name of the group.
	Namespace, Name string
	// UID of the group.
	UID types.UID
	// Deleting reports that the group has a deletion timestamp.
	Deleting bool
	// ResourceClaims are spec.resourceClaims. An entry has the same fields as a pod's.
	ResourceClaims []corev1.PodResourceClaim
	// ResourceClaimStatuses are status.resourceClaimStatuses, with the same fields as a pod's.
	ResourceClaimStatuses []corev1.PodResourceClaimStatus
}

// maxPodGroupClaims is how many entries the API allows in a PodGroup's spec.resourceClaims.
const maxPodGroupClaims = 4

const (
	podGroupResource   = "podgroups"
	schedulingGroup    = "scheduling.k8s.io"
	podGroupAPIVersion = schedulingGroup + "/v1beta1"
)

// Errors about a PodGroup, or about a pod because of its group. Test for them with errors.Is.
var (
	// ErrTooManyClaims: the group has more than 4 entries, which is the limit of the API. The entries beyond the limit
	// get nothing.
	ErrTooManyClaims = fmt.Errorf("more than %d entries", maxPodGroupClaims)
	// ErrPodGroupNotFound: the pod is in a group that does not exist, so it is unknown which of its entries belong to
	// the group. The entries that have no claim of the pod get nothing.
	ErrPodGroupNotFound = errors.New("PodGroup not found")
	// ErrPodGroupClaim: the claim is a PodGroup's, and Options.PodGroupOf is nil (D-27).
	ErrPodGroupClaim = errors.New("the claim belongs to a PodGroup, and Options.PodGroupOf is nil")
	// ErrAPIVersion: the group's APIVersion is not one of scheduling.k8s.io.
	ErrAPIVersion = errors.New("not a version of " + schedulingGroup)
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
// k8s.io/dynamic-resource-allocation/resourceclaim). failsAt is the position of an entry of the group that names
// neither claim nor template and that upstream finds first, and gives up; -1: there is none.
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

// unbindable is upstream's failure at that entry of the group, for one of its pods, and its text. The problem is the
// group's, and the event the pod's.
func (g *podGroup) unbindable(i int) (problem *purekube.ObjectError, reason string) {
	o := groupOwner(g)
	reason = fmt.Sprintf("PodGroup %s/%s claim %s: %v", g.Namespace, g.Name, g.entries[i].Name, ErrUnsupported)
	return o.entryProblem(i, "", ErrUnsupported), reason
}

// membership is what is known about the PodGroup that a pod is in.
//
//	name    group   decisive   problem
//	empty                                 in no group, or PodGroups are off
//	set     set                           in this group
//	set             set                   it is not known whether the group exists
//	set                        set        the group does not exist, or cannot be used
//
// The third row is the reason for consult: a lookup of the group is made only if the plan depends on it. A pod whose
// entries all name claims that are reserved for it needs no group.
type membership struct {
	// name of the group; empty: the pod is in none.
	name string
	// group is the PodGroup that counts, or nil.
	group *podGroup
	// decisive is set where it is not known whether there is a group. It becomes true when something
	// depends on that, so that the API server has to be asked.
	decisive *bool
	// noAnswer is the error of an answer of the API server that cannot be used.
	noAnswer *purekube.ObjectError
	// problem is why a group that is known not to exist is missing.
	problem error
}

// consult is called where the group decides.
// The note goes through a pointer, because memberships are copied with their owner.
func (m membership) consult() {
	if m.decisive != nil {
		*m.decisive = true
	}
}

// decides reports whether the API server has to be asked for the group.
func (m membership) decides() bool { return m.decisive != nil && *m.decisive }

// groupOf finds the PodGroup of a pod: in the snapshot, then in the answers. A nil pod is in none, and so is an owner
// that is a PodGroup.
func (x *Index) groupOf(pod *corev1.Pod) membership {
	m := membership{name: x.options.groupName(pod)}
	if m.name == "" {
		return m
	}
	key := types.NamespacedName{Namespace: pod.Namespace, Name: m.name}
	g, twice := x.groups.Lookup(key)
	if twice != nil {
		m.problem = twice
		return m
	}
	if g != nil {
		// D-37: a group that was seen to be deleted does not count before the API server has confirmed it.
		if presence, _ := x.presence(PodGroupKey(g.Namespace, g.Name), g.UID); presence == present {
			m.group = g
		}
	}
	if m.group == nil && !x.options.upstream() {
		// D-32: the group may be too new for the cache. Pods and PodGroups have separate watches.
		answer := x.lookUp(needOf(PodGroupKey(key.Namespace, key.Name)))
		if !answer.asked {
			m.decisive, m.noAnswer = new(bool), answer.problem
			return m
		}
		if found, ok := answer.found.(PodGroup); ok {
			// The answer belongs to the name that was asked for, whatever its own name is.
			found.Namespace, found.Name = key.Namespace, key.Name
			m.group = podGroupsOf([]PodGroup{found})[0]
		}
	}
	switch {
	// The API server has no such group. Under MatchUpstream the cache has none, and upstream does not look further.
	case m.group == nil:
		m.problem = ErrPodGroupNotFound
	// Without a UID nothing can be compared with the group, neither the owner of a claim nor a consumer (D-33).
	case m.group.UID == "":
		m.group, m.problem = nil, &purekube.ObjectError{Kind: podGroupKind, Namespace: key.Namespace, Name: key.Name, Field: "metadata.uid", Err: ErrNoUID}
	}
	return m
}

// groupName is the name of the PodGroup that the pod is in; empty: it is in none, or PodGroups are off. PodGroupOf is
// the caller's function, because the field is not in all supported releases of k8s.io/api.
func (o Options) groupName(pod *corev1.Pod) string {
	if pod == nil || o.PodGroupOf == nil {
		return ""
	}
	return o.PodGroupOf(pod)
}

// owns reports whether the claim was made for the owner of the entries, or for the PodGroup that the pod is in.
// Upstream knows a pod's group by its name, which may be another one's by now (D-33).
func (x *Index) owns(o *owner, claim *resourcev1.ResourceClaim) bool {
	if isForPod(o.Namespace, o.UID, claim) {
		return true
	}
	name, uid, _ := owningPodGroup(claim)
	if o.member.name == "" || name != o.member.name || claim.Namespace != o.Namespace {
		return false
	}
	// The claim is of a group with the name of the pod's group. Whether it is the same group, its UID says. While the
	// group is not known the claim is another's, and shared, which comes next, asks for the group.
	return x.options.upstream() || o.member.group != nil && uid == o.member.group.UID
}

// reserved reports whether the claim is reserved for the pod or for its group. Upstream knows the group by its name
// (D-33).
//
// While no such group is known, a reservation for its name counts: a Reserve for the pod alone would be a second
// consumer. If a lookup may still find the group, the plan asks for it.
func (x *Index) reserved(o *owner, claim *resourcev1.ResourceClaim) bool {
	if isReservedFor(o.UID, claim) {
		return true
	}
	m := o.member
	if m.name == "" {
		return false
	}
	for i := range claim.Status.ReservedFor {
		consumer := &claim.Status.ReservedFor[i]
		if !isPodGroup(consumer) || consumer.Name != m.name {
			continue
		}
		// A reservation under the name of the group decides whether the pod needs another one.
		m.consult()
		if x.options.upstream() || m.group == nil || consumer.UID == m.group.UID {
			return true
		}
	}
	return false
}

// mayBeGroups reports whether the claim is reserved for a PodGroup while PodGroups are off, so that the pod may be one
// of the group's (D-27). Without Options.PodGroupOf it is unknown which pods these are.
func (x *Index) mayBeGroups(claim *resourcev1.ResourceClaim) bool {
	return x.options.PodGroupOf == nil && !x.options.upstream() &&
		slices.ContainsFunc(claim.Status.ReservedFor, func(c resourcev1.ResourceClaimConsumerReference) bool { return isPodGroup(&c) })
}
