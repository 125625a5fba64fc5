// Package drain simulates kubectl drain, round after round: which pods of a node go when, which never go, and what the
// cluster looks like afterwards.
//
//	x := disruption.NewIndex(snapshot, disruption.Options{})
//	d, after, err := drain.Node(x, "node-1", drain.Options{IgnoreDaemonSets: true})
//
// d.Outcome is [Now], [InRounds], [Never] and so on, d.Refused names the pods that stay, each with a code and a
// sentence, and after is the cluster to drain the next node in. Nothing is evicted: the package is as pure as
// disruption.
//
// A caller has the duties of a caller of disruption: the Index has all pods, budgets and workloads of the namespaces
// whose pods run on the node. With [Options].Nodes, it has the pods of all namespaces: a node whose pods are missing
// looks empty. While d.Needs is not empty, look these up, put the answers into the Index, and ask again.
package drain

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
)

// DefaultStuck is how long after its grace period a pod that is being deleted may still be there, before a drain
// assumes that it does not end. A kubelet removes a pod within seconds of its grace period; unmounting volumes can take
// longer.
const DefaultStuck = 2 * time.Minute

// Options are the flags of kubectl drain that decide about pods, and how far to look. The zero value is
// kubectl's default.
type Options struct {
	// IgnoreDaemonSets leaves pods of DaemonSets where they are (--ignore-daemonsets). Without
	// it they stop the drain.
	IgnoreDaemonSets bool
	// DeleteEmptyDirData evicts pods with an emptyDir volume (--delete-emptydir-data). Without
	// it they stop the drain.
	DeleteEmptyDirData bool
	// Force evicts pods without a controller (--force). Without it they stop the drain.
	Force bool
	// Stuck is how long after its grace period a pod that is being deleted may still be there. After that it is stuck: it
	// is assumed to stay on its node, and no other pod takes its place. 0: [DefaultStuck]. Less than 0: a pod is stuck as
	// soon as its grace period is over. While Snapshot.Now is zero, every pod that is being deleted is stuck.
	Stuck time.Duration
	// MaxRounds ends the drain after that many rounds. 0 or less: no limit.
	MaxRounds int
	// Budgets says which status of the budgets decides. The zero value is Recomputed; the zero value
	// of [disruption.Status] is AsWritten.
	Budgets Budgets
	// Nodes are the nodes of the cluster, also the drained ones. A recreated pod is ready only if one of them takes it:
	// see [Node]. With Nodes, the Index must have the pods of all namespaces. Nil: the pods are assumed to find a node,
	// and Drain.NodesChecked is false. With AsWritten, Nodes are only the names of the known nodes.
	Nodes []*corev1.Node
	// Fits replaces the check of taints, spec.nodeSelector and node affinity. A node that it accepts must still have room
	// for the requests and the ports of the host, which Fits cannot know: it does not see the pods that the drain places.
	// To fill nodes beyond their capacity, raise status.allocatable in Nodes. Fits is called with a recreated pod and a
	// node of Nodes that is ready and schedulable, drained or not. It must write to neither, and must give the same answer
	// every time. Nil: kube-scheduler's filters decide.
	Fits func(pod *corev1.Pod, node *corev1.Node) bool
	// SkipPod selects pods that the drain ignores, as --pod-selector and --skip-wait-for-delete-timeout do. It comes
	// before everything else: such a pod needs no flag. It must not write to the pod, and must give the same answer every
	// time. Nil: none.
	SkipPod func(*corev1.Pod) bool

	// inventory is the Nodes in the cluster with which the drains begin.
	inventory *inventory
}

// err is what is wrong with the options. The functions of this package return it and decide nothing.
func (o Options) err() error {
	if o.Budgets == Recomputed || o.Budgets == AsWritten {
		return nil
	}
	return fmt.Errorf("options: budgets: %q: %w", string(o.Budgets), ErrUnknownBudgets)
}

// checksNodes reports whether recreated pods have to find a node. With AsWritten no pod is recreated.
func (o Options) checksNodes() bool { return o.Nodes != nil && o.Budgets == Recomputed }

// status is the option in the terms of disruption.
func (o Options) status() disruption.Status {
	if o.Budgets == AsWritten {
		return disruption.AsWritten
	}
	return disruption.Recomputed
}

