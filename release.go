package purekube

import (
	"errors"
	"fmt"
	"strings"
)

// Release is a minor release of Kubernetes whose controllers a plan is to match. The zero
// value is none of them: the default decisions of this module.
type Release string

// The releases that plans can match. Any other value that is not empty is an error of every plan and of every other
// question, around [ErrUnknownRelease], and the answer is empty. [ParseRelease] reads what people write.
const (
	V1_36 Release = "v1.36"
	V1_37 Release = "v1.37"
)

// ErrUnknownRelease: a Release is asked for that is not one of the constants.
var ErrUnknownRelease = errors.New("want v1.36 or v1.37")

// ParseRelease reads the name of a release: "v1.36", "1.36" or that of one of its patches, "v1.36.3". What is not one
// of the constants then, the empty text too, is an error around [ErrUnknownRelease].
func ParseRelease(text string) (Release, error) {
	parts := strings.Split(strings.TrimPrefix(text, "v"), ".")
	if len(parts) == 3 && isNumber(parts[2]) {
		parts = parts[:2]
	}
	switch r := Release("v" + strings.Join(parts, ".")); r {
	case V1_36, V1_37:
		return r, nil
	}
	return "", fmt.Errorf("%q: %w", text, ErrUnknownRelease)
}

// isNumber reports whether the text is a number as versions have them.
func isNumber(text string) bool {
	return text == "0" || text != "" && text[0] != '0' && strings.Trim(text, "0123456789") == ""
}
