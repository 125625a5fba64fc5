package clientgo

import (
	"errors"
	"fmt"
	"strings"
)

// maxLog is how much of a text a log line has. A plan can have thousands of errors.
const maxLog = 2000

// maxEvent is how much of a message an event has: what the API server takes (events.k8s.io).
const maxEvent = 1024

// clip is the beginning of a text that is too long.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	rest := fmt.Sprintf(" … (%d bytes)", len(text))
	return strings.ToValidUTF8(text[:most-len(rest)], "") + rest
}

// clipped is an error for a log line.
func clipped(err error) error { return errors.New(clip(err.Error(), maxLog)) }