// optionsErr is what is wrong with the options of the Index or of the drain: nothing is answered with such options.
func optionsErr(x *disruption.Index, o Options) error {
	if err := x.Err(); errors.Is(err, purekube.ErrUnknownUpstream) || errors.Is(err, disruption.ErrUnknownRounding) {
		return err
	}
	return o.err()
}

// Budgets says which status of a budget decides about an eviction. The zero value is Recomputed; the zero value of
// [disruption.Status] is AsWritten.
type Budgets string

const (
	// Recomputed, the zero value, is the status that the disruption controller computes from pods and workloads. The
	// status is computed again after each eviction.
	Recomputed Budgets = ""
	// AsWritten is the status in the snapshot, as the API server reads it. The status may be out of date. Each eviction
	// lowers its disruptionsAllowed. It needs no workloads, and there are no Needs. No pod is recreated and no status
	// is computed again, so a drain has one round.
	AsWritten Budgets = "AsWritten"
)

// ErrUnknownBudgets is the error for a value of [Options].Budgets that is not one of the constants.
var ErrUnknownBudgets = errors.New("want AsWritten, or nothing for Recomputed")

// Outcome says how a drain ends.
type Outcome string

const (
	// NoOutcome is the zero value: the error says why there is none.
	NoOutcome Outcome = ""
	// Now: all pods go in the first round, or there are none.
	Now Outcome = "Now"
	// InRounds: all pods go, but some of them have to wait for others to be recreated.
	InRounds Outcome = "InRounds"
	// LeavesPending: all pods go, but some of the recreated ones find no node.
	LeavesPending Outcome = "LeavesPending"
	// Never: some pods stay. The last round evicted nothing, and no later round could while the rest of the cluster stays
	// as it is.
	Never Outcome = "Never"
	// NotStarted: a pod needs a flag that is not set, and kubectl drain evicts nothing.
	NotStarted Outcome = "NotStarted"
	// Unknown: the outcome depends on the lookups in Needs.
	Unknown Outcome = "Unknown"
	// RoundsExhausted: MaxRounds rounds are over, and pods are left.
	RoundsExhausted Outcome = "RoundsExhausted"
)

// Drain is how the drain of a node goes.
type Drain struct {
	Node    string  `json:"node"`
	Outcome Outcome `json:"outcome"`
	// Rounds are the pods that are evicted in each round, sorted by namespace and name. In a
	// round without any, the drain waits for pods that were being deleted before, for an
	// entry of status.disruptedPods to expire, or, with Nodes, for the pods of other nodes.
	Rounds [][]types.NamespacedName `json:"rounds,omitempty"`
	// Skipped are the pods that the drain leaves alone, sorted by namespace and name.
	Skipped []SkippedPod `json:"skipped,omitempty"`
	// Refused are the pods that stay, sorted by namespace and name. If the drain does not start, they are the pods that
	// need a flag; otherwise they are the pods whose eviction is refused. While there are Needs, they are the pods that
	// stay as far as is known: the answers may add others.
	Refused []RefusedPod `json:"refused,omitempty"`
	// NodesChecked reports whether the recreated pods were placed on Options.Nodes. Otherwise they are assumed to find a
	// node.
	NodesChecked bool `json:"nodesChecked,omitempty"`
	// Pending are the pods of the node whose replacement finds no node, sorted by namespace and name.
	Pending []PendingPod `json:"pending,omitempty"`
	// Needs are lookups to make before the outcome is known. While there are any, Rounds is empty: put the answers
	// into the snapshot and ask again. Use an answer only for the plan that asked for it, then discard it: nothing
	// notifies you when it becomes stale.
	// The drains of one answer of [Nodes] may share the slice: do not write to it.
	Needs []purekube.Need `json:"needs,omitempty"`
}

// Code is why a drain skips a pod or leaves it. It is one of the constants below; a new version may add codes.
type Code string

