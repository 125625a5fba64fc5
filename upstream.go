package purekube

import (
	"errors"
	"fmt"
	"strings"
)

// Upstream names the kube-controller-manager whose requests Options.MatchUpstream asks for, by its minor release. A
// patch release has no name of its own: ParseUpstream reads it as its minor release.
type Upstream string

// The releases that plans can match. Any other value that is not empty is an error of every plan and of every other
// question, around [ErrUnknownUpstream], and the answer is empty. [ParseUpstream] reads what people write.
const (
	// NoUpstream is the zero value: the default decisions of this module.
	NoUpstream Upstream = ""

	V1_36 Upstream = "v1.36" //nolint:staticcheck // ST1003: V136 would read as a number
	V1_37 Upstream = "v1.37" //nolint:staticcheck // ST1003
)

// ErrUnknownUpstream says that the value of an Upstream is not one of the constants.
var ErrUnknownUpstream = errors.New("want v1.36 or v1.37")

// ParseUpstream reads the name of a minor release, "v1.36" or "1.36", or of one of its patch releases, "v1.36.3". It
// returns an error around [ErrUnknownUpstream] for any other text and for the empty text.
func ParseUpstream(text string) (Upstream, error) {
	parts := strings.Split(strings.TrimPrefix(text, "v"), ".")
	if len(parts) == 3 && isNumber(parts[2]) {
		parts = parts[:2]
	}
	// An unknown release is an error, and not the nearest known release: its controllers may decide differently.
	if u := Upstream("v" + strings.Join(parts, ".")); u == V1_36 || u == V1_37 {
		return u, nil
	}
	return "", fmt.Errorf("%q: %w", text, ErrUnknownUpstream)
}

// isNumber reports whether the text is a number without leading zeros, as in versions. So v1.37.0+k3s1, the build of a
// distribution, is not read as v1.37.
func isNumber(text string) bool {
	return text == "0" || text != "" && text[0] != '0' && strings.Trim(text, "0123456789") == ""
}
