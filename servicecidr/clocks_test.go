package servicecidr_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/purekube/purekube/internal/test/seed"
	"github.com/purekube/purekube/servicecidr"
)

// clocks are how far the clocks of a cluster are from the true time, and how late everybody may be.
type clocks struct {
	apiServers [2]time.Duration // each writes deletion timestamps by its own clock, in whole seconds
	caller     time.Duration
	age        time.Duration // of the caller's cache
	flight     time.Duration // from a plan to its write
	allocators time.Duration // until an allocator has heard of a deletion
	recorded   bool          // the caller gives DeletionSeen
}

// history is a cluster at work for half a minute, at true times from now on. Users delete ServiceCIDRs and Services,
// allocators take addresses, and the caller plans from a cache that is late.
type history struct {
	clocks
	r     *rand.Rand
	crawl bool // how caches are late
	// states are the cluster at each step.
	states []servicecidr.Snapshot
	cached int // the state that the caller's cache shows
	seen   sightings
	writes []write
	// heard is the state that each API server's allocator knows.
	heard [2]int
}

type write struct {
	at     time.Time
	name   string
	action servicecidr.Action
}

const step = 100 * time.Millisecond

// orphans plays the history and returns the first addresses without a range, as text.
func (h *history) orphans() string {
	all := [][]string{of("10.0.0.0/24"), of("10.0.0.0/24"), of("10.0.0.0/25"), of("10.0.0.0/28")}
	h.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	s := servicecidr.Snapshot{Now: now}
	for i, prefixes := range all[:1+h.r.IntN(len(all))] {
		s.ServiceCIDRs = append(s.ServiceCIDRs, cidr(string(rune('a'+i)), prefixes))
	}
	h.crawl = h.chance(2)
	h.states, h.seen = []servicecidr.Snapshot{s}, sightings{}
	for len(h.states) < 300 {
		last := h.states[len(h.states)-1]
		s := last
		s.Now, s.ServiceCIDRs, s.IPAddresses = last.Now.Add(step), slices.Clone(last.ServiceCIDRs), slices.Clone(last.IPAddresses)
		h.users(&s)
		h.allocate(&s)
		h.writes = slices.DeleteFunc(h.writes, func(w write) bool {
			if w.at.After(s.Now) {
				return false
			}
			s.ServiceCIDRs = carryOut(s.ServiceCIDRs, w.name, w.action)
			return true
		})
		h.states = append(h.states, s)
		if covered := coveredAddresses(s); len(covered) < len(s.IPAddresses) {
			return fmt.Sprintf("of %d addresses only %v have a range", len(s.IPAddresses), covered)
		}
		h.plan(s)
	}
	return ""
}

// chance is true once in so many steps.
func (h *history) chance(in int) bool { return h.r.IntN(in) == 0 }

func (h *history) users(s *servicecidr.Snapshot) {
	for i, x := range s.ServiceCIDRs {
		if x.DeletionTimestamp == nil && h.chance(50) {
			s.ServiceCIDRs[i] = x.DeepCopy()
			deletedAt(s.Now.Add(h.apiServers[h.r.IntN(2)]).Truncate(time.Second))(s.ServiceCIDRs[i])
		}
	}
	s.IPAddresses = slices.DeleteFunc(s.IPAddresses, func(*networkingv1.IPAddress) bool { return h.chance(60) })
}

// allocate takes addresses from ranges that are not being deleted, as far as the allocators have heard.
func (h *history) allocate(s *servicecidr.Snapshot) {
	for i := range h.heard {
		h.heard[i] = h.late(h.heard[i], h.allocators)
		deleted := func(x *networkingv1.ServiceCIDR) bool { return x.DeletionTimestamp != nil }
		usable := slices.DeleteFunc(slices.Clone(h.states[h.heard[i]].ServiceCIDRs), deleted)
		for _, a := range of("10.0.0.5", "10.0.0.200") {
			taken := slices.ContainsFunc(s.IPAddresses, func(ip *networkingv1.IPAddress) bool { return ip.Name == a })
			if !taken && h.chance(40) && len(coveredAddresses(snapshotOf(usable, a))) > 0 {
				s.IPAddresses = append(s.IPAddresses, ip(a))
			}
		}
	}
}

