package ttl

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Action is one write that a plan asks for. Its only member is [SetTTL].
//
//sumtype:decl
type Action interface {
	purekube.Action
	isAction()
}

var _ Action = SetTTL{}

// Result is what a plan for one node decided: one [SetTTL], or nothing. A node's TTL raises no
// events, needs no lookups and does not change with time.
type Result = purekube.Result[Action]

// Outcome is one node's share of [PlanAll].
type Outcome = purekube.Outcome[Action]

// SetTTL sets a node's annotation [Annotation]. The kubelet of the node reads the annotation: for that long it may use
// a Secret or ConfigMap from its cache before it asks the API server again. In a large cluster longer times keep the
// load of all kubelets bearable.
type SetTTL struct {
	// Name of the node, and its UID as the plan saw it. Upstream sends no UID, and neither does Request: the value
	// depends only on the cluster, so it is also right for a new node of that name.
	Name string
	UID  types.UID
	// TTL is in whole seconds; fractions are cut off.
	TTL time.Duration
}

// isAction seals [Action]: a type switch over its members cannot meet a type of another package.
func (SetTTL) isAction() {}

// Type is SetTTL.
func (SetTTL) Type() string { return "SetTTL" }

// Request is a strategic merge patch of the node, the patch that patchNodeWithAnnotation in ttl_controller.go sends. It
// does not read done. A plan has at most one action, so nothing depends on this one.
//
// Only the annotation is in the patch, so it overwrites no change that a kubelet or another controller makes to the
// node at the same time.
func (a SetTTL) Request([]runtime.Object) purekube.Request {
	return purekube.Request{
		Verb: "patch", Resource: corev1.SchemeGroupVersion.WithResource("nodes"), Kind: kindNode,
		Name: a.Name, PatchType: types.StrategicMergePatchType,
		Patch: snapshot.JSON(
			map[string]any{"metadata": map[string]any{"annotations": map[string]string{Annotation: a.value()}}}),
	}
}

// Apply returns a copy of latest with the annotation set. It returns nil for nil. It returns an unchanged copy for a
// node with another UID, which was created since under the same name.
func (a SetTTL) Apply(latest *corev1.Node) *corev1.Node {
	node := latest.DeepCopy()
	// Each UID may be unknown, for example in a test: only two different UIDs prove that latest is another node.
	if node == nil || a.UID != "" && node.UID != "" && a.UID != node.UID {
		return node
	}
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	node.Annotations[Annotation] = a.value()
	return node
}

// String reads "SetTTL node-1: 15s".
func (a SetTTL) String() string { return fmt.Sprintf("SetTTL %s: %ss", a.Name, a.value()) }

// value is the text of the annotation, as strconv.Itoa writes it upstream.
func (a SetTTL) value() string { return strconv.FormatInt(seconds(a.TTL), 10) }
