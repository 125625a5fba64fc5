package ttl

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Explanation says why [Plan] decides about a node as it does.
type Explanation struct {
	// Key is the name of the node.
	Key string
	// UID is the node's; empty if more than one node has the name.
	UID types.UID
	// Annotation is the text of the annotation; nil if there is none, or more than one node has the
	// name.
	Annotation *string
	// Want is the TTL that the annotation should say.
	Want time.Duration
	// Reasons has the one reason for the decision.
	Reasons []Reason
}

// Reason is one step on the way to the decision. Its Field is the annotation's path, or empty.
type Reason = purekube.Reason[Code]

// Code is the machine-readable reason. It is one of the constants below.
type Code string

// Why a node is written, or not: the codes of an [Explanation].
const (
	// AnnotationMissing: there is no annotation, and SetTTL writes one.
	ReasonAnnotationMissing Code = "AnnotationMissing"
	// AnnotationNotInteger: the annotation is not an integer that fits into 64 bits, and SetTTL
	// writes over it.
	ReasonAnnotationNotInteger Code = "AnnotationNotInteger"
	// AnnotationDiffers: the annotation has another number of seconds, and SetTTL writes over it.
	ReasonAnnotationDiffers Code = "AnnotationDiffers"
	// AnnotationMatches: the annotation says the TTL, and nothing is written (BR-19-07).
	ReasonAnnotationMatches Code = "AnnotationMatches"
	// Duplicate: more than one node has the name. It counts as one node, and none of them is written.
	ReasonDuplicate Code = "Duplicate"
)

// Why the cluster is at its step: the codes of a [StepExplanation].
const (
	// StepKept: the step allows as many nodes as there are.
	ReasonStepKept Code = "StepKept"
	// StepUp: there are more nodes than the step in the snapshot allows.
	ReasonStepUp Code = "StepUp"
	// StepDown: there are fewer nodes than the step in the snapshot allows.
	ReasonStepDown Code = "StepDown"
	// StepOutOfRange: the step in the snapshot is not in the table, and the nearest one stands for it.
	ReasonStepOutOfRange Code = "StepOutOfRange"
)

// annotationField is the path of the annotation in a node.
const annotationField = "metadata.annotations[" + Annotation + "]"

// Explain says why [Plan] decides about the node of this name as it does, at the step in s. A name
// that s does not hold is an ObjectError around purekube.ErrNotFound; the other errors are those of
// Plan.
func Explain(s Snapshot, node string, o Options) (Explanation, error) {
	return viewOf(s, o).explain(node)
}

func (v view) explain(node string) (Explanation, error) {
	var problems snapshot.Problems
	found, duplicates := v.find(node, &problems)
	b := v.o.Table.at(v.step)
	switch {
	case duplicates:
		return explainDuplicate(node, b), problems.Err()
	case found == nil:
		problems.Add(notFound(node))
		return Explanation{}, problems.Err()
	}
	return explainNode(found, b), problems.Err()
}

func notFound(node string) *purekube.ObjectError {
	return &purekube.ObjectError{Kind: kindNode, Name: node, Err: purekube.ErrNotFound}
}

// ExplainAll explains the decision about every node at the step that [PlanAll] settles, sorted by
// the node's name. The error is PlanAll's.
func ExplainAll(s Snapshot, o Options) ([]Explanation, error) { return viewOf(s, o).explainAll() }

func (v view) explainAll() ([]Explanation, error) {
	var problems snapshot.Problems
	all := v.sorted(&problems)
	b := v.o.Table.at(v.o.Table.Settle(v.step, all.count()))
	var explanations []Explanation
	for _, n := range all.unique {
		explanations = append(explanations, explainNode(n, b))
	}
	for _, name := range all.duplicates {
		explanations = append(explanations, explainDuplicate(name, b))
	}
	slices.SortFunc(explanations, func(a, b Explanation) int { return strings.Compare(a.Key, b.Key) })
	return explanations, problems.Err()
}

func explainNode(n *corev1.Node, b Boundary) Explanation {
	_, valid, text, present := annotated(n)
	e := Explanation{Key: n.Name, UID: n.UID, Want: b.TTL}
	if present {
		e.Annotation = &text
	}
	reason := Reason{Field: annotationField}
	switch want := seconds(b.TTL); {
	case !present:
		reason.Code, reason.Message = ReasonAnnotationMissing, fmt.Sprintf("there is no annotation; it should say %d", want)
	case !valid:
		reason.Code, reason.Message = ReasonAnnotationNotInteger, fmt.Sprintf("%q is not an integer; it should say %d", text, want)
	case !says(n, b.TTL):
		reason.Code, reason.Message = ReasonAnnotationDiffers, fmt.Sprintf("it says %q and should say %d", text, want)
	default:
		reason.Code, reason.Message = ReasonAnnotationMatches, fmt.Sprintf("it says %q, as it should", text)
	}
	e.Reasons = []Reason{reason}
	return e
}

func explainDuplicate(name string, b Boundary) Explanation {
	return Explanation{Key: name, Want: b.TTL, Reasons: []Reason{{
		Code: ReasonDuplicate, Message: "more than one node has this name: they count as one, and none of them is written",
	}}}
}

// StepExplanation says why [PlanAll] settles the step that it returns.
type StepExplanation struct {
	// From is the step in the snapshot, or the nearest one in the table. Step is the one that the
	// number of nodes makes of it, Boundary that step's entry in the table.
	From, Step int
	Boundary   Boundary
	// Nodes is how many nodes there are.
	Nodes int
	// UpAt is the number of nodes from which on the step is a higher one; 0: no step is higher.
	UpAt int
	// DownAt is the number of nodes at and below which the step is a lower one; -1: no step is
	// lower.
	DownAt int
	// Reasons are why Step is what it is.
	Reasons []Reason
}

// ExplainStep says why PlanAll settles the step that it returns. The error is PlanAll's.
func ExplainStep(s Snapshot, o Options) (StepExplanation, error) { return viewOf(s, o).explainStep() }

func (v view) explainStep() (StepExplanation, error) {
	var problems snapshot.Problems
	return explainStep(v.step, v.count(&problems), v.o.Table), problems.Err()
}

func explainStep(given, count int, t Table) StepExplanation {
	steps := t.all()
	from := clamp(given, len(steps))
	step := t.Settle(from, count)
	b := steps[step]
	e := StepExplanation{From: from, Step: step, Boundary: b, Nodes: count, DownAt: b.SizeMin - 1}
	if step < len(steps)-1 {
		e.UpAt = b.SizeMax + 1
	}
	add := func(code Code, format string, args ...any) {
		e.Reasons = append(e.Reasons, Reason{Code: code, Message: fmt.Sprintf(format, args...)})
	}
	if from != given {
		add(ReasonStepOutOfRange, "step %d is not in the table; step %d stands for it", given, from)
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
	return e
}
