package reconcile

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/ttl"
)

// setBack is a time of a process whose clock was set back meanwhile: its monotonic reading goes on. No function of
// package time makes such a time.
func setBack(t *testing.T, at time.Time, by time.Duration) time.Time {
	t.Helper()
	back := at
	// Bits 30 to 62 of the first word are the seconds of the clock.
	*(*uint64)(unsafe.Pointer(&back)) -= uint64(by/time.Second) << 30
	require.Equal(t, at.Unix()-int64(by/time.Second), back.Unix())
	require.Zero(t, back.Sub(at))
	return back
}

// A clock that is set back by an hour prolongs no wait of the loop, and makes no answer young again.
func TestClockThatIsSetBack(t *testing.T) {
	begin := time.Now()
	after := func(d time.Duration) time.Time { return setBack(t, begin.Add(d), time.Hour) }

	t.Run("a fence", func(t *testing.T) {
		l := newLoop(Options[*ttl.Index, ttl.Snapshot]{})
		l.Start(begin)
		turn(t, l, begin, "9", nil)
		held := l.Begin(after(time.Second), key)
		require.Equal(t, Next{Requeue: true, After: FenceTimeout - time.Second}, held.Next)
		require.Equal(t, Plan, l.Begin(after(FenceTimeout), key).Step)
	})
	t.Run("a plan's time for its writes", func(t *testing.T) {
		l := newLoop(Options[*ttl.Index, ttl.Snapshot]{})
		l.Start(begin)
		turn := l.Begin(begin, key)
		l.Planned(begin, turn, purekube.Result[ttl.Action]{}, nil)
		require.Equal(t, time.Second, turn.WriteBy.Sub(after(WritesTimeout-time.Second)))
	})
	t.Run("the age of answers", func(t *testing.T) {
		key := resourceclaim.KeyOf(reserved)
		for age, step := range map[time.Duration]Step{MaxAgeOfAnswers - time.Second: CarryOut, MaxAgeOfAnswers: Wait} {
			l := reservedLoop(reserved)
			l.Start(begin)
			_, ask := plannedClaim(begin, l, key)
			require.True(t, l.Look(begin, ask[0]))
			l.Found(ask[0], purekube.Answer{}, nil)
			turn, _ := plannedClaim(after(age), l, key)
			require.Equal(t, step, turn.Step, "after %v", age)
		}
	})
}

// A RecheckAt that follows from a timestamp of the API server is far away for a process whose clock was set back. The
// key is planned again before that: the clock may be right by then.
func TestRecheckOfAnotherClock(t *testing.T) {
	for _, tc := range []struct {
		name string
		at   time.Time
		want time.Duration
	}{
		{"clocks that agree", start.Add(2 * time.Minute), 2 * time.Minute},
		{"a clock that was set back by an hour", start.Add(time.Hour + 2*time.Minute), LongestRecheck},
		{"a time that has passed, since the plan was made for a time before now", start.Add(-time.Hour), RecheckNow},
		{"now", start, RecheckNow},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLoop(Options[*ttl.Index, ttl.Snapshot]{})
			l.Start(start)
			turn := l.Begin(start, key)
			l.Planned(start, turn, purekube.Result[ttl.Action]{RecheckAt: tc.at}, nil)
			require.Equal(t, Next{Requeue: true, After: tc.want}, l.End(start, turn, nil, false))
		})
	}
}
