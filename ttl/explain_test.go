package ttl

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

func TestExplain(t *testing.T) {
	const fifteen = 15 * time.Second
	for _, tc := range []struct {
		name, reason string
		annotation   string
		want         Reason
	}{
		{"missing", "SetTTL writes one", absent, Reason{Code: ReasonAnnotationMissing, Message: "the annotation is missing; it should be 15"}},
		{"not an integer", "as strconv.Atoi reads", "15s", Reason{Code: ReasonAnnotationNotInteger, Message: `"15s" is not an integer; it should be 15`}},
		{"another TTL", "of another step", "0", Reason{Code: ReasonAnnotationDiffers, Message: `the annotation is "0" and should be 15`}},
		{"BR-19-07", "it is right, and not written again", "015", Reason{Code: ReasonAnnotationMatches, Message: `the annotation is "015", as it should be`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := node("a", tc.annotation)
			got, err := NewIndex(Snapshot{Step: 1, Nodes: []*corev1.Node{node("b", "15"), n}}, Options{}).Explain(Key("a"))
			require.NoError(t, err)
			tc.want.Field = "metadata.annotations[node.alpha.kubernetes.io/ttl]"
			want := Explanation{Key: Key("a"), UID: "uid-a", Want: fifteen, Reasons: []Reason{tc.want}}
			if tc.annotation != absent {
				want.Annotation = ptr.To(tc.annotation)
			}
			require.Empty(t, cmp.Diff(want, got), tc.reason)
		})
	}
}

func TestExplainWithoutAnAnswer(t *testing.T) {
	e, err := NewIndex(Snapshot{}, Options{}).Explain(Key("a"))
	require.ErrorIs(t, err, purekube.ErrNotFound)
	require.EqualError(t, err, "Node a: not in the snapshot")
	require.Empty(t, e)

	e, err = NewIndex(Snapshot{Nodes: []*corev1.Node{nil, node("a", "0"), node("a", "15")}}, Options{}).Explain(Key("a"))
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	require.ErrorIs(t, err, purekube.ErrNil)
	require.NotErrorIs(t, err, purekube.ErrNotFound)
	require.Equal(t, Key("a"), e.Key)
	require.Equal(t, []Reason{{Code: ReasonDuplicate, Object: Key("a"),
		Message: "several nodes have this name: they count as one node, and none is written"}}, e.Reasons)
}

func TestExplainStep(t *testing.T) {
	two := fleet(2, "0")
	step1 := Boundary{90, 500, 15 * time.Second}
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		want         StepExplanation
		codes        []Code
		last         string // message
	}{
		{"BR-19-01 first", "no step below it", Snapshot{}, StepExplanation{Boundary: Boundary{0, 100, 0}, UpAt: 101, DownAt: -1}, []Code{ReasonStepKept},
			"step 0 is for 0 to 100 nodes, and there are 0"},
		{"negative", "stands for the first", Snapshot{Step: -3}, StepExplanation{Boundary: Boundary{0, 100, 0}, UpAt: 101, DownAt: -1}, []Code{ReasonStepOutOfRange, ReasonStepKept},
			"step 0 is for 0 to 100 nodes, and there are 0"},
		{"BR-19-05 last", "no step above it", Snapshot{Step: 9, Nodes: fleet(1800, "300")},
			StepExplanation{From: 4, Step: 4, Boundary: Boundary{1800, 2147483647, 300 * time.Second}, Nodes: 1800, DownAt: 1799}, []Code{ReasonStepOutOfRange, ReasonStepKept},
			"step 4 is for 1800 nodes and more, and there are 1800"},
		{"BR-19-06 kept", "in the overlap of two steps the step stays what it was", Snapshot{Step: 1, Nodes: fleet(95, "15")},
			StepExplanation{From: 1, Step: 1, Boundary: step1, Nodes: 95, UpAt: 501, DownAt: 89}, []Code{ReasonStepKept},
			"step 1 is for 90 to 500 nodes, and there are 95"},
		{"the last but one", "the last step is above it", Snapshot{Step: 3, Nodes: fleet(900, "60")},
			StepExplanation{From: 3, Step: 3, Boundary: Boundary{900, 2000, 60 * time.Second}, Nodes: 900, UpAt: 2001, DownAt: 899}, []Code{ReasonStepKept},
			"step 3 is for 900 to 2000 nodes, and there are 900"},
		{"up", "more nodes than it allows", Snapshot{Nodes: fleet(101, "15")},
			StepExplanation{Step: 1, Boundary: step1, Nodes: 101, UpAt: 501, DownAt: 89}, []Code{ReasonStepUp},
			"101 nodes are more than the 100 of step 0"},
		{"down", "fewer nodes than it allows", Snapshot{Step: 2, Nodes: fleet(449, "15")},
			StepExplanation{From: 2, Step: 1, Boundary: step1, Nodes: 449, UpAt: 501, DownAt: 89}, []Code{ReasonStepDown},
			"449 nodes are fewer than the 450 of step 2"},
		{"two nodes of one name", "count as one", Snapshot{Nodes: append(two, two[0])},
			StepExplanation{Boundary: Boundary{0, 100, 0}, Nodes: 2, UpAt: 101, DownAt: -1}, []Code{ReasonStepKept},
			"step 0 is for 0 to 100 nodes, and there are 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := NewIndex(tc.s, Options{}).ExplainStep()
			require.NoError(t, err)
			var codes []Code
			for _, r := range got.Reasons {
				codes = append(codes, r.Code)
				require.NotEmpty(t, r.Message)
			}
			require.Equal(t, tc.codes, codes, tc.reason)
			require.Equal(t, tc.last, got.Reasons[len(got.Reasons)-1].Message)
			got.Reasons = nil
			require.Empty(t, cmp.Diff(tc.want, got), tc.reason)
		})
	}
}
