// Package message names objects, counts in words, and truncates texts to the limits of API fields.
package message

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// conditionLimit is what validation of metav1.Condition allows for its message, in bytes
	// (maxMessageLen in k8s.io/apimachinery/pkg/apis/meta/v1/validation).
	conditionLimit = 32 * 1024
	// eventLimit is what validation of events.k8s.io/v1 allows for a note, in bytes (NoteLengthLimit in
	// k8s.io/kubernetes/pkg/apis/core/validation). The same validation passes longer messages of core/v1.
	eventLimit = 1024
	// mark is at the end of a truncated text.
	mark = " [truncated]"
)

// Object returns "Kind namespace/name", or as much of it as is known.
func Object(kind, namespace, name string) string {
	switch {
	case name == "":
		return kind
	case namespace != "":
		name = namespace + "/" + name
	}
	if kind == "" {
		return name
	}
	return kind + " " + name
}

// Count returns a number of things, for example "1 pod", "2 pods" or "0 addresses".
func Count(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "s"):
		noun += "es"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Condition returns the text as the message of a condition. A text that is too long is truncated, and ends with the
// mark.
func Condition(text string) string { return fit(text, conditionLimit) }

// Event returns the text as the message of an event. A text that is too long is truncated, and ends with the mark.
func Event(text string) string { return fit(text, eventLimit) }

func fit(text string, limit int) string {
	if len(text) <= limit && utf8.ValidString(text) {
		return text
	}
	// JSON replaces each byte that is not UTF-8 by U+FFFD, which has three bytes. So the text never becomes shorter,
	// and the bytes after the limit do not matter.
	text = string([]rune(text[:min(len(text), limit+utf8.UTFMax)]))
	if len(text) <= limit {
		return text
	}
	end := limit - len(mark)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}
