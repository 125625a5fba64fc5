package resourceclaim

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A webhook may refuse a claim with more words than an event takes.
func TestLongMessagesAreCut(t *testing.T) {
	event, ok := CreateClaim{Owner: podKey("p"), PodClaim: "gpu"}.FailureEvent(errors.New(strings.Repeat("é", 5000)))
	require.True(t, ok)
	require.LessOrEqual(t, len(event.Message), 1024)
	require.Contains(t, event.Message, "PodResourceClaim gpu: create ResourceClaim : ééé")
}

// The event of a plan is cut by default, and whole where upstream's is asked for.
func TestLongNamesAreCutInEvents(t *testing.T) {
	entry := strings.Repeat("x", 2000)
	p := newPod("p0", unsupported(entry))
	for _, mode := range modes {
		r, _ := Plan(Snapshot{Pods: pods(p)}, podKey("p0"), mode.options)
		require.Len(t, r.Events, 1, mode.name)
		require.Equal(t, mode.options.matchUpstream(), len(r.Events[0].Message) > 1024, mode.name)
	}
}
