package ttl

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestBR1901To05_DefaultTable(t *testing.T) {
	bs := Table{}.Boundaries()
	require.Len(t, bs, len(ruleTTL))
	for i, b := range bs {
		require.Equal(t, Boundary{ruleMin[i], ruleMax[i], time.Duration(ruleTTL[i]) * time.Second}, b, "BR-19-0%d: step %d", i+1, i)
		require.Equal(t, b.TTL, Table{}.TTL(i))
	}
}

func TestNewTable(t *testing.T) {
	const s = time.Second
	for _, tc := range []struct {
		name, reason string
		steps        []Boundary
		wantErr      string
	}{{
		name: "none", reason: "an empty configuration is more likely a mistake than a wish for the defaults",
		wantErr: "ttl: a table needs a step; the zero Table has kube-controller-manager's",
	}, {
		name: "one", reason: "the same TTL for every size is a table",
		steps: []Boundary{{0, math.MaxInt32, 15 * s}},
	}, {
		name: "unbounded by MaxInt", reason: "any number from MaxInt32 on stands for no upper end",
		steps: []Boundary{{0, 10, 0}, {10, math.MaxInt, s}},
	}, {
		name: "overlap of one count", reason: "adding a node at 10 goes up, taking it away again stays up: no oscillation",
		steps: []Boundary{{0, 10, 0}, {10, math.MaxInt32, s}},
	}, {
		name: "BR-19-06 no overlap", reason: "10 and 11 nodes would be different steps in both directions",
		steps:   []Boundary{{0, 10, 0}, {11, math.MaxInt32, s}},
		wantErr: "ttl: step 1: SizeMin 11 begins where the step before ends, at 10: without an overlap the step changes with every node around it",
	}, {
		name: "gap", reason: "11 nodes would have no step",
		steps:   []Boundary{{0, 10, 0}, {9, 20, s}, {22, math.MaxInt32, 2 * s}},
		wantErr: "ttl: step 2: SizeMin 22 leaves a gap after the step before, which ends at 20",
	}, {
		name: "three steps share a count", reason: "Settle still stops at the nearest",
		steps: []Boundary{{0, 100, 0}, {50, 120, s}, {90, math.MaxInt32, 2 * s}},
	}, {
		name: "first does not begin at 0", reason: "an empty cluster would have no step",
		steps:   []Boundary{{1, math.MaxInt32, 0}},
		wantErr: "ttl: step 0: SizeMin 1 is not 0, which leaves smaller clusters without a step",
	}, {
		name: "first is negative", reason: "there are no such counts",
		steps:   []Boundary{{-1, math.MaxInt32, 0}},
		wantErr: "ttl: step 0: SizeMin -1 is not 0, which leaves smaller clusters without a step",
	}, {
		name: "last ends", reason: "a larger cluster would have no step",
		steps:   []Boundary{{0, 10, 0}, {5, 100, s}},
		wantErr: "ttl: step 1: SizeMax 100 is below math.MaxInt32, which leaves larger clusters without a step",
	}, {
		name: "upside down", reason: "a step that allows no count is never settled in",
		steps:   []Boundary{{0, 10, 0}, {9, 8, s}, {7, math.MaxInt32, 2 * s}},
		wantErr: "ttl: step 1: SizeMin 9 is above SizeMax 8",
	}, {
		name: "SizeMin not ordered", reason: "going down would skip the step",
		steps:   []Boundary{{0, 10, 0}, {5, 20, s}, {5, math.MaxInt32, 2 * s}},
		wantErr: "ttl: step 2: SizeMin 5 is not larger than the previous step's, 5",
	}, {
		name: "SizeMax not ordered", reason: "going up would skip the step",
		steps:   []Boundary{{0, 10, 0}, {5, 10, s}, {7, math.MaxInt32, 2 * s}},
		wantErr: "ttl: step 1: SizeMax 10 is not larger than the previous step's, 10",
	}, {
		name: "TTL not ordered", reason: "a larger cluster must not read more often, and the TTL is what Recover knows a step by",
		steps:   []Boundary{{0, 10, s}, {5, math.MaxInt32, s}},
		wantErr: "ttl: step 1: TTL 1s is not longer than the previous step's, 1s",
	}, {
		name: "TTL negative", reason: "no kubelet reads that",
		steps:   []Boundary{{0, math.MaxInt32, -s}},
		wantErr: "ttl: step 0: TTL -1s is negative",
	}, {
		name: "TTL not whole seconds", reason: "the annotation holds seconds",
		steps:   []Boundary{{0, math.MaxInt32, 1500 * time.Millisecond}},
		wantErr: "ttl: step 0: TTL 1.5s is not in whole seconds",
	}, {
		name: "the first step at fault is named", reason: "one error at a time, in order",
		steps:   []Boundary{{3, 10, 0}, {20, 5, s}},
		wantErr: "ttl: step 0: SizeMin 3 is not 0, which leaves smaller clusters without a step",
	}, {
		name: "largest numbers", reason: "no sum overflows",
		steps:   []Boundary{{0, math.MaxInt, 0}, {math.MinInt, math.MaxInt, s}},
		wantErr: "ttl: step 1: SizeMin -9223372036854775808 is not larger than the previous step's, 0",
	}} {
		t.Run(tc.name, func(t *testing.T) {
			table, err := NewTable(tc.steps...)
			if tc.wantErr != "" {
				require.EqualError(t, err, tc.wantErr, tc.reason)
				require.Equal(t, Table{}, table, "an error comes with the zero Table")
				return
			}
			require.NoError(t, err, tc.reason)
			require.Equal(t, tc.steps, table.Boundaries())
		})
	}
}

func TestTableIsAValue(t *testing.T) {
	defaults := Table{}.Boundaries()
	fromDefaults, err := NewTable(defaults...)
	require.NoError(t, err)
	require.Equal(t, Table{}, fromDefaults, "the default steps make the zero Table")

	steps := []Boundary{{0, 10, 0}, {5, math.MaxInt32, time.Second}}
	table, err := NewTable(steps...)
	require.NoError(t, err)
	again, err := NewTable(steps...)
	require.NoError(t, err)
	require.True(t, table.Equal(again), "equal steps, equal tables")
	require.False(t, table.Equal(Table{}))
	require.Empty(t, cmp.Diff(Options{Table: table}, Options{Table: again}), "go-cmp goes by Equal")

	steps[0].SizeMax = 99
	got := table.Boundaries()
	got[1].TTL = time.Hour
	require.True(t, table.Equal(again), "neither the slice it came from nor the one it gave changes a table")

	defaults[0].TTL = time.Hour
	require.Zero(t, Table{}.TTL(0), "nor is the zero Table changed by its Boundaries")
}
