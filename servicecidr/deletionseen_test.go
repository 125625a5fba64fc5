package servicecidr_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/servicecidr"
)

type sightings = map[types.UID]time.Time

// BR-31-03 with a record of deletions.
func TestBR3103_TheGracePeriodCountsFromTheLaterOfTimestampAndFirstSight(t *testing.T) {
	deletion, zero := now, time.Duration(0)
	after := func(seconds int) time.Time { return deletion.Add(time.Duration(seconds) * time.Second) }
	for _, tc := range []struct {
		name, reason string
		seen         sightings
		at           time.Time
		o            servicecidr.Options
		want         time.Time // zero: the finalizer is removed
	}{
		{"seen later", "the first sight is the later one", sightings{uid("x"): after(3)}, after(11), careful, after(13)},
		{"seen later, a nanosecond early", "not yet", sightings{uid("x"): after(3)}, after(13).Add(-1), careful, after(13)},
		{"seen later, the moment itself", "over", sightings{uid("x"): after(3)}, after(13), careful, time.Time{}},
		{"seen later, both still to come", "the first sight is the later one", sightings{uid("x"): after(3)}, after(5), careful, after(13)},
		{"seen earlier", "the API server's clock is ahead: the deletion timestamp is the later one",
			sightings{uid("x"): after(-5)}, after(9), careful, after(10)},
		{"seen earlier, over", "both are over", sightings{uid("x"): after(-5)}, after(10), careful, time.Time{}},
		{"not recorded yet", "whoever records deletions and not this one sees it now",
			sightings{uid("y"): deletion}, after(3600), careful, after(3610)},
		{"nothing recorded yet", "an empty map is a record", sightings{}, after(3600), careful, after(3610)},
		{"a zero time", "it says nothing, so it is as if it were not there",
			sightings{uid("x"): {}}, after(3600), careful, after(3610)},
		{"not recorded yet, and the deletion is in the future", "the later one of now and then",
			sightings{}, after(-60), careful, after(10)},
		{"no record", "the deletion timestamp has to do", nil, after(10), careful, time.Time{}},
		{"first seen in the future", "the caller's clock went back: it waits",
			sightings{uid("x"): after(60)}, after(30), careful, after(70)},
		{"upstream", "it has no such record", sightings{uid("x"): after(60)}, after(10), upstream, time.Time{}},
		{"upstream, not recorded yet", "it has no such record", sightings{}, after(10), upstream, time.Time{}},
		{"no grace period", "none from any time on",
			sightings{}, after(0), servicecidr.Options{GracePeriod: &zero}, time.Time{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := snapshotOf(cidrs(cidr("x", of("10.0.0.0/24"), deletedAt(deletion))))
			s.Now, s.DeletionSeen = tc.at, tc.seen
			r, err := servicecidr.Plan(s, servicecidr.Key("x"), tc.o)
			require.NoError(t, err)
			require.True(t, tc.want.Equal(r.RecheckAt), "%s: want %v, got %v", tc.reason, tc.want, r.RecheckAt)
			require.Equal(t, tc.want.IsZero(), len(r.Actions) == 1, tc.reason)
			e, err := servicecidr.NewIndex(s, tc.o).Explain(servicecidr.Key("x"))
			require.NoError(t, err)
			want := servicecidr.ReasonGracePeriod
			if tc.want.IsZero() {
				want = servicecidr.ReasonRemovable
			}
			require.Equal(t, want, e.Reasons[0].Code, tc.reason)
			require.True(t, e.Deletion.Safe, "the grace period is no part of the answer")
		})
	}
}

// A clock that is set forward ends no wait of a caller whose times have a monotonic reading, as those of time.Now do.
func TestBR3103_ASteppedClockEndsNoGracePeriod(t *testing.T) {
	seen := time.Now()
	at := seen.Add(3 * time.Second)
	x := cidr("x", of("10.0.0.0/24"), deletedAt(seen.Add(-time.Hour)))
	s := servicecidr.Snapshot{Now: at, DeletionSeen: sightings{x.UID: seen}, ServiceCIDRs: cidrs(x)}
	r, err := servicecidr.Plan(s, servicecidr.Key("x"), careful)
	require.NoError(t, err)
	require.Equal(t, 7*time.Second, r.RecheckAt.Sub(at))
	require.Contains(t, r.RecheckAt.String(), " m=", "so the caller's timer does not depend on the clock either")
}

