package ttl

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Annotation is the key of the annotation that a kubelet reads, a number of seconds.
const Annotation = corev1.ObjectTTLAnnotationKey

// annotated returns what a node's annotation says, as the text that stands there (present) and,
// if that is an integer (valid), in seconds. It reads as strconv.Atoi does: "+15" and "015" are 15,
// while " 15", "15s", "1_5" and what does not fit into 64 bits are no integers.
func annotated(node *corev1.Node) (n int64, valid bool, text string, present bool) {
	text, present = node.Annotations[Annotation]
	if !present {
		return 0, false, "", false
	}
	// 64 bits on every platform, so that a TTL that a Duration can hold can be read back.
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil, text, true
}

// says reports whether a node's annotation is a number, and the one for this TTL.
func says(node *corev1.Node, ttl time.Duration) bool {
	n, valid, _, _ := annotated(node)
	return valid && n == seconds(ttl)
}

// seconds is the number for a TTL; what is beyond whole seconds is cut off.
func seconds(ttl time.Duration) int64 { return int64(ttl / time.Second) }
