package disruption

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

const (
	// DefaultDeletionTimeout is how long an evicted pod may take to get a deletion timestamp. After that its entry in
	// status.disruptedPods no longer counts (BR-25-04).
	DefaultDeletionTimeout = 2 * time.Minute
	// DefaultStaleDisruptionTimeout is how long a pod that is not being deleted may have the condition DisruptionTarget
	// before a plan sets it to False (BR-25-05).
	DefaultStaleDisruptionTimeout = 2 * time.Minute
)

// Snapshot is the input of a plan: objects of one namespace or of all, in any order. Plans do not write to it.
type Snapshot struct {
	// Now is the time of the decision. It ends entries of status.disruptedPods and is the timestamp of conditions. A
	// zero Now ends no entries; the timestamp is then the Unix epoch.
	Now time.Time
	// Budgets are all budgets of the namespaces in question.
	Budgets []*policyv1.PodDisruptionBudget
	// Pods are all pods of these namespaces. A pod that you leave out is regarded as deleted. The controller of a pod
	// that is nil, has no name or has the name of another is unknown: while there is such a pod, budgets whose status
	// depends on scales allow no disruption, and other budgets do not count it. A nil pod affects all namespaces, and
	// the others their own namespace.
	Pods []*corev1.Pod
	// The workloads that control the pods. Each missing workload becomes a Need.
	ReplicationControllers []*corev1.ReplicationController
	ReplicaSets            []*appsv1.ReplicaSet
	Deployments            []*appsv1.Deployment
	StatefulSets           []*appsv1.StatefulSet
	// Answers are the results of the lookups of Needs: an *autoscalingv1.Scale if the Need has the subresource scale,
	// an *appsv1.ReplicaSet if it has none, the zero Answer if the API server has no such object. Its metadata.uid must
	// be the UID in the owner reference that led to the Need. With another UID, or none, the controller counts as not
	// existing: an object that was recreated under its name does not control the pods of its predecessor. An object of
	// another type, or a nil pointer, is an error of the plans that read it: they allow no disruption.
	//
	// An Answer with an Err ends up in the budget's condition, whose message is cut at 32 KiB: the API server rejects a
	// status with a longer message. MatchUpstream also cuts the message, although kube-controller-manager sends the
	// longer status, which is rejected, so that the budget keeps the old status. An Err whose text ends in upstream's
	// "does not implement the scale subresource" is about the whole kind: it answers for all objects of that group and
	// kind, and they cause no further Needs.
	//
	// The version of the API does not matter: an answer serves all versions of its kind. If answers differ only in the
	// version, the first version in alphabetical order counts.
	Answers map[purekube.Need]purekube.Answer
}

// Rounding says how a fraction of a pod is rounded.
type Rounding string

const (
	// RoundUp, the zero value, is the rounding of Kubernetes: 30% of 7 pods is rounded up to 3.
	RoundUp Rounding = ""
	// RoundDown is the stricter reading of maxUnavailable: 30% of 7 pods is rounded down to 2.
	RoundDown Rounding = "RoundDown"
)

// ErrUnknownRounding is the error for a Rounding that is not one of the constants.
var ErrUnknownRounding = errors.New("want RoundDown, or nothing for RoundUp")

// err is what is wrong with the value.
func (r Rounding) err() error {
	if r == RoundUp || r == RoundDown {
		return nil
	}
	return fmt.Errorf("options: maxUnavailableRounding: %q: %w", string(r), ErrUnknownRounding)
}

// Status says which status of a budget decides an eviction. The zero value is AsWritten; the zero value of
// drain.Options.Budgets is Recomputed.
type Status string

const (
	// AsWritten, the zero value, is the status in the snapshot, as the API server reads it. It may be out of date.
	AsWritten Status = ""
	// Recomputed is the status as [Plan] computes it from pods and workloads.
	Recomputed Status = "Recomputed"
)

// errUnknownStatus is the error for a Status that is not one of the constants.
var errUnknownStatus = errors.New("want Recomputed, or nothing for AsWritten")

// err rejects an unknown Status instead of reading it as AsWritten: a typing error must not change which status
// decides.
func (s Status) err() error {
	if s == AsWritten || s == Recomputed {
		return nil
	}
	return fmt.Errorf("status: %q: %w", string(s), errUnknownStatus)
}

// Options change how a plan is made. The zero value asks for the default decisions.
type Options struct {
	// MatchUpstream asks for the requests that kube-controller-manager of that release would send, its defects
	// included: the differences that the package comment lists do not apply, except D-12. The zero value asks for the
	// default decisions.
	MatchUpstream purekube.Upstream
	// MaxUnavailableRounding applies to percentages of maxUnavailable. Percentages of minAvailable are always rounded
	// up.
	MaxUnavailableRounding Rounding
	// DeletionTimeout replaces DefaultDeletionTimeout. If it is zero or negative, an entry of status.disruptedPods
	// never counts.
	DeletionTimeout *time.Duration
	// StaleDisruptionTimeout replaces DefaultStaleDisruptionTimeout. If it is zero or negative, a plan clears the
	// condition at once.
	StaleDisruptionTimeout *time.Duration
}

// matchUpstream reports whether any release is named. The supported releases make the same decisions in this package.
func (o Options) matchUpstream() bool { return o.MatchUpstream != "" }

// err returns what is wrong with the options. Every question then returns this error and nothing else.
func (o Options) err() error {
	return cmp.Or(snapshot.CheckUpstream(o.MatchUpstream), o.MaxUnavailableRounding.err())
}

// deletionTimeout and staleDisruptionTimeout return the timeouts in force. Only nil means the default, so that 0 is
// available.
func (o Options) deletionTimeout() time.Duration {
	return ptr.Deref(o.DeletionTimeout, DefaultDeletionTimeout)
}

func (o Options) staleDisruptionTimeout() time.Duration {
	return ptr.Deref(o.StaleDisruptionTimeout, DefaultStaleDisruptionTimeout)
}

const (
	budgetKind                = "PodDisruptionBudget"
	podKind                   = "Pod"
	replicationControllerKind = "ReplicationController"
	replicaSetKind            = "ReplicaSet"
	deploymentKind            = "Deployment"
	statefulSetKind           = "StatefulSet"
)

// stamp returns the time as the API stores it, in whole seconds, and never zero: the library function that sets
// conditions replaces a zero time by the current time.
func stamp(now time.Time) metav1.Time {
	if now.IsZero() {
		return metav1.Unix(0, 0)
	}
	return metav1.NewTime(now.Truncate(time.Second))
}
