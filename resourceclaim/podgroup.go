package resourceclaim

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

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

// MaxPodGroupClaims is how many entries the API allows in a PodGroup's spec.resourceClaims.
const MaxPodGroupClaims = 4

const (
	podGroupResource   = "podgroups"
	schedulingGroup    = "scheduling.k8s.io"
	podGroupAPIVersion = schedulingGroup + "/v1beta1"
)

// What is wrong with a PodGroup, or with a pod on account of its group. Test for them with
// errors.Is.
var (
	// ErrTooManyClaims: the group has more entries than [MaxPodGroupClaims]. Those beyond get
	// nothing.
	ErrTooManyClaims = fmt.Errorf("more than %d entries", MaxPodGroupClaims)
	// ErrPodGroupNotFound: the pod is in a group that nobody has, so that it is not known which of
	// its entries are the group's. Those without a claim of the pod's own get nothing.
	ErrPodGroupNotFound = errors.New("its PodGroup is not found")
	// ErrPodGroupClaim: the claim is a PodGroup's, and Options.PodGroupOf is nil (D-27).
	ErrPodGroupClaim = errors.New("the claim is a PodGroup's, and PodGroups are off")
	// ErrAPIVersion: the group's APIVersion is not one of scheduling.k8s.io.
	ErrAPIVersion = errors.New("not a version of " + schedulingGroup)
)

// podGroup is a [PodGroup] with its fields where a pod has them: its claims are generated as a pod's
// are.
type podGroup struct {
	corev1.Pod
	apiVersion string
}

func podGroupsOf(groups []PodGroup) []*podGroup {
	all := make([]podGroup, len(groups))
	out := make([]*podGroup, len(groups))
	for i := range groups {
		all[i] = podGroupOf(&groups[i])
		out[i] = &all[i]
	}
	return out
}

func podGroupOf(g *PodGroup) podGroup {
	out := podGroup{apiVersion: g.APIVersion}
	out.Namespace, out.Name, out.UID = g.Namespace, g.Name, g.UID
	if g.Deleting {
		out.DeletionTimestamp = &metav1.Time{}
	}
	out.Spec.ResourceClaims = g.ResourceClaims
	out.Status.ResourceClaimStatuses = g.ResourceClaimStatuses
	if out.apiVersion == "" {
		out.apiVersion = podGroupAPIVersion
	}
	return out
}

// versioned reports whether the group's requests can be made.
func (g *podGroup) versioned() bool {
	version, _ := schema.ParseGroupVersion(g.apiVersion) // what does not parse is of no group
	return version.Group == schedulingGroup && version.Version != ""
}

// planPodGroup decides about one PodGroup: create the claims that its members share and write their
// names into its status (syncPodGroup in upstream's controller.go). They are reserved for it by its
// pods' plans.
func (x *planner) planPodGroup(g *podGroup) (r Result, err error) {
	if len(g.Spec.ResourceClaims) == 0 || g.DeletionTimestamp != nil {
		return r, nil
	}
	presence, problem := x.presenceOfGroup(g)
	if presence == absent {
		return r, nil // D-21: its claims would have to be taken back
	}
	r, err = x.planPresentPodGroup(g)
	if presence == doubtful {
		return whetherPresent(needPodGroup(g.Namespace, g.Name), r, err, problem)
	}
	return r, err
}

// planPresentPodGroup is planPodGroup for a group that is there.
func (x *planner) planPresentPodGroup(g *podGroup) (r Result, err error) {
	var problems snapshot.Problems
	if problem := g.invalid(); problem != nil {
		problems.Add(problem)
		return r, problems.Err()
	}
	of := entriesOf(&g.Pod)
	of.group = g
	_, work := x.generateAll(of, nil, &r, &problems)
	if work.ended || len(r.Needs) > 0 {
		return asksFirst(r), problems.Err()
	}
	if work.statuses() {
		r.Actions = append(r.Actions, x.setStatuses(of, work))
	}
	return r, problems.Err()
}

// invalid is why nothing can be planned for the group, or nil.
func (g *podGroup) invalid() *purekube.ObjectError {
	switch {
	case g.UID == "":
		return podGroupError(snapshot.KeyOf(g), "metadata.uid", ErrNoUID)
	case !g.versioned():
		return podGroupError(snapshot.KeyOf(g), "apiVersion", ErrAPIVersion)
	}
	return nil
}

func (g *podGroup) key() purekube.Key { return PodGroupKey(g.Namespace, g.Name) }

