package snapshot

import (
	"fmt"

	"github.com/purekube/purekube"
)

// CheckUpstream returns the error of the option MatchUpstream with this value, if it is not one of the constants.
func CheckUpstream(r purekube.Upstream) error {
	switch r {
	case "", purekube.V1_36, purekube.V1_37:
		return nil
	}
	return fmt.Errorf("options: matchUpstream: %q: %w", string(r), purekube.ErrUnknownUpstream)
}
