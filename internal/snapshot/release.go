package snapshot

import (
	"fmt"

	"github.com/purekube/purekube"
)

// CheckRelease returns the error of the option MatchUpstream with this value, if it is not one of the constants.
func CheckRelease(r purekube.Release) error {
	switch r {
	case "", purekube.V1_36, purekube.V1_37:
		return nil
	}
	return fmt.Errorf("options: matchUpstream: %q: %w", string(r), purekube.ErrUnknownRelease)
}