// binds reports whether the pod's entry is one of the group's: name, claim and template all match
// (BindTo in k8s.io/dynamic-resource-allocation/resourceclaim). failsAt is the position of an entry of
// the group that names neither claim nor template and that upstream finds first, and gives up; -1:
// there is none.
func (g *podGroup) binds(pc *corev1.PodResourceClaim) (bound bool, failsAt int) {
	failsAt = -1
	for i := range g.Spec.ResourceClaims {
		switch gc := &g.Spec.ResourceClaims[i]; {
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
	of := entries{pod: &g.Pod, group: g}
	reason = fmt.Sprintf("PodGroup %s/%s claim %s: %v", g.Namespace, g.Name, g.Spec.ResourceClaims[i].Name, ErrUnsupported)
	return of.problem(i, "", ErrUnsupported), reason
}

// owningPodGroup is the PodGroup that controls the claim, whatever the version of its API.
func owningPodGroup(claim metav1.Object) (name string, uid types.UID, ok bool) {
	owner := metav1.GetControllerOfNoCopy(claim)
	if owner == nil || !isPodGroupOwner(owner) {
		return "", "", false
	}
	return owner.Name, owner.UID, true
}

func isPodGroupOwner(owner *metav1.OwnerReference) bool {
	if owner.Kind != podGroupKind {
		return false
	}
	version, _ := schema.ParseGroupVersion(owner.APIVersion) // what does not parse is of no group
	return version.Group == schedulingGroup
}

// isPodGroup reports whether the consumer is a PodGroup.
func isPodGroup(consumer *resourcev1.ResourceClaimConsumerReference) bool {
	return consumer.APIGroup == schedulingGroup && consumer.Resource == podGroupResource
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

// groupOf finds the PodGroup of a pod.
func (x *planner) groupOf(pod *corev1.Pod) membership {
	if x.PodGroupOf == nil {
		return membership{}
	}
	m := membership{name: x.PodGroupOf(pod)}
	if m.name == "" {
		return m
	}
	key := types.NamespacedName{Namespace: pod.Namespace, Name: m.name}
	if x.podGroupAmbiguous(key) {
		m.problem = snapshot.DuplicateError(podGroupKind, key)
		return m
	}
	if g := x.podGroup(key); g != nil {
		if presence, _ := x.presenceOfGroup(g); presence == present {
			m.group = g
		}
	}
	if m.group == nil && !x.upstream() {
		// D-32: the group may be too new for the cache.
		answer := x.lookUp(needPodGroup(key.Namespace, key.Name))
		if !answer.asked {
			m.decisive, m.noAnswer = new(bool), answer.problem
			return m
		}
		if found, ok := answer.found.(PodGroup); ok {
			g := podGroupOf(&found)
			g.Namespace, g.Name = key.Namespace, key.Name
			m.group = &g
		}
	}
	switch {
	case m.group == nil:
		m.problem = ErrPodGroupNotFound
	case m.group.UID == "":
		m.group, m.problem = nil, podGroupError(key, "metadata.uid", ErrNoUID)
	}
	return m
}

// owns reports whether the claim was made for the object that has the entries, or for the PodGroup
// that the pod is in. Upstream knows a pod's group by its name, which may be another one's by now
// (D-33).
func (x *planner) owns(of entries, claim *resourcev1.ResourceClaim) bool {
	if isForPod(of.pod, claim) {
		return true
	}
	name, uid, _ := owningPodGroup(claim)
	if of.member.name == "" || name != of.member.name || claim.Namespace != of.pod.Namespace {
		return false
	}
	of.member.consult()
	return x.upstream() || of.member.group != nil && uid == of.member.group.UID
}

// reserved reports whether the claim is reserved for the pod or for its group. Upstream knows the
// group by its name (D-33).
func (x *planner) reserved(of entries, claim *resourcev1.ResourceClaim) bool {
	if isReservedFor(of.pod, claim) {
		return true
	}
	m := of.member
	if m.name == "" {
		return false
	}
	for i := range claim.Status.ReservedFor {
		consumer := &claim.Status.ReservedFor[i]
		if !isPodGroup(consumer) || consumer.Name != m.name {
			continue
		}
		m.consult()
		if x.upstream() || m.group == nil || consumer.UID == m.group.UID {
			return true
		}
	}
	return false
}

// mayBeGroups reports whether the claim is reserved for a PodGroup while PodGroups are off, so that the
// pod may be one of the group's (D-27).
func (x *planner) mayBeGroups(claim *resourcev1.ResourceClaim) bool {
	return x.PodGroupOf == nil && !x.upstream() && slices.ContainsFunc(claim.Status.ReservedFor, func(c resourcev1.ResourceClaimConsumerReference) bool { return isPodGroup(&c) })
}

// standingOfGroup says what is known about the PodGroup with that name and UID. It is not done before
// it is gone.
func (x *planner) standingOfGroup(name types.NamespacedName, uid types.UID) (standing, *purekube.ObjectError) {
	k := known{ambiguous: x.podGroupAmbiguous(name)}
	if g := x.podGroup(name); g != nil {
		k.cached, k.cachedUID = true, g.UID
	}
	return x.standing(needPodGroup(name.Namespace, name.Name), uid, k)
}

func podGroupError(name types.NamespacedName, field string, err error) *purekube.ObjectError {
	return &purekube.ObjectError{Kind: podGroupKind, Namespace: name.Namespace, Name: name.Name, Field: field, Err: err}
}

// asConsumer is how the group appears in status.reservedFor.
func (g *podGroup) asConsumer() resourcev1.ResourceClaimConsumerReference {
	return resourcev1.ResourceClaimConsumerReference{APIGroup: schedulingGroup, Resource: podGroupResource, Name: g.Name, UID: g.UID}
}
