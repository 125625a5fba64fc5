package resourceclaim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// What a snapshot needs for which question:
//
//   - All pods, claims and templates of a namespace are enough for every question about the namespace.
//   - For a pod: the pod, the claims that its entries name or that it controls, its templates, its PodGroup, and the
//     claims that the PodGroup controls.
//   - For a claim: the claim, its owner, its consumers, and the pods of PodGroups among them that use the claim.
//
// A pod or PodGroup that you leave out costs a lookup, and so does a claim that a status names. Any other claim that
// you leave out counts as absent, and a pod of a PodGroup that you leave out counts as not using the claim (D-36).

// Snapshot is the input of a plan. Plans do not write to it.
type Snapshot struct {
	// Now is the time of the snapshot. No decision of this package depends on it yet.
	Now time.Time
	// Pods are all pods in your cache. A pod that is not in Pods may still exist: see Answers.
	Pods []*corev1.Pod
	// Claims are all claims in your cache.
	Claims []*resourcev1.ResourceClaim
	// Templates are all templates in your cache.
	Templates []*resourcev1.ResourceClaimTemplate
	// PodGroups are all PodGroups in your cache. They count only if Options.PodGroupOf is set.
	PodGroups []PodGroup
	// Assumed are the claims that the API server returned to your own writes, which may not be in Claims yet, one for each
	// name. Of a claim in Claims and in Assumed, the version with the newer resourceVersion counts. If the
	// resourceVersions do not compare, nothing is planned for the claim. Package memory keeps such a list.
	Assumed []*resourcev1.ResourceClaim
	// Deleted are the UIDs of pods and PodGroups that you saw being deleted: package memory keeps such a set. If the
	// caches still show such a pod or PodGroup, its plan first needs a lookup. By default a UID in Deleted alone
	// releases nothing (D-37).
	Deleted sets.Set[types.UID]
	// Answers are the API server's answers to the Needs of an earlier plan. Read them after Claims. The Object of an
	// answer is a *corev1.Pod, a *resourcev1.ResourceClaim or a [PodGroup], as the Kind of the Need says, or nil if the
	// API server has no such object. If a claim names a pod or PodGroup by UID, an object with another UID means that
	// it was replaced; an object without a UID is an error. An answer with an Err, or with an Object of another type
	// ([errAnswerType]), does not count: the plan still has the Need, and the error. Use an answer only for the plan
	// that asked for it, then discard it: nothing notifies you when it becomes stale.
	Answers map[purekube.Need]purekube.Answer
}

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

// Options change how a plan is made. The zero value asks for the default decisions with the features of Kubernetes
// v1.36 on.
type Options struct {
	// MatchUpstream asks for the requests that kube-controller-manager of that release would send, its defects
	// included: the differences that the package comment lists do not apply, except D-6. The zero value asks for the
	// default decisions.
	MatchUpstream purekube.Upstream
	// DenyAdminAccess refuses templates with a request for admin access, like a cluster whose feature DRAAdminAccess is
	// off.
	DenyAdminAccess bool
	// DenyPrioritizedList refuses templates with a list of alternatives (firstAvailable), like a cluster whose feature
	// DRAPrioritizedList is off.
	DenyPrioritizedList bool
	// PodGroupOf returns the name of the pod's PodGroup, or the empty string for a pod in no group. If your k8s.io/api
	// is v0.36 or newer, return spec.schedulingGroup.podGroupName. A nil PodGroupOf means that PodGroups are off, as in
	// a cluster whose features GenericWorkload and DRAWorkloadResourceClaims are off: every entry is the pod's own.
	// That is what v1.36 does for a pod that names a group nevertheless. v1.37 creates no claim for such a pod; nor does
	// a plan with a PodGroupOf, as long as the group does not exist.
	PodGroupOf func(*corev1.Pod) string
}

// err returns what is wrong with the options. Every question then returns this error and nothing else: a misspelled
// release must not give the default decisions to a caller who asked for upstream's.
func (o Options) err() error { return snapshot.CheckUpstream(o.MatchUpstream) }
