// Package message fits texts into fields of the API that take only so many bytes.
package message

import "unicode/utf8"

const (
	// conditionLimit is what validation of metav1.Condition allows for its message, in bytes
	// (maxMessageLen in k8s.io/apimachinery/pkg/apis/meta/v1/validation).
	conditionLimit = 32 * 1024
	// eventLimit is what validation of events.k8s.io/v1 allows for a note, in bytes (NoteLengthLimit in
	// k8s.io/kubernetes/pkg/apis/core/validation). The same validation passes longer messages of core/v1.
	eventLimit = 1024
	// mark ends a text that was cut.
	mark = " [truncated]"
)

// Condition returns the text as the message of a condition: cut, and marked as cut, if it is too long.
func Condition(text string) string { return fit(text, conditionLimit) }

// Event returns the text as the message of an event: cut, and marked as cut, if it is too long.
func Event(text string) string { return fit(text, eventLimit) }

func fit(text string, limit int) string {
	if len(text) <= limit && utf8.ValidString(text) {
		return text
	}
	// JSON has U+FFFD, three bytes, in the place of each byte that is not UTF-8. So the text is never
	// shorter than its bytes, and whatever follows those cannot matter.
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
