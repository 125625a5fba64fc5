package reconcile

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/ttl"
)

var (
	start = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	nodes = schema.GroupResource{Resource: "nodes"}
	key   = ttl.Key("node")
)

type loop = Loop[*ttl.Index, ttl.Snapshot, ttl.Action]

// newLoop has one node that is to be written, at the resourceVersion 5.
func newLoop(o Options[*ttl.Index, ttl.Snapshot]) *loop {
	if o.Synced == nil {
		o.Synced = func() bool { return true }
	}
	l := New(ttl.NewIndex(ttl.Snapshot{}, ttl.Options{}), o)
	l.Watches(nodes)
	see(l, "5", "")
	return l
}

// see shows the node at a resourceVersion, with that annotation.
func see(l *loop, version, annotation string) []purekube.Key {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", ResourceVersion: version}}
	if annotation != "" {
		node.Annotations = map[string]string{ttl.Annotation: annotation}
	}
	return l.Event(nodes, version, func(x *ttl.Index) (*ttl.Index, []purekube.Key) {
		return x.With(ttl.Snapshot{Nodes: []*corev1.Node{node}})
	})
}

// turn plans the key, and sends its one action, which leaves the node at that resourceVersion or fails.
func turn(t *testing.T, l *loop, now time.Time, version string, err error) Next {
	t.Helper()
	turn := l.Begin(now, key)
	require.Equal(t, Plan, turn.Step)
	result, problems := turn.Index.Plan(key)
	l.Planned(now, turn, result, problems)
	require.Equal(t, CarryOut, turn.Step)
	require.Equal(t, now.Add(WritesTimeout), turn.WriteBy, "the writes have all of their time")
	require.Len(t, result.Actions, 1)
	r := result.Actions[0].Request(nil)
	if err == nil {
		l.Sent(now, turn, r, &corev1.Node{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}, nil)
	} else {
		l.Sent(now, turn, r, nil, err)
	}
	return l.End(now, turn, err, false)
}

// Nothing is planned before the handlers have seen what was listed, whatever the caches have.
func TestStartWaitsForTheHandlers(t *testing.T) {
	synced := false
	l := newLoop(Options[*ttl.Index, ttl.Snapshot]{Synced: func() bool { return synced }})
	_, _, started := l.Start(start)
	require.False(t, started)
	require.Empty(t, see(l, "6", ""), "no event queues anything before the start")
	synced = true
	keys, problems, started := l.Start(start)
	require.True(t, started)
	require.NoError(t, problems)
	require.Equal(t, []purekube.Key{key}, keys)
	require.Equal(t, []purekube.Key{key}, see(l, "7", ""))
}

// No failure is forgotten: each has another turn.
func TestFailuresAreRetried(t *testing.T) {
	l := newLoop(Options[*ttl.Index, ttl.Snapshot]{Retries: 3})
	l.Start(start)
	away := errors.New("away")
	for n, want := range []time.Duration{5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, PauseAfterRetries, 5 * time.Millisecond} {
		next := turn(t, l, start, "", away)
		require.True(t, next.Requeue)
		require.Equal(t, want, next.After, "failure %d", n+1)
		require.ErrorIs(t, next.Err, away)
	}
	require.False(t, turn(t, l, start, "6", nil).Requeue)
	see(l, "6", "")
	require.Equal(t, 5*time.Millisecond, turn(t, l, start, "", away).After, "a success ends the count of failures")
}

// A busy API server says after what time to ask again. While it stays busy, the pauses grow all the same: otherwise it would get
// every request again each time. A pause that nobody can mean is cut.
func TestABusyServerIsGivenTime(t *testing.T) {
	busy := func(seconds int) error { // as CarryOut wraps it
		return errors.Join(fmt.Errorf("write: %w", apierrors.NewTooManyRequests("busy", seconds)))
	}
	for _, tc := range []struct {
		name    string
		retries int
		asked   int
		want    []time.Duration
	}{
		{"a second", 0, 1, []time.Duration{
			time.Second, time.Second, time.Second, time.Second, time.Second, time.Second, time.Second, time.Second, 1280 * time.Millisecond, 2560 * time.Millisecond,
		}},
		{"a second, few retries", 2, 1, []time.Duration{time.Second, time.Second, PauseAfterRetries, time.Second}},
		{"a day", 0, 24 * 60 * 60, []time.Duration{PauseAfterRetries, PauseAfterRetries}},
		{"nothing", 0, 0, []time.Duration{5 * time.Millisecond, 10 * time.Millisecond}},
	} {
		l := newLoop(Options[*ttl.Index, ttl.Snapshot]{Retries: tc.retries})
		for n, want := range tc.want {
			require.Equal(t, want, turn(t, l, start, "", busy(tc.asked)).After, "%s, failure %d", tc.name, n+1)
		}
	}
}

// A key is not planned before its own write shows, and the event queues it. A watch that hangs holds it for FenceTimeout.
func TestFence(t *testing.T) {
	l := newLoop(Options[*ttl.Index, ttl.Snapshot]{})
	l.Start(start)
	turn(t, l, start, "9", nil)
	held := l.Begin(start.Add(time.Second), key)
	require.Equal(t, Wait, held.Step)
	require.Equal(t, Next{Requeue: true, After: FenceTimeout - time.Second}, held.Next)
	require.Equal(t, []purekube.Key{key}, see(l, "8", ""), "an earlier event lifts nothing")
	require.Equal(t, Wait, l.Begin(start.Add(time.Second), key).Step)
	require.Equal(t, []purekube.Key{key}, see(l, "9", "0"))
	require.Equal(t, Plan, l.Begin(start.Add(time.Second), key).Step)

	l = newLoop(Options[*ttl.Index, ttl.Snapshot]{})
	l.Start(start)
	turn(t, l, start, "9", nil)
	require.Equal(t, Plan, l.Begin(start.Add(FenceTimeout), key).Step)
}
