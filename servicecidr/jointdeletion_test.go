package servicecidr_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/seed"
	"github.com/purekube/purekube/servicecidr"
)

// jointDeletion is every course that the deletion of equal ServiceCIDRs can take while an address is in use: who
// deletes which of them when, how old the caller's cache is, when it plans, and when its writes arrive. Times are steps
// of half a second, and the grace period is four of them.
type jointDeletion struct {
	number      int
	age, flight int    // at most
	apiServers  [2]int // how far their clocks are ahead
	caller      int
	recorded    bool

	deletedAt [3]int // true times
	stamps    [3]time.Time
	asked     map[question]uint8
	visited   map[course]bool
}

const (
	halfSecond  = 500 * time.Millisecond
	graceSteps  = 4
	deleteSteps = 6 // deletions begin within so many steps
	lastStep    = 16
	never       = int8(127)
)

// course is where a joint deletion is.
type course struct {
	now, cached int8
	seen        [3]int8 // when the caller's cache showed the deletion
	arrives     [3]int8 // when the removal of the finalizer arrives, or did
}

// orphans says whether some course removes all of them, and which deletions begin it.
func (j *jointDeletion) orphans() (string, bool) {
	j.asked = map[question]uint8{}
	var assign func(i int) (string, bool)
	assign = func(i int) (string, bool) {
		if i == j.number {
			j.visited = map[course]bool{}
			start := course{seen: [3]int8{never, never, never}, arrives: [3]int8{never, never, never}}
			if j.continues(start) {
				return fmt.Sprint(j.deletedAt[:i], j.stamps[:i]), true
			}
			return "", false
		}
		for at := range deleteSteps {
			for s, ahead := range j.apiServers {
				if s == 1 && ahead == j.apiServers[0] {
					continue
				}
				j.deletedAt[i], j.stamps[i] = at, atStep(at+ahead).Truncate(time.Second)
				if how, found := assign(i + 1); found {
					return how, true
				}
			}
		}
		return "", false
	}
	return assign(0)
}

func atStep(n int) time.Time { return now.Add(time.Duration(n) * halfSecond) }

// continues tries everything that can happen from here on, and says whether it ends with all of them removed.
func (j *jointDeletion) continues(c course) bool {
	if c.now == lastStep || j.visited[c] {
		return false
	}
	j.visited[c] = true
	for cached := max(c.cached, c.now-int8(j.age)); cached <= c.now; cached++ {
		next := c
		next.cached = cached
		for i := range j.number {
			if j.deletedAt[i] <= int(cached) {
				next.seen[i] = min(next.seen[i], c.now)
			}
		}
		if j.writes(next, 0, j.removals(next)) {
			return true
		}
	}
	return false
}

// writes sends the removals or not, and each arrives at one of the moments that it may; then the next step begins.
func (j *jointDeletion) writes(c course, i int, goes uint8) bool {
	if i == j.number {
		left := false
		for k := range j.number {
			left = left || c.arrives[k] == never
		}
		if !left {
			return true
		}
		c.now++
		return j.continues(c)
	}
	if goes>>i&1 == 1 {
		for arrives := c.now; arrives <= c.now+int8(j.flight); arrives++ {
			sent := c
			sent.arrives[i] = arrives
			if j.writes(sent, i+1, goes) {
				return true
			}
		}
	}
	return j.writes(c, i+1, goes)
}

// question is all that a plan depends on.
type question struct {
	now, present, deleting int8
	seen                   [3]int8
	stamps                 [3]int64
}

// removals are those of which the plan removes the finalizer and no removal is under way, a bit each.
func (j *jointDeletion) removals(c course) (goes uint8) {
	q := question{now: c.now}
	for i := range j.number {
		if c.arrives[i] <= c.cached {
			continue
		}
		q.present |= 1 << i
		if j.deletedAt[i] <= int(c.cached) {
			q.deleting |= 1 << i
			q.seen[i], q.stamps[i] = c.seen[i], j.stamps[i].Unix()
		}
	}
	if q.deleting == 0 {
		return 0
	}
	answer, known := j.asked[q]
	if !known {
		answer = j.ask(q)
		j.asked[q] = answer
	}
	for i := range j.number {
		if c.arrives[i] == never {
			goes |= answer & (1 << i)
		}
	}
	return goes
}

func (j *jointDeletion) ask(q question) (goes uint8) {
	s := servicecidr.Snapshot{Now: atStep(int(q.now) + j.caller), IPAddresses: ips("10.0.0.5")}
	if j.recorded {
		s.DeletionSeen = sightings{}
	}
	for i := range j.number {
		if q.present>>i&1 == 0 {
			continue
		}
		x := cidr(smallNames[i], of("10.0.0.0/24"))
		if q.deleting>>i&1 == 1 {
			deletedAt(time.Unix(q.stamps[i], 0))(x)
			if j.recorded {
				s.DeletionSeen[x.UID] = atStep(int(q.seen[i]) + j.caller)
			}
		}
		s.ServiceCIDRs = append(s.ServiceCIDRs, x)
	}
	period := graceSteps * halfSecond
	for _, name := range removed(planAll(s, servicecidr.Options{GracePeriod: &period})) {
		goes |= 1 << slices.Index(smallNames[:], name)
	}
	return goes
}

// D-1 with two clocks: all courses of a few joint deletions. Within the bound that the package comment states, the last
// one stays; and the bound is needed.
func TestD1_WithSkewedClocks(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		jointDeletion
		orphans bool
	}{
		{"one clock", "a second of rounding, and age and flight, are the grace period",
			jointDeletion{number: 2, age: 1, flight: 1}, false},
		{"a tie by name", "both deletions are dated with one second, and the cache is as old as the rest of the grace period",
			jointDeletion{number: 2, age: 3, caller: 1}, true},
		{"skew", "the second deletion is dated before the first, and the cache is as old as the rest of the grace period",
			jointDeletion{number: 2, age: 2, apiServers: [2]int{0, 2}, caller: 2}, true},
		{"skew beyond the grace period, recorded", "the order is the caller's",
			jointDeletion{number: 2, age: 3, apiServers: [2]int{0, 8}, caller: 8, recorded: true}, false},
		{"skew and late writes, recorded", "age and flight are less than the grace period",
			jointDeletion{number: 2, age: 1, flight: 2, apiServers: [2]int{0, 8}, caller: -3, recorded: true}, false},
		{"a cache older than the grace period, recorded", "what the caller has not seen comes later in its order",
			jointDeletion{number: 2, age: 5, flight: 2, apiServers: [2]int{0, 8}, caller: 8, recorded: true}, false},
		{"three, recorded", "what the caller has not seen comes later in its order",
			jointDeletion{number: 3, age: 1, apiServers: [2]int{0, 8}, caller: 8, recorded: true}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.number > 2 && (seed.Short() || raceDetector) {
				t.Skip("long")
			}
			how, found := tc.jointDeletion.orphans()
			require.Equal(t, tc.orphans, found, "%s: %s", tc.reason, how)
		})
	}
}
