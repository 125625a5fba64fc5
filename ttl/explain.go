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

// Reason is one step on the way to a decision. Field is the path of the annotation, or empty.
type Reason = purekube.Reason[Code]

// Code is the machine-readable part of a [Reason]. It is one of the constants below; a new version may add codes.
type Code string

// Why a node is written, or not: the codes of an [Explanation].
const (
	// ReasonAnnotationMissing: there is no annotation, and SetTTL writes one.
	ReasonAnnotationMissing Code = "AnnotationMissing"
	// ReasonAnnotationNotInteger: the annotation is not an integer that fits into 64 bits. SetTTL overwrites it.
	ReasonAnnotationNotInteger Code = "AnnotationNotInteger"
	// ReasonAnnotationDiffers: the annotation has another number of seconds. SetTTL overwrites it.
	ReasonAnnotationDiffers Code = "AnnotationDiffers"
	// ReasonAnnotationMatches: the annotation has the TTL. Nothing is written (BR-19-07).
	ReasonAnnotationMatches Code = "AnnotationMatches"
	// ReasonDuplicate: several nodes have the name. They count as one node, and none is written.
	ReasonDuplicate Code = "Duplicate"
)

// Why the cluster is at its step: the codes of a [StepExplanation].
const (
	// ReasonStepKept: the step allows as many nodes as there are.
	ReasonStepKept Code = "StepKept"
	// ReasonStepUp: there are more nodes than the step in the snapshot allows.
	ReasonStepUp Code = "StepUp"
	// ReasonStepDown: there are fewer nodes than the step in the snapshot allows.
	ReasonStepDown Code = "StepDown"
	// ReasonStepOutOfRange: the step in the snapshot is not in the table. The nearest step is used.
	ReasonStepOutOfRange Code = "StepOutOfRange"
)

// annotationField is the path of the annotation in a node.
const annotationField = "metadata.annotations[" + Annotation + "]"

// Explain says why [Plan] decides about the node as it does, at the step in s. For a node that is not in s, it returns
// a [purekube.ObjectError] around [purekube.ErrNotFound]. Other errors are the same as for Plan.
func Explain(s Snapshot, key purekube.Key, o Options) (Explanation, error) {
	return NewIndex(s.only(key), o).Explain(key)
}

// Explain is [Explain] for the objects of the Index.
func (x *Index) Explain(key purekube.Key) (Explanation, error) {
	n, problems := x.find(key)
	switch {
	case n != nil:
		return explainNode(n, x.boundary()), problems.Err()
	case x.ambiguous(key):
		return explainDuplicate(key, x.boundary()), problems.Err()
	}
	problems.Add(&purekube.ObjectError{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Err: purekube.ErrNotFound})
	return Explanation{}, problems.Err()
}

// ExplainAll explains the decision about every node at the step of [StepOf], sorted by key. The error is PlanAll's.
func ExplainAll(s Snapshot, o Options) ([]Explanation, error) { return NewIndex(s, o).ExplainAll() }

// ExplainAll is [ExplainAll] for the objects of the Index.
func (x *Index) ExplainAll() ([]Explanation, error) {
	b := x.o.Table.at(x.Step())
	var explanations []Explanation
	for _, n := range x.sorted(everyNode) {
		if key := KeyOf(n); x.ambiguous(key) {
			explanations = append(explanations, explainDuplicate(key, b))
		} else {
			explanations = append(explanations, explainNode(n, b))
		}
	}
	problems := x.problems()
	return explanations, problems.Err()
}

func explainNode(n *corev1.Node, b Boundary) Explanation {
	_, valid, text, present := annotated(n)
	e := Explanation{Key: KeyOf(n), UID: n.UID, Want: b.TTL}
	if present {
		e.Annotation = &text
	}
	reason := Reason{Field: annotationField}
	switch want := seconds(b.TTL); {
	case !present:
		reason.Code, reason.Message = ReasonAnnotationMissing, fmt.Sprintf("the annotation is missing; it should be %d", want)
	case !valid:
		reason.Code, reason.Message = ReasonAnnotationNotInteger, fmt.Sprintf("%q is not an integer; it should be %d", text, want)
	case !says(n, b.TTL):
		reason.Code, reason.Message = ReasonAnnotationDiffers, fmt.Sprintf("the annotation is %q and should be %d", text, want)
	default:
		reason.Code, reason.Message = ReasonAnnotationMatches, fmt.Sprintf("the annotation is %q, as it should be", text)
	}
	e.Reasons = []Reason{reason}
	return e
}

func explainDuplicate(key purekube.Key, b Boundary) Explanation {
	return Explanation{Key: key, Want: b.TTL, Reasons: []Reason{{
		Code: ReasonDuplicate, Object: key, Message: "several nodes have this name: they count as one node, and none is written",
	}}}
}

// StepExplanation says why [PlanAll] plans for the step that [StepOf] returns.
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

// ExplainStep says why the cluster is at the step of [StepOf]. The error is PlanAll's.
func ExplainStep(s Snapshot, o Options) (StepExplanation, error) { return NewIndex(s, o).ExplainStep() }

// ExplainStep is [ExplainStep] for the objects of the Index.
func (x *Index) ExplainStep() (StepExplanation, error) {
	steps, count, step := x.o.Table.all(), x.nodes.Len(), x.Step()
	from := clamp(x.step, len(steps))
	b := steps[step]
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
	problems := x.problems()
	return e, problems.Err()
}
