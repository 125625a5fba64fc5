package ttl

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestRecover(t *testing.T) {
	mixed := func(groups ...[]*corev1.Node) []*corev1.Node {
		all := slices.Concat(groups...)
		for i, n := range all {
			if n != nil {
				all[i] = node("n"+string(rune('a'+i%26))+string(rune('a'+i/26)), absent)
				all[i].Annotations = n.Annotations
			}
		}
		return all
	}
	duplicated := fleet(95, "15")
	for i := range 94 {
		duplicated[i].Annotations[Annotation] = "0"
	}
	for range 200 {
		duplicated = append(duplicated, node("node-00094", "15"))
	}

	for _, tc := range []struct {
		name, reason string
		nodes        []*corev1.Node
		want         int
	}{
		{"none", "an empty cluster is in step 0", nil, 0},
		{"95 annotated 15", "in the overlap of steps 0 and 1 the annotations decide", fleet(95, "15"), 1},
		{"95 annotated 0", "in the overlap of steps 0 and 1 the annotations decide", fleet(95, "0"), 0},
		{"95 not annotated", "a tie: the lowest, as upstream from its start", fleet(95, absent), 0},
		{"95 annotated for a step that is not allowed", "the count rules out step 3", fleet(95, "60"), 0},
		{"95 as strconv.Atoi reads", "+15 is 15", fleet(95, "+15"), 1},
		{"95 not integers", "15s is none", fleet(95, "15s"), 0},
		{"50 annotated 15", "50 nodes are step 0 only", fleet(50, "15"), 0},
		{"100 annotated 0", "step 0 ends at 100", fleet(100, "0"), 0},
		{"101 annotated 0", "101 nodes are step 1 only", fleet(101, "0"), 1},
		{"89 annotated 15", "step 1 ends at 90", fleet(89, "15"), 0},
		{"90 annotated 15", "and 90 is still in it", fleet(90, "15"), 1},
		{"100 annotated 15", "step 0 ends at 100", fleet(100, "15"), 1},
		{"500 annotated 15", "step 1 ends at 500", fleet(500, "15"), 1},
		{"501 annotated 15", "501 nodes are step 2 only", fleet(501, "15"), 2},
		{"1900 annotated 300", "step 4 from 1800 on", fleet(1900, "300"), 4},
		{"1900 annotated 60", "step 3 up to 2000", fleet(1900, "60"), 3},
		{"2400 annotated 60", "2400 nodes are step 4 only", fleet(2400, "60"), 4},
		{"48 of 95 annotated 15", "the majority, since that is the fewest writes", mixed(fleet(48, "15"), fleet(47, "0")), 1},
		{"47 of 95 annotated 15", "the majority, since that is the fewest writes", mixed(fleet(47, "15"), fleet(48, "0")), 0},
		{"46 each of 95", "a tie: the lower", mixed(fleet(46, "15"), fleet(46, "0"), fleet(3, absent)), 0},
		{"one of 95 annotated 15", "the rest says nothing", mixed(fleet(1, "15"), fleet(94, absent)), 1},
		{"nil and nameless nodes", "they are not counted, and their annotations do not count", append(fleet(89, "15"), nil, node("", "15"), nil), 0},
		{"one name many times", "it is one of 95 nodes, and its annotations do not count", duplicated, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, recovered(tc.nodes), tc.reason)
		})
	}
}

// The last step has no upper limit, whatever its SizeMax is.
func TestRecoverBeyondTheLastStep(t *testing.T) {
	steps := table{{SizeMax: 100}, {SizeMin: 90, SizeMax: 200, TTL: time.Minute}}
	require.Equal(t, 1, steps.recover(201, nil))
}
