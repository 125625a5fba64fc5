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
//   - Once a pod has a node, the claim is reserved for the PodGroup. Pods and PodGroups are identified by their UID; under
//     MatchUpstream also by the name of the claim's owner (D-33).
//   - A PodGroup leaves status.reservedFor when the API server has another one of its name, or none. It does not leave
//     because its pods are done, nor while a pod of the group that is not done uses the claim (D-36).
//   - The garbage collector deletes the claim of a PodGroup.

// PodGroup is what this package reads of a PodGroup of scheduling.k8s.io. It is not the API's own
// type: no version of that is in all supported releases of k8s.io/api.
type PodGroup struct {
	// APIVersion is the one that its objects are read and written with, for example
	// "scheduling.k8s.io/v1beta1". Empty means that one.
	APIVersion string
	// Namespace and Name of the group.
	Namespace, Name string
	// UID of the group.
	UID types.UID
	// Deleting reports that it has a deletion timestamp.
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

// What is wrong with a PodGroup, or with a pod on account of its group. Test for them with
// errors.Is.
var (
	// ErrTooManyClaims: the group has more than 4 entries, which is the limit of the API. Those beyond get
	// nothing.
	ErrTooManyClaims = fmt.Errorf("more than %d entries", maxPodGroupClaims)
	// ErrPodGroupNotFound: the pod is in a group that nobody has, so that it is not known which of
	// its entries are the group's. Those without a claim of the pod's own get nothing.
	ErrPodGroupNotFound = errors.New("PodGroup not found")
	// ErrPodGroupClaim: the claim is a PodGroup's, and Options.PodGroupOf is nil (D-27).
	ErrPodGroupClaim = errors.New("the claim belongs to a PodGroup, and Options.PodGroupOf is nil")
	// ErrAPIVersion: the group's APIVersion is not one of scheduling.k8s.io.
	ErrAPIVersion = errors.New("not a version of " + schedulingGroup)
)

// podGroup is a [PodGroup] as an object among others.
type podGroup struct {
	metav1.ObjectMeta
	apiVersion string
	entries    []corev1.PodResourceClaim
	statuses   []corev1.PodResourceClaimStatus
}

func podGroupsOf(groups []PodGroup) []*podGroup {
	out := make([]*podGroup, len(groups))
	for i := range groups {
		g := &groups[i]
		out[i] = &podGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: g.Name, UID: g.UID},
			apiVersion: cmp.Or(g.APIVersion, podGroupAPIVersion), entries: g.ResourceClaims, statuses: g.ResourceClaimStatuses,
		}
		if g.Deleting {
			out[i].DeletionTimestamp = &metav1.Time{}
		}
	}
	return out
}

// binds reports whether the pod's entry is one of the group's: name, claim and template all match
// (BindTo in k8s.io/dynamic-resource-allocation/resourceclaim). failsAt is the position of an entry of
// the group that names neither claim nor template and that upstream finds first, and gives up; -1:
// there is none.
func (g *podGroup) binds(pc *corev1.PodResourceClaim) (bound bool, failsAt int) {
	failsAt = -1
	for i := range g.entries {
		switch gc := &g.entries[i]; {
		case gc.ResourceClaimName == nil && gc.ResourceClaimTemplateName == nil:
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

// unbindable is upstream's failure at that entry of the group, for one of its pods, and the text of it.
func (g *podGroup) unbindable(i int) (problem *purekube.ObjectError, reason string) {
	o := groupOwner(g)
	reason = fmt.Sprintf("PodGroup %s/%s claim %s: %v", g.Namespace, g.Name, g.entries[i].Name, ErrUnsupported)
	return o.entryProblem(i, "", ErrUnsupported), reason
}

// membership is what is known about the PodGroup that a pod is in.
type membership struct {
	// name of the group; empty: the pod is in none.
	name string
	// group is the one that counts, or nil.
	group *podGroup
	// decisive is set where it is not known whether there is a group. It becomes true when something
	// depends on that, so that the API server has to be asked.
	decisive *bool
	// noAnswer says why an answer of the API server about the group is none.
	noAnswer *purekube.ObjectError
	// problem says why there is no group although that is known.
	problem error
}

// consult is called where the group decides.
func (m membership) consult() {
	if m.decisive != nil {
		*m.decisive = true
	}
}

// decides reports whether the API server has to be asked for the group.
func (m membership) decides() bool { return m.decisive != nil && *m.decisive }

// groupOf finds the PodGroup of a pod; nil is in none.
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
		if presence, _ := x.presence(needPodGroup(g.Namespace, g.Name), g.UID); presence == present {
			m.group = g
		}
	}
	if m.group == nil && !x.options.upstream() {
		// D-32: the group may be too new for the cache.
		answer := x.lookUp(needPodGroup(key.Namespace, key.Name))
		if !answer.asked {
			m.decisive, m.noAnswer = new(bool), answer.problem
			return m
		}
		if found, ok := answer.found.(PodGroup); ok {
			found.Namespace, found.Name = key.Namespace, key.Name
			m.group = podGroupsOf([]PodGroup{found})[0]
		}
	}
	switch {
	case m.group == nil:
		m.problem = ErrPodGroupNotFound
	case m.group.UID == "":
		m.group, m.problem = nil, &purekube.ObjectError{Kind: podGroupKind, Namespace: key.Namespace, Name: key.Name, Field: "metadata.uid", Err: ErrNoUID}
	}
	return m
}

// groupName is the name of the PodGroup that the pod is in; empty: it is in none, or PodGroups are off.
func (o Options) groupName(pod *corev1.Pod) string {
	if pod == nil || o.PodGroupOf == nil {
		return ""
	}
	return o.PodGroupOf(pod)
}

// owns reports whether the claim was made for the owner of the entries, or for the PodGroup
// that the pod is in. Upstream knows a pod's group by its name, which may be another one's by now
// (D-33).
func (x *Index) owns(o *owner, claim *resourcev1.ResourceClaim) bool {
	if isForPod(o.Namespace, o.UID, claim) {
		return true
	}
	name, uid, _ := owningPodGroup(claim)
	if o.member.name == "" || name != o.member.name || claim.Namespace != o.Namespace {
		return false
	}
	o.member.consult()
	return x.options.upstream() || o.member.group != nil && uid == o.member.group.UID
}

// reserved reports whether the claim is reserved for the pod or for its group. Upstream knows the
// group by its name (D-33).
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
		m.consult()
		if x.options.upstream() || m.group == nil || consumer.UID == m.group.UID {
			return true
		}
	}
	return false
}

// mayBeGroups reports whether the claim is reserved for a PodGroup while PodGroups are off, so that the
// pod may be one of the group's (D-27).
func (x *Index) mayBeGroups(claim *resourcev1.ResourceClaim) bool {
	return x.options.PodGroupOf == nil && !x.options.upstream() &&
		slices.ContainsFunc(claim.Status.ReservedFor, func(c resourcev1.ResourceClaimConsumerReference) bool { return isPodGroup(&c) })
}
