package disruption

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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

// Snapshot is what budgets are computed from: objects as an informer cache hands them out,
// in any order, of one namespace or of all. Nothing in it is written to.
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
	// Scales are the answers to Needs. An answer that says that a kind has no scale serves for all objects of that
	// group and kind: none of the others is asked for.
	Scales map[ScaleKey]Scale
}

// ScaleKey names a controller by what its scale is looked up with. It has no version: a
// scale is the same in all of them.
type ScaleKey struct{ Group, Kind, Namespace, Name string }

// ScaleKeyOf is where in Snapshot.Scales the answer to a Need goes, whether the Need is for a scale
// or for a ReplicaSet.
func ScaleKeyOf(n purekube.Need) ScaleKey {
	// The need came from an apiVersion that parses.
	gv, _ := schema.ParseGroupVersion(n.APIVersion)
	return ScaleKey{Group: gv.Group, Kind: n.Kind, Namespace: n.Namespace, Name: n.Name}
}

// Scale is what a look-up brought: of the scale of a controller, or of a ReplicaSet.
type Scale struct {
	// Found is false when the API server says that there is no such object.
	Found bool
	// UID of the object found. Another UID than the owner reference's means that the
	// pod's controller is gone.
	UID types.UID
	// Replicas is the scale's spec.replicas.
	Replicas int32
	// ReplicaSet is the object found, where the Need is for one: of the kind ReplicaSet and
	// without a subresource. UID and Replicas are not read then.
	ReplicaSet *appsv1.ReplicaSet
	// Err is the text of the error, where neither "found" nor "not found" is the answer: the
	// kind is not known, has no scale ("nodes does not implement the scale subresource"),
	// or the request failed. It ends up in the budget's condition, whose message is cut at 32 KiB: with
	// a longer one the API server rejects the whole status. MatchUpstream cuts it too, where
	// kube-controller-manager sends a status that is rejected, and the budget keeps its old one. A text that ends
	// in "does not implement the scale subresource", which is upstream's, is about the kind and not about the object alone.
	Err string
}

// Rounding says what becomes of a fraction of a pod.
type Rounding int

const (
	// RoundUp is what Kubernetes does: 30 % of 7 pods are 3.
	RoundUp Rounding = iota
	// RoundDown is the stricter reading of maxUnavailable: 30 % of 7 pods are 2.
	RoundDown
)

// Options change how budgets are computed. The zero value is the careful default.
type Options struct {
	// MatchUpstream asks for the requests that kube-controller-manager of that release would
	// send, defects included; see the divergences in the package comment.
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
	// Recompute makes CheckEviction compute the budget's status from the snapshot first,
	// instead of using the one that is written there. No other function reads it.
	Recompute bool
}

func (o Options) matchUpstream() bool { return o.MatchUpstream != "" }

// err is what is wrong with the options: every answer says so, and nothing else.
func (o Options) err() error { return snapshot.CheckUpstream(o.MatchUpstream) }

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
	Outcome = purekube.OutcomeBy[Key, Action]
)

const (
	budgetKind                = "PodDisruptionBudget"
	podKind                   = "Pod"
	replicationControllerKind = "ReplicationController"
	replicaSetKind            = "ReplicaSet"
	deploymentKind            = "Deployment"
	statefulSetKind           = "StatefulSet"
	daemonSetKind             = "DaemonSet"
)

// stamp is the time as the API keeps it, in whole seconds, and never zero: the library
// function that sets conditions takes zero for a wish to look at the clock.
func stamp(now time.Time) metav1.Time {
	if now.IsZero() {
		return metav1.Unix(0, 0)
	}
	return metav1.NewTime(now.Truncate(time.Second))
}

// in is the part of the snapshot that budgets and pods of a namespace are decided by. Nil pointers and
// objects without a name stay: they are reported whatever the namespace.
func (s Snapshot) in(namespace string) Snapshot {
	s.Budgets = inNamespace(s.Budgets, namespace)
	s.Pods = inNamespace(s.Pods, namespace)
	s.ReplicationControllers = inNamespace(s.ReplicationControllers, namespace)
	s.ReplicaSets = inNamespace(s.ReplicaSets, namespace)
	s.Deployments = inNamespace(s.Deployments, namespace)
	s.StatefulSets = inNamespace(s.StatefulSets, namespace)
	return s
}

func inNamespace[T any, P interface {
	*T
	GetNamespace() string
	GetName() string
}](objects []P, namespace string) []P {
	var kept []P
	for _, o := range objects {
		if o == nil || o.GetNamespace() == namespace || o.GetName() == "" {
			kept = append(kept, o)
		}
	}
	return kept
}
