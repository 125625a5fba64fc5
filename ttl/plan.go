package ttl

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// verdict is what is decided about a node, and why. Plan reads the actions, and Explain the code.
type verdict struct {
	actions []Action
	code    Code
}

// decide is the decision about a node at the TTL of the step. The node is nil if several nodes have its name: none of
// them is written, since it is unknown which of them is current. A node that has the annotation gets no request,
// although every update of a node, for example of its status, plans the node.
func decide(n *corev1.Node, ttl time.Duration) verdict {
	if n == nil {
		return verdict{code: ReasonDuplicate}
	}
	if matches(n, ttl) {
		return verdict{code: ReasonAnnotationMatches}
	}
	v := verdict{actions: []Action{SetTTL{Name: n.Name, UID: n.UID, TTL: ttl}}, code: ReasonAnnotationDiffers}
	switch _, valid, present := annotated(n); {
	case !present:
		v.code = ReasonAnnotationMissing
	case !valid:
		v.code = ReasonAnnotationNotInteger
	}
	return v
}