func TestIndexDeletionSeen(t *testing.T) {
	net := of("10.0.0.0/24")
	x := servicecidr.NewIndex(servicecidr.Snapshot{Now: now, ServiceCIDRs: cidrs(
		cidr("a", net, deletedAt(first)), cidr("b", net, deletedAt(first)),
		cidr("elsewhere", of("10.9.0.0/24"), deletedAt(first)), cidr("stays", of("10.9.0.0/16")),
	)}, careful)
	recheck := func(x *servicecidr.Index, name string) time.Time {
		t.Helper()
		r, err := x.Plan(servicecidr.Key(name))
		require.NoError(t, err)
		return r.RecheckAt
	}
	require.Zero(t, recheck(x, "a"), "no record: the deletion timestamp is long over")

	mine := sightings{}
	recording, affected := x.With(servicecidr.Snapshot{DeletionSeen: mine})
	require.Equal(t, keys("a", "b", "elsewhere", "stays"), affected, "none of them has been seen; stays overlaps one")
	require.Equal(t, now.Add(10*time.Second), recheck(recording, "a"))

	mine[uid("a")] = now
	require.Equal(t, now.Add(10*time.Second), recheck(recording, "a"), "the map is the caller's own")
	later, affected := recording.With(servicecidr.Snapshot{Now: now.Add(5 * time.Second), DeletionSeen: mine})
	require.Equal(t, keys("a", "b", "elsewhere"), affected, "b overlaps a; elsewhere is still not seen, so its wait moves with Now")
	require.Equal(t, now.Add(10*time.Second), recheck(later, "a"))
	require.Equal(t, now.Add(15*time.Second), recheck(later, "b"), "seen now, whenever that is")

	same, affected := later.With(servicecidr.Snapshot{DeletionSeen: mine})
	require.Empty(t, affected, "nothing is new")
	ahead, affected := same.With(servicecidr.Snapshot{DeletionSeen: sightings{"uid-of-c": now}})
	require.Empty(t, affected, "c is not there")
	ahead, affected = ahead.With(servicecidr.Snapshot{ServiceCIDRs: cidrs(cidr("c", net, deletedAt(first)))})
	require.Equal(t, keys("a", "b", "c"), affected)
	require.Equal(t, now.Add(10*time.Second), recheck(ahead, "c"), "its time was there before it")

	gone, affected := ahead.Without(servicecidr.Snapshot{DeletionSeen: sightings{uid("a"): now}})
	require.Equal(t, keys("a", "b", "c"), affected)
	require.Equal(t, now.Add(15*time.Second), recheck(gone, "a"), "not seen any more")
	require.Equal(t, now.Add(10*time.Second), recheck(ahead, "a"), "the index before is as it was")

	stock := servicecidr.NewIndex(snapshotOf(cidrs(cidr("a", net, deletedAt(now)))), upstream)
	stock, affected = stock.With(servicecidr.Snapshot{DeletionSeen: sightings{uid("a"): now.Add(time.Hour)}})
	require.Empty(t, affected, "upstream has no such record")
	require.Equal(t, now.Add(10*time.Second), recheck(stock, "a"))
}

// D-1: whoever records deletions orders them by the record.
func TestD1_TheRecordOfDeletionsComesBeforeTheirTimestamps(t *testing.T) {
	net := of("10.70.0.0/28")
	s := snapshotOf(cidrs(cidr("a", net, deletedAt(third)), cidr("b", net, deletedAt(first))), "10.70.0.2")
	require.Equal(t, []string{"b"}, removed(planAll(s, careful)), "a goes last by its timestamp")
	s.DeletionSeen = sightings{uid("a"): longAgo.Add(time.Minute), uid("b"): longAgo.Add(2 * time.Minute)}
	require.Equal(t, []string{"a"}, removed(planAll(s, careful)), "b was seen last, whatever clock has dated a")
	s.DeletionSeen[uid("a")] = s.DeletionSeen[uid("b")]
	require.Equal(t, []string{"b"}, removed(planAll(s, careful)), "seen at once: the timestamps decide")
	delete(s.DeletionSeen, uid("b"))
	require.Empty(t, removed(planAll(s, careful)), "when b goes is not known, so a may not rely on it")
	d, err := servicecidr.NewIndex(s, careful).CheckDeletion(servicecidr.Key("b"), 0)
	require.NoError(t, err)
	require.False(t, d.Safe, "nor may b rely on a: what is seen later comes later")
	s.DeletionSeen = sightings{}
	require.Empty(t, removed(planAll(s, careful)), "neither has been seen")
	require.Equal(t, []string{"a", "b"}, removed(planAll(s, upstream)))

	// Times with and without a monotonic reading are one order.
	read := time.Now()
	for _, of := range [][2]time.Time{{read, read.Add(time.Second).Round(0)}, {read.Round(0), read.Add(time.Second)}} {
		s.Now, s.DeletionSeen = read.Add(time.Hour), sightings{uid("a"): of[0], uid("b"): of[1]}
		require.Equal(t, []string{"a"}, removed(planAll(s, careful)))
	}
}

// Deletions of one UID, which no API server makes, and times at the ends of what there is.
func TestDeletionSeen_BadInput(t *testing.T) {
	twin := cidr("b", of("10.0.0.0/25"), deletedAt(first))
	twin.UID = uid("a")
	nameless := cidr("", of("10.0.0.0/25"), deletedAt(first))
	s := snapshotOf(cidrs(cidr("a", of("10.0.0.0/24"), deletedAt(first)), twin, nameless, nil), "10.0.0.7", "10.0.0.200")
	for _, at := range []time.Time{{}, time.Unix(math.MinInt64, 0), time.Unix(math.MaxInt64, 0), longAgo, now} {
		s.DeletionSeen = sightings{uid("a"): at, "": at}
		for _, o := range modes() {
			x := servicecidr.NewIndex(snapshotOf(s.ServiceCIDRs, "10.0.0.7", "10.0.0.200"), o)
			x, _ = x.With(servicecidr.Snapshot{DeletionSeen: s.DeletionSeen})
			theContract.CheckSame(t, at.String(), servicecidr.NewIndex(s, o), x, s)
		}
	}
}