// Why a drain skips or refuses a pod.
const (
	// ReasonDaemonSetPod: a DaemonSet of apps/v1 controls the pod, and it has not ended. Skipped with
	// IgnoreDaemonSets, refused without.
	ReasonDaemonSetPod Code = "DaemonSetPod"
	// ReasonMirrorPod: skipped, since the kubelet runs the pod from a file.
	ReasonMirrorPod Code = "MirrorPod"
	// ReasonSkipPod: skipped, since Options.SkipPod says so.
	ReasonSkipPod Code = "SkipPod"
	// ReasonLocalStorage: refused without DeleteEmptyDirData. The pod has an emptyDir volume and
	// has not ended.
	ReasonLocalStorage Code = "LocalStorage"
	// ReasonNoController: refused without Force. No controller makes the pod again, and it has
	// not ended.
	ReasonNoController Code = "NoController"
	// ReasonEvictionRefused: the API server refuses the eviction; RefusedPod.Eviction says why.
	ReasonEvictionRefused Code = "EvictionRefused"
	// ReasonDuplicate: refused, since the snapshot holds more than one pod of that name. Which of them
	// is the real one cannot be known.
	ReasonDuplicate Code = "Duplicate"
	// ReasonStuckPod: refused, since the pod has been terminating for too long; see Options.Stuck. kubectl drain
	// waits for it until its timeout.
	ReasonStuckPod Code = "StuckPod"
	// ReasonNodeNotReady: refused, since the node is not ready by Options.Nodes: no kubelet ends the pod. kubectl drain
	// evicts the pod and waits until its timeout.
	ReasonNodeNotReady Code = "NodeNotReady"
)

// SkippedPod is a pod that a drain leaves alone on purpose.
type SkippedPod struct {
	Pod  types.NamespacedName `json:"pod"`
	Code Code                 `json:"code"`
	// Message is kubectl's text, where it has one.
	Message string `json:"message"`
}

// RefusedPod is a pod that a drain cannot move.
type RefusedPod struct {
	Pod  types.NamespacedName `json:"pod"`
	Code Code                 `json:"code"`
	// Message is the text of kubectl or of the API server.
	Message string `json:"message"`
	// Eviction is the last answer to the pod's eviction, with ReasonEvictionRefused.
	Eviction disruption.Eviction `json:"eviction,omitzero"`
}

