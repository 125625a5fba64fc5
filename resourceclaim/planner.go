package resourceclaim

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/purekube/purekube"
)

// objects answers by name. It is a snapshot arranged for one pass ([tables]) or for many questions
// ([Index]).
type objects interface {
	// pod is the only pod of that name, or nil.
	pod(types.NamespacedName) *corev1.Pod
	// podAmbiguous reports whether there are several.
	podAmbiguous(types.NamespacedName) bool
	// claim is the claim of that name that counts, or nil, and its position among the listed ones
	// if the objects have one; -1: they do not.
	claim(types.NamespacedName) (claim *resourcev1.ResourceClaim, position int)
	// claimAmbiguous reports whether it is not known which claim of that name counts.
	claimAmbiguous(types.NamespacedName) bool
	// versionProblems are those with resourceVersions of that claim that do not compare.
	versionProblems(types.NamespacedName) []*purekube.ObjectError
	// writtenClaim is the claim of that name that counts if the caller's own writes do, or nil.
	writtenClaim(types.NamespacedName) *resourcev1.ResourceClaim
	// generatedClaim is the claim that was generated for the entry of the pod or PodGroup with that
	// UID, whether or not its status says so. Nil: there is none. ambiguous is the name of one of
	// which it is not known which version counts, so that it can neither be used nor be taken for
	// missing.
	generatedClaim(owner generatedFor) (claim *resourcev1.ResourceClaim, ambiguous *types.NamespacedName)
	// podGroup is the only PodGroup of that name, or nil.
	podGroup(types.NamespacedName) *podGroup
	// podGroupAmbiguous reports whether there are several.
	podGroupAmbiguous(types.NamespacedName) bool
	// podsUsing are the pods with an entry that resolves to the claim of that name.
	podsUsing(claim types.NamespacedName) iter.Seq[*corev1.Pod]
	// template is the only template of that name, or nil; ambiguous reports whether there are
	// several.
	template(types.NamespacedName) (template *resourcev1.ResourceClaimTemplate, ambiguous bool)
}

// planner makes the decisions about one pod or claim at a time.
type planner struct {
	Options
	objects
	// deleted and answers are those of the snapshot.
	deleted sets.Set[types.UID]
	answers map[purekube.Need]purekube.Answer

	// users has for each listed claim a pod that was seen to use it, or nil: most claims are
	// reserved for that very pod, which need not be searched for again then. Nil: nobody looks.
	users []*corev1.Pod
}

// podNamed returns the only pod of that name, or nil. It is quick if the guess is right.
func (x *planner) podNamed(name types.NamespacedName, guess *corev1.Pod) *corev1.Pod {
	if guess != nil && guess.Name == name.Name && guess.Namespace == name.Namespace {
		return guess
	}
	return x.pod(name)
}

// newestClaim is the claim of that name that counts, or nil.
func (x *planner) newestClaim(name types.NamespacedName) *resourcev1.ResourceClaim {
	claim, _ := x.claim(name)
	return claim
}
