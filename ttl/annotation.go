package ttl

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Annotation is the key of the annotation that a kubelet reads, a number of seconds.
const Annotation = corev1.ObjectTTLAnnotationKey

// annotated returns the text of a node's annotation (present) and, if the text is an integer (valid), its value in
// seconds. It parses as strconv.Atoi does: "+15" and "015" are 15. " 15", "15s", "1_5" and numbers that do not fit into
// 64 bits are not integers.
func annotated(node *corev1.Node) (n int64, valid bool, text string, present bool) {
	text, present = node.Annotations[Annotation]
	if !present {
		return 0, false, "", false
	}
	// 64 bits on every platform, so that a TTL that a Duration can hold can be read back.
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil, text, true
}

// says reports whether a node's annotation is the number of seconds of this TTL. Numbers are compared, and not texts:
// "015" is not rewritten as "15", as for upstream.
func says(node *corev1.Node, ttl time.Duration) bool {
	n, valid, _, _ := annotated(node)
	return valid && n == seconds(ttl)
}

// seconds returns a TTL in whole seconds; fractions are cut off.
func seconds(ttl time.Duration) int64 { return int64(ttl / time.Second) }
