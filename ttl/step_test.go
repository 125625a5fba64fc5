package ttl

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const largest = 2500

// Up and down one by one, with PlanAll's own step carried along. Upstream's steps against ours at every count.
func TestBR1906_WalkOneByOne(t *testing.T) {
	var c cluster
	step := 0
	check := func() {
		t.Helper()
		if step = table(Steps()).next(step, c.nodes); step != c.step {
			t.Fatalf("%d nodes: Next is in step %d, one event at a time in %d", c.nodes, step, c.step)
		}
		if settled := table(Steps()).settle(step, c.nodes); settled != step {
			t.Fatalf("%d nodes: Settle leaves step %d for %d", c.nodes, step, settled)
		}
		if ttl := table(Steps()).at(step).TTL; ttl != time.Duration(ruleTTL[c.step])*time.Second {
			t.Fatalf("%d nodes: TTL %v", c.nodes, ttl)
		}
	}
	for check(); c.nodes < largest; check() {
		c.add()
	}
	for ; c.nodes > 0; check() {
		c.remove()
	}
}

// From every size and step that go together to every other size: one Settle is as good as playing
// the events.
func TestBR1906_SettleIsPlayingTheEvents(t *testing.T) {
	for from := range largest + 1 {
		for step := range ruleMin {
			if from < ruleMin[step] || from > ruleMax[step] {
				continue
			}
			settles := func(c cluster) {
				if got := table(Steps()).settle(step, c.nodes); got != c.step {
					t.Fatalf("from step %d at %d to %d nodes: Settle says %d, the events %d", step, from, c.nodes, got, c.step)
				}
			}
			c := cluster{nodes: from, step: step}
			for settles(c); c.nodes < largest; settles(c) {
				c.add()
			}
			c = cluster{nodes: from, step: step}
			for settles(c); c.nodes > 0; settles(c) {
				c.remove()
			}
		}
	}
}

// A step that does not go with the count, or with the table.
func TestBR1906_AnyStep(t *testing.T) {
	for _, tc := range []struct {
		name, reason  string
		step, nodes   int
		next, settled int
	}{
		{"from 0 to many", "each event is one step at most", 0, 2500, 1, 4},
		{"from the last to none", "and the same downwards", 4, 0, 3, 0},
		{"95 from below", "in an overlap the step stays what it was", 0, 95, 0, 0},
		{"95 from above", "in an overlap the step stays what it was", 1, 95, 1, 1},
		{"too high for 700", "down to the first that allows it: 450 … 1000", 4, 700, 3, 2},
		{"too low for 950", "up to the first that allows it: 450 … 1000, not 900 … 2000", 0, 950, 1, 2},
		{"too high for 950", "down to the first that allows it: 900 … 2000, not 450 … 1000", 4, 950, 3, 3},
		{"negative step", "stands for step 0", -7, 50, 0, 0},
		{"negative step, one up", "stands for step 0, and an event moves it", -7, 101, 1, 1},
		{"step past the table", "stands for the last", 99, 1800, 4, 4},
		{"step past the table, one down", "stands for the last, and an event moves it", 99, 1799, 3, 3},
		{"negative count", "no lower step than the first", 0, -1, 0, 0},
		{"negative count from above", "as good as 0", 2, -1, 1, 0},
		{"more nodes than the table's last number", "the last step has no upper end; upstream would panic", 4, math.MaxInt, 4, 4},
		{"extremes", "no overflow", math.MaxInt, math.MinInt, 3, 0},
		{"the other extremes", "no overflow", math.MinInt, math.MaxInt, 1, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.next, table(Steps()).next(tc.step, tc.nodes), tc.reason)
			require.Equal(t, tc.settled, table(Steps()).settle(tc.step, tc.nodes), tc.reason)
		})
	}
	require.Equal(t, 0*time.Second, table(Steps()).at(-1).TTL)
	require.Equal(t, 300*time.Second, table(Steps()).at(5).TTL)
}
