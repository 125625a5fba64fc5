package ttl

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// Explanation says why [Plan] decides about a node as it does.
type Explanation struct {
	// Key is the key of the node.
	Key purekube.Key `json:"key"`
	// UID is the UID of the node. It is empty if several nodes have the name.
	UID types.UID `json:"uid,omitempty"`
	// Annotation is the text of the annotation. It is nil if there is no annotation, or if several nodes have the
	// name.
	Annotation *string `json:"annotation,omitempty"`
	// Want is the TTL that the annotation should have.
	Want time.Duration `json:"wantNanoseconds"`
	// Reasons has the one reason for the decision.
	Reasons []Reason `json:"reasons"`
}

// Explain says why Plan decides about the node as it does. For a node that is not in the Index, it returns a
// [purekube.ObjectError] around [purekube.ErrNotFound]. Other errors are the same as for Plan.
func (x *Index) Explain(key purekube.Key) (Explanation, error) {
	n, duplicate := x.find(key)
	if n == nil && duplicate == nil {
		return Explanation{}, x.errorWith(&purekube.ObjectError{
			Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Err: purekube.ErrNotFound,
		})
	}
	return explain(key, n, x.boundary().TTL), x.errorWith(duplicate)
}

// ExplainAll explains the decision about every node at the step of [Index.Step], sorted by key. The error is PlanAll's.
func (x *Index) ExplainAll() ([]Explanation, error) {
	ttl := x.settled().TTL
	var explanations []Explanation
	for _, n := range x.sorted(everyNode) {
		key := KeyOf(n)
		n, _ = x.find(key) // nil for one of several nodes of a name
		explanations = append(explanations, explain(key, n, ttl))
	}
	return explanations, x.errorWith(nil)
}

// explain puts the verdict about a node into words. The node is nil if several nodes have the name.
func explain(key purekube.Key, n *corev1.Node, ttl time.Duration) Explanation {
	e := Explanation{Key: key, Want: ttl}
	reason := Reason{Field: annotationField, Code: decide(n, ttl).code}
	if n != nil {
		e.UID = n.UID
		if text, present := n.Annotations[Annotation]; present {
			e.Annotation = &text
		}
	}
	switch reason.Code {
	case ReasonDuplicate:
		reason.Field, reason.Object = "", key
		reason.Message = "several nodes have this name: they count as one node, and none is written"
	case ReasonAnnotationMissing:
		reason.Message = fmt.Sprintf("the annotation is missing; it should be %d", seconds(ttl))
	case ReasonAnnotationNotInteger:
		reason.Message = fmt.Sprintf("%q is not an integer; it should be %d", *e.Annotation, seconds(ttl))
	case ReasonAnnotationDiffers:
		reason.Message = fmt.Sprintf("the annotation is %q and should be %d", *e.Annotation, seconds(ttl))
	case ReasonAnnotationMatches:
		reason.Message = fmt.Sprintf("the annotation is %q, as it should be", *e.Annotation)
	}
	e.Reasons = []Reason{reason}
	return e
}

// StepExplanation says why [PlanAll] plans for the step that [Index.Step] returns.
type StepExplanation struct {
	// From is the step in the snapshot, or the nearest step in the table. Step is the step after the number of nodes
	// is taken into account. Boundary is the entry of Step in the table.
	From     int      `json:"from"`
	Step     int      `json:"step"`
	Boundary Boundary `json:"boundary"`
	// Nodes is how many nodes there are.
	Nodes int `json:"nodes"`
	// UpAt is the smallest number of nodes that moves the cluster to a higher step. It is 0 if there is no higher
	// step.
	UpAt int `json:"upAt"`
	// DownAt is the largest number of nodes that moves the cluster to a lower step. It is -1 if there is no lower
	// step.
	DownAt int `json:"downAt"`
	// Reasons are why Step is what it is.
	Reasons []Reason `json:"reasons"`
}

// ExplainStep says why the cluster is at the step of [Index.Step]. The error is PlanAll's.
func (x *Index) ExplainStep() (StepExplanation, error) {
	steps, count, step := x.options.stepTable(), x.nodes.Len(), x.Step()
	from := steps.nearest(x.step)
	b := steps[step]
	// The SizeMin of step 0 is 0, so DownAt is -1 there.
	e := StepExplanation{From: from, Step: step, Boundary: b, Nodes: count, DownAt: b.SizeMin - 1}
	if step < len(steps)-1 {
		e.UpAt = b.SizeMax + 1
	}
	add := func(code Code, format string, args ...any) {
		e.Reasons = append(e.Reasons, Reason{Code: code, Message: fmt.Sprintf(format, args...)})
	}
	if from != x.step {
		add(ReasonStepOutOfRange, "step %d is not in the table; step %d is used", x.step, from)
	}
	switch {
	case step > from:
		add(ReasonStepUp, "%d nodes are more than the %d of step %d", count, steps[from].SizeMax, from)
	case step < from:
		add(ReasonStepDown, "%d nodes are fewer than the %d of step %d", count, steps[from].SizeMin, from)
	case step == len(steps)-1:
		add(ReasonStepKept, "step %d is for %d nodes and more, and there are %d", step, b.SizeMin, count)
	default:
		add(ReasonStepKept, "step %d is for %d to %d nodes, and there are %d", step, b.SizeMin, b.SizeMax, count)
	}
	return e, x.errorWith(nil)
}
