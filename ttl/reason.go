package ttl

import "github.com/purekube/purekube"

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
