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
	// DefaultDeletionTimeout is how long an evicted pod may take to show a deletion timestamp.
	// After that its entry in status.disruptedPods does not count any more (BR-25-04).
	DefaultDeletionTimeout = 2 * time.Minute
	// DefaultStaleDisruptionTimeout is how long a pod that is not being deleted may carry the
	// condition DisruptionTarget before it is set to False (BR-25-05).
	DefaultStaleDisruptionTimeout = 2 * time.Minute
)

// Snapshot is what a plan is made from: objects of one namespace or of all, in any order. Nothing in it is written to.
type Snapshot struct {
	// Now is the time to decide for. It ends entries of status.disruptedPods and stamps
	// conditions. A zero Now ends nothing, and stamps with the Unix epoch.
	Now time.Time
	// Budgets are all budgets of the namespaces in question.
	Budgets []*policyv1.PodDisruptionBudget
	// Pods are all pods of these namespaces: a pod that is left out is a pod that is gone. The controller of a
	// pod that is nil or has no name is not known: while there is one, budgets whose status rests on the scales
	// of controllers allow no disruption. A pod without a name concerns its namespace only, a nil one all.
	Pods []*corev1.Pod
	// The workloads that pods are controlled by. One that is left out is asked for, as a
	// Need.
	ReplicationControllers []*corev1.ReplicationController
	ReplicaSets            []*appsv1.ReplicaSet
	Deployments            []*appsv1.Deployment
	StatefulSets           []*appsv1.StatefulSet
	// Answers are what the lookups of Needs found: an *autoscalingv1.Scale where the Need has the subresource scale,
	// an *appsv1.ReplicaSet where it has none, the zero Answer where the API server has no such object. An object of
	// another type, or a nil pointer, is an error of the plans that read it, and allows nothing.
	//
	// An Answer with an Err ends up in the budget's condition, whose message is cut at 32 KiB: with a longer one the API
	// server rejects the whole status. MatchUpstream cuts it too, where kube-controller-manager sends a status that is
	// rejected, and the budget keeps its old one. An Err whose text ends in "does not implement the scale subresource",
	// which is upstream's, is about the whole kind: it answers for all objects of that group and kind, and none of the
	// others is asked for.
	//
	// The version of the API does not matter: an answer serves all versions of its kind. Where answers differ in the
	// version only, that of the first version in the order of the alphabet counts.
	Answers map[purekube.Need]purekube.Answer
}

// Rounding says what becomes of a fraction of a pod.
type Rounding string

const (
	// RoundUp, the zero value, is what Kubernetes does: 30 % of 7 pods are 3.
	RoundUp Rounding = ""
	// RoundDown is the stricter reading of maxUnavailable: 30 % of 7 pods are 2.
	RoundDown Rounding = "RoundDown"
)

// ErrUnknownRounding: a Rounding is asked for that is not one of the constants.
var ErrUnknownRounding = errors.New("want RoundDown, or nothing for RoundUp")

// err is what is wrong with the value.
func (r Rounding) err() error {
	if r == RoundUp || r == RoundDown {
		return nil
	}
	return fmt.Errorf("options: maxUnavailableRounding: %q: %w", string(r), ErrUnknownRounding)
}

// Status says which status of a budget an eviction is decided by.
type Status string

const (
	// AsWritten, the zero value, is the status in the snapshot, as the API server reads it. It may be out of date.
	AsWritten Status = ""
	// Recomputed is the status as [Plan] computes it from pods and workloads.
	Recomputed Status = "Recomputed"
)

// ErrUnknownStatus: a Status is asked for that is not one of the constants.
var ErrUnknownStatus = errors.New("want Recomputed, or nothing for AsWritten")

func (s Status) err() error {
	if s == AsWritten || s == Recomputed {
		return nil
	}
	return fmt.Errorf("status: %q: %w", string(s), ErrUnknownStatus)
}

// Options change how a plan is made. The zero value asks for the default decisions.
type Options struct {
	// MatchUpstream asks for the requests that kube-controller-manager of that release would send, its defects
	// included: the differences that the package comment lists do not apply, except D-12. The zero value asks for the
	// default decisions.
	MatchUpstream purekube.Upstream
	// MaxUnavailableRounding is for percentages of maxUnavailable. Those of minAvailable are
	// always rounded up.
	MaxUnavailableRounding Rounding
	// DeletionTimeout replaces DefaultDeletionTimeout. Zero or negative: an entry of
	// status.disruptedPods never counts.
	DeletionTimeout *time.Duration
	// StaleDisruptionTimeout replaces DefaultStaleDisruptionTimeout. Zero or negative: the
	// condition is cleared at once.
	StaleDisruptionTimeout *time.Duration
}

func (o Options) matchUpstream() bool { return o.MatchUpstream != "" }

// Err is what is wrong with the options: every answer says so, and nothing else.
func (o Options) err() error {
	return cmp.Or(snapshot.CheckUpstream(o.MatchUpstream), o.MaxUnavailableRounding.err())
}

func (o Options) deletionTimeout() time.Duration {
	return ptr.Deref(o.DeletionTimeout, DefaultDeletionTimeout)
}

func (o Options) staleDisruptionTimeout() time.Duration {
	return ptr.Deref(o.StaleDisruptionTimeout, DefaultStaleDisruptionTimeout)
}

type (
	// Result is what Plan decided for one key.
	Result = purekube.Result[Action]
	// Outcome is one key's share of PlanAll.
	Outcome = purekube.Outcome[Action]
)

const (
	budgetKind                = "PodDisruptionBudget"
	podKind                   = "Pod"
	replicationControllerKind = "ReplicationController"
	replicaSetKind            = "ReplicaSet"
	deploymentKind            = "Deployment"
	statefulSetKind           = "StatefulSet"
)

// stamp is the time as the API keeps it, in whole seconds, and never zero: the library
// function that sets conditions takes zero for a wish to look at the clock.
func stamp(now time.Time) metav1.Time {
	if now.IsZero() {
		return metav1.Unix(0, 0)
	}
	return metav1.NewTime(now.Truncate(time.Second))
}
