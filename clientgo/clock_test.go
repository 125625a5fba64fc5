package clientgo_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube/clientgo"
)

// All times that a controller goes by have a monotonic reading. Whoever sets the clock of the machine, forward or back,
// neither ends a wait nor prolongs it: internal/reconcile shows that for such times.
func TestTimesAreMonotonic(t *testing.T) {
	var mu sync.Mutex
	times := map[string]time.Time{}
	note := func(what string, at time.Time) {
		mu.Lock()
		defer mu.Unlock()
		times[what] = at
	}
	o := options{lookup: found, begin: []string{"x"}}
	o.Options = clientgo.Options[*cell, state]{
		At: func(now time.Time, _ *cell) state {
			note("a plan", now)
			return state{now: now}
		},
		Written: func(now time.Time, _ runtime.Object) { note("a write", now) },
	}
	c := newController(t, needing("1"), &server{}, noInformers, o)
	end := running(t.Context(), t, c)
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(times) == 2
	}, time.Minute, time.Millisecond)
	end()
	for what, at := range times {
		require.Contains(t, at.String(), " m=", "%s is of that time", what)
	}
}