// late moves a cache forward: it crawls behind by the lag, or stands still for as long as the lag allows and then
// catches up, or catches up before.
func (h *history) late(cached int, lag time.Duration) int {
	newest := len(h.states) - 1
	oldest := newest - int(lag/step)
	switch {
	case h.chance(20), cached < oldest && !h.crawl:
		return newest
	}
	return max(cached, oldest)
}

func (h *history) plan(s servicecidr.Snapshot) {
	h.cached = h.late(h.cached, h.age)
	known := h.states[h.cached]
	known.Now = s.Now.Add(h.caller)
	if h.recorded {
		for _, x := range known.ServiceCIDRs {
			if _, there := h.seen[x.UID]; x.DeletionTimestamp != nil && !there {
				h.seen[x.UID] = known.Now
			}
		}
		known.DeletionSeen = h.seen
	}
	for _, o := range planAll(known, careful) {
		underway := slices.ContainsFunc(h.writes, func(w write) bool { return w.name == o.Key.Name })
		if underway || len(o.Result.Actions) == 0 {
			continue
		}
		delay := h.flight
		if h.chance(2) {
			delay = time.Duration(h.r.IntN(int(h.flight/step)+1)) * step
		}
		h.writes = append(h.writes, write{s.Now.Add(delay), o.Key.Name, o.Result.Actions[0]})
	}
}

// The duty of the package comment, in random histories: within its bound no address is orphaned; beyond it some are.
func TestBR3103_NoOrphansWithinTheBoundOfLagAndSkew(t *testing.T) {
	seconds := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	for _, tc := range []struct {
		name, reason string
		clocks
		orphans bool
	}{
		{"one clock", "age and allocators leave more than a second of ten",
			clocks{age: seconds(4.4), flight: seconds(4.4), allocators: seconds(4.4)}, false},
		{"API servers 4 s apart", "age, allocators and skew leave more than a second of ten",
			clocks{apiServers: [2]time.Duration{0, -seconds(4)},
				age: seconds(2.4), flight: seconds(2.4), allocators: seconds(2.4)}, false},
		{"API servers 9 s apart", "what the slow one dates is over 9 s too early",
			clocks{apiServers: [2]time.Duration{0, -seconds(9)},
				age: seconds(4.4), flight: seconds(2), allocators: seconds(4.4)}, true},
		{"API servers 9 s apart, recorded", "no clock but the caller's is involved",
			clocks{apiServers: [2]time.Duration{0, -seconds(9)},
				age: seconds(4.8), flight: seconds(4.8), allocators: seconds(4.8), recorded: true}, false},
		{"caller 8 s ahead", "everything is dated 8 s too early for it",
			clocks{caller: seconds(8), age: seconds(4.4), flight: seconds(2), allocators: seconds(4.4)}, true},
		{"caller 8 s ahead, recorded", "no other clock is involved",
			clocks{caller: seconds(8),
				age: seconds(4.8), flight: seconds(4.8), allocators: seconds(4.8), recorded: true}, false},
		{"all clocks an hour apart, recorded", "no other clock is involved, not even for the order",
			clocks{apiServers: [2]time.Duration{-time.Hour, -2 * time.Hour},
				age: seconds(4.8), flight: seconds(4.8), allocators: seconds(4.8), recorded: true}, false},
		{"late allocators, recorded", "age and allocators are more than the grace period",
			clocks{age: seconds(8), flight: seconds(1), allocators: seconds(8), recorded: true}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			histories := 400
			switch {
			case tc.orphans:
				histories = 50000 // up to the first orphan; about one in five thousand has one
			case seed.Short() || raceDetector:
				histories = 50
			}
			for seed := range seed.Each(t, histories) {
				h := &history{clocks: tc.clocks, r: newRand(seed)}
				orphan := h.orphans()
				if orphan != "" && tc.orphans {
					t.Logf("history %d: %s", seed, orphan)
					return
				}
				require.Empty(t, orphan, "history %d: %s", seed, tc.reason)
			}
			require.False(t, tc.orphans && !seed.Single(), "%d histories without an orphan: %s", histories, tc.reason)
		})
	}
}