// Node simulates kubectl drain of a node, round by round.
//
//  1. The pods of the node are sorted into classes as kubectl drain does (upstream:
//     k8s.io/kubectl/pkg/drain/filters.go), with the meaning and the texts of its flags. If a pod needs a flag that is
//     not set, nothing is evicted: NotStarted.
//  2. A round evicts the pods that are left, sorted by namespace and name, one after the other. Each eviction is
//     decided as by [disruption.Index.CheckEviction] with Recomputed, after the evictions before it: the disruption
//     controller keeps up. An evicted pod is terminating until the round ends.
//  3. A round ends: the evicted pods are gone. Pods that their controllers still want are recreated on another node,
//     under a new UID. See below for which pods these are.
//  4. The next round tries again the pods that were refused with 429. Pods that were refused with another code stay:
//     kubectl drain gives up on them.
//  5. After a round that evicts nothing, time moves to when the next entry of status.disruptedPods expires. If there is
//     none, the drain never ends: Never.
//
// Which pods are recreated is what Kubernetes does, or stricter:
//
//   - A pod is recreated as it was: not ready, if it was not running and ready. It has the labels of its controller's
//     template, if the snapshot has that: labels that somebody added by hand are lost, and a budget may no longer
//     select the pod. A StatefulSet makes pods of its current revision, which the snapshot does not have: they keep
//     their labels.
//   - A ReplicaSet, a ReplicationController or a custom workload with a scale recreates pods while it has fewer than
//     its replicas. Pods that are being deleted or have ended do not count: the controller has replaced them already.
//     If it recreates only some of the pods that go, active pods come first, and active pods that were not ready come
//     before ready ones.
//   - A StatefulSet recreates the pods whose ordinals are within its replicas. With podManagementPolicy OrderedReady,
//     the default, it recreates none beyond the first ordinal whose pod is missing or is not running and ready. A
//     StatefulSet that is not in the index is assumed to be OrderedReady, with ordinals from 0.
//   - A controller whose kind has no scale, such as a Job or a DaemonSet, or whose lookup failed, may recreate its pods
//     or not. They are recreated and never ready: budgets that fail because of such a pod keep failing, and no budget
//     counts it as healthy. A pod of a Job that has ended is not recreated.
//   - No other pod is recreated: one without a controller, and one whose controller is gone or is being deleted.
//   - Pods that were being deleted before the drain, on whatever node, go and are recreated in the same way if a pod
//     waits for their budget. A pod that is stuck (see Options.Stuck) does not go: on this node, the drain does not
//     end.
//
// With Options.Nodes, a recreated pod runs on a node that is Ready, is not drained, and takes the pod, as
// kube-scheduler's filters NodeUnschedulable, TaintToleration, NodeAffinity, NodePorts and NodeResourcesFit decide. Of
// several, it is the node with the fewest pods, and of these the first by name. The pod of a DaemonSet returns to its
// drained node. If there is no node, the pod stays Pending: budgets that expect it do not count it as healthy,
// Drain.Pending says why, and a StatefulSet with OrderedReady recreates none after it. Where room is short, pods that
// were not ready come before ready pods, and the pods of StatefulSets last, because they are recreated last. The check
// is no scheduler: it does not know topology spread, affinity between pods, volumes, ResourceClaims and the features
// that kubelets declare (kube-scheduler's filter NodeDeclaredFeatures), and it evicts no pods of lower priority. A
// Pending pod stays Pending, even if a later round frees room. A pod that waits for a node when the drain begins takes
// no room.
//
// A recreated pod requests what the spec of the evicted pod requests. Where the filters of the supported releases
// differ, the stricter one decides: while a pod is being resized, each of its containers, and the pod as a whole,
// counts with the largest of its amounts in spec and status. Stricter than all of them: an extended resource that only
// a DeviceClass provides is missing on every node, a pod as a whole counts with its spec even if its resize is
// infeasible, and values that the API server rejects, such as an amount beyond int64 or a required field that is not
// metadata.name, fit nowhere.
//
// A pod on a node of Options.Nodes that is not ready, whether its condition Ready is False, Unknown or missing, does
// not go, and no pod takes its place, even if it is being deleted already: no kubelet ends it. With the taint
// node.kubernetes.io/out-of-service it goes, since the pod garbage collector deletes it, and so does a pod that has
// ended. With AsWritten, a drain does not look at nodes, and the pod goes.
//
// Nothing else of the cluster changes: pods that are not ready stay so, nobody scales, and pods that a controller has
// too few or too many of before the drain are neither created nor deleted. Without Options.Nodes, the kubelets are
// assumed to run. Finalizers of evicted pods are assumed to be removed.
//
// A controller whose replicas are not in the index is a Need if the drain depends on it: if a budget computes with it,
// or if its pod has to be recreated before another pod may go. The drain continues for the pods of budgets that do not
// depend on it, so that Refused names what else is in the way.
//
// The Index returned is the cluster after the drain, with the budgets' statuses written. The spec.nodeName of a
// recreated pod is the node that takes it, and empty without Options.Nodes. The Index does not remember which node was
// drained: the next call sees each node as Options.Nodes has it. The name of a recreated pod is not known, unless it is
// a StatefulSet's pod: it keeps the name of the evicted pod. With NotStarted, Unknown and NoOutcome the Index returned
// is x. To drain several nodes one after the other, drain each on the Index that the drain of the previous node
// returned; to ask about each node alone, call [Each].
//
// The error is [disruption.Index.Err]: what is wrong with the objects as a whole. The drain is right for the other
// objects. Only if the options of the index are wrong, there is no drain. Nodes that are nil, have no name or share a
// name are errors, too, and take no pod.
//
// A node that no pod names has nothing to drain. With Options.Nodes, it must be one of them: otherwise it has no
// outcome, and the error is a [purekube.ObjectError] around [purekube.ErrNotFound], since its name may be misspelt.
//
// There are two differences from kubectl: Node assumes that the DaemonSet that a pod names exists, and it does not
// support the drain of pods in a namespace that is being deleted.
//
// A drain costs O(log n) for each pod that goes, and a read of the entries in status.disruptedPods of its budget. If a
// controller loses a pod, and has more pods than replicas or is a StatefulSet with OrderedReady, its pods are counted
// once. With Options.Nodes it also costs one pass over the nodes and their pods, and pods of one shape (requests,
// ports, tolerations and affinity) look at each node at most once. With Options.Fits, each pod looks at each node.
//
// If a pod waits for a second round, the pods of its budget that are being deleted go, too, and cost the same.
func Node(x *disruption.Index, node string, o Options) (Drain, *disruption.Index, error) {
	drains, after, err := Nodes(x, []string{node}, o)
	return drains[0], after, err
}

// sortedNeeds are the needs in order, each once.
func sortedNeeds(needs []purekube.Need) []purekube.Need {
	slices.SortFunc(needs, compareNeeds)
	return slices.Compact(needs)
}

func compareNeeds(a, b purekube.Need) int {
	return cmp.Or(
		cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Subresource, b.Subresource),
	)
}
