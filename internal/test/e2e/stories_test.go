package e2e

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/seed"
)

// stories play users, a scheduler and a kubelet, and hold what the API server comes to. Each has its own
// names, so that all can be played at the same time.
var stories = map[string]func(*testing.T, *world){}

// play runs all stories at the same time, or those of these kinds only, and returns when all have ended.
func (w *world) play(t *testing.T, only ...string) {
	t.Helper()
	t.Run("stories", func(t *testing.T) {
		for _, name := range slices.Sorted(maps.Keys(stories)) {
			kind, _, _ := strings.Cut(name, " ")
			if len(only) > 0 && !slices.Contains(only, kind) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				stories[name](t, w)
			})
		}
	})
}

// A module's program is the only controller, and runs all the time.
func TestStories(t *testing.T) {
	t.Parallel()
	forEachModule(t, func(t *testing.T, of module) {
		w := newWorld(t)
		m := w.start(t, of, "manager", w.Endpoint())
		w.play(t)
		w.atRest(t, m)
		m.stop(t)
	})
}

var withUpstream = flag.Bool("upstream", false, "play the stories with kube-controller-manager")

// kube-controller-manager's own controllers, for the table in README.md: it fails where a numbered divergence says so.
func TestStoriesWithUpstream(t *testing.T) {
	t.Parallel()
	if !*withUpstream {
		t.Skip("fails as README.md says: -upstream")
	}
	w := newWorld(t)
	m := w.startUpstream(t, w.Endpoint())
	w.play(t)
	require.NoError(t, m.Stop())
}

// The program is killed in the middle of everything, without a warning, and started again: at least once
// after each step of each story, which calls disturb.
func TestStoriesWhileTheManagerIsKilled(t *testing.T) {
	t.Parallel()
	forEachModule(t, func(t *testing.T, of module) {
		w := newWorld(t)
		k := startKiller(3*time.Second, rand.New(rand.NewPCG(seed.First(t, 1), 0)), func() *manager {
			return w.start(t, of, "manager", w.Endpoint(), of.alone...)
		})
		w.disturb = k.soon
		w.play(t)
		m := k.let()
		t.Logf("The manager was killed %d times", k.kills)
		require.Greater(t, k.kills, 10)
		w.atRest(t, m)
		m.stop(t)
	})
}

// Of two managers the leader is killed time and again: the other takes over, and nothing is made twice.
func TestStoriesWhileLeadersAreKilled(t *testing.T) {
	t.Parallel()
	forEachModule(t, func(t *testing.T, of module) {
		w := newWorld(t)
		started := 0
		start := func() *manager {
			started++
			return w.start(t, of, fmt.Sprintf("manager-%d", started), w.Endpoint(), of.elected...)
		}
		p := startPair(w, start)
		w.play(t)
		managers := p.let()
		t.Logf("A leader was killed %d times", p.kills)
		require.GreaterOrEqual(t, p.kills, 2, "each of the two managers is killed once")
		w.atRest(t, managers...)
		for _, m := range managers {
			m.stop(t)
		}
	})
}

// atRest holds that the managers have nothing left to do once the stories are over: nobody writes any more.
func (w *world) atRest(t *testing.T, managers ...*manager) {
	t.Helper()
	count := func() (actions string) {
		for _, m := range managers {
			page, err := m.get("/metrics")
			if err != nil { // it may have begun just now
				return err.Error() + time.Now().String()
			}
			for line := range strings.Lines(page) {
				if strings.HasPrefix(line, "purekube_actions_total") {
					actions += line
				}
			}
		}
		return actions
	}
	var last string
	quiet := time.Now()
	for deadline := time.Now().Add(patience); time.Since(quiet) < 5*time.Second; time.Sleep(250 * time.Millisecond) {
		if now := count(); now != last {
			last, quiet = now, time.Now()
		}
		if time.Now().After(deadline) {
			t.Fatalf("still writing after %s: %s", patience, last)
		}
	}
	t.Logf("At rest after\n%s", last)
}
