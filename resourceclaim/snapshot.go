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
	// Assumed are the claims that the API server returned to your own writes, which may not be in Claims yet. Of two
	// versions of a claim, the version with the newer resourceVersion counts. If the resourceVersions do not compare,
	// the version in Claims counts. Package memory keeps such a list.
	Assumed []*resourcev1.ResourceClaim
	// Deleted are the UIDs of pods and PodGroups that you saw being deleted: package memory keeps such a set. If the
	// caches still show such a pod or PodGroup, its plan first needs a lookup. By default a UID in Deleted alone
	// releases nothing (D-37).
	Deleted sets.Set[types.UID]
	// Answers are the API server's answers to the Needs of an earlier plan. Read them after Claims. The Object of an
	// answer is a *corev1.Pod, a *resourcev1.ResourceClaim or a [PodGroup], as the Kind of the Need says, or nil if the
	// API server has no such object. If a claim names a pod or PodGroup by UID, an object with another UID means that
	// it was replaced; an object without a UID is an error. An answer with an Err, or with an Object of another type
	// ([ErrAnswerType]), does not count: the plan still has the Need, and the error. Use an answer only for the plan
	// that asked for it, then discard it: nothing notifies you when it becomes stale.
	Answers map[purekube.Need]purekube.Answer
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
	// a cluster whose features GenericWorkload and DRAWorkloadResourceClaims are off.
	PodGroupOf func(*corev1.Pod) string
}

// Result is what a plan for one pod, claim or PodGroup decided.
type Result = purekube.Result[Action]

// Outcome is the share of one pod, claim or PodGroup in [PlanAll].
type Outcome = purekube.Outcome[Action]

// upstream reports whether plans are to match a release.
// Each branch on it is a divergence with a D-number, or a detail of upstream's messages.
func (o Options) upstream() bool { return o.MatchUpstream != "" }

// err returns what is wrong with the options. Every question then returns this error and nothing else: a misspelled
// release must not give the default decisions to a caller who asked for upstream's.
func (o Options) err() error { return snapshot.CheckUpstream(o.MatchUpstream) }

// upstreamSince137 reports whether plans are to match v1.37 or a newer release. v1.37 mended D-5 for pods and D-28.
func (o Options) upstreamSince137() bool { return o.upstream() && o.MatchUpstream != purekube.V1_36 }
