package ttl

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

func TestPlan(t *testing.T) {
	deleting := node("a", "0")
	deleting.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	for _, tc := range []struct {
		name, reason string
		step         int
		node         *corev1.Node
		want         string // the TTL written; "" for no write
	}{
		{"BR-19-01 missing", "no annotation is written even where the TTL is 0", 0, node("a", absent), "0"},
		{"BR-19-01 right", "0 is 0", 0, node("a", "0"), ""},
		{"BR-19-02", "15 s in step 1", 1, node("a", "0"), "15"},
		{"BR-19-03", "30 s in step 2", 2, node("a", "0"), "30"},
		{"BR-19-04", "60 s in step 3", 3, node("a", "0"), "60"},
		{"BR-19-05", "300 s in step 4", 4, node("a", "0"), "300"},
		{"BR-19-07 right", "the same value is not written again", 1, node("a", "15"), ""},
		{"BR-19-07 with a sign", "strconv.Atoi reads +15 as 15", 1, node("a", "+15"), ""},
		{"BR-19-07 with a zero", "strconv.Atoi reads 015 as 15", 1, node("a", "015"), ""},
		{"BR-19-07 minus zero", "strconv.Atoi reads -0 as 0", 0, node("a", "-0"), ""},
		{"empty", "not an integer", 0, node("a", ""), "0"},
		{"words", "not an integer", 1, node("a", "fifteen"), "15"},
		{"with a unit", "not an integer", 1, node("a", "15s"), "15"},
		{"with a space", "not an integer", 1, node("a", " 15"), "15"},
		{"a fraction", "not an integer", 1, node("a", "15.0"), "15"},
		{"hexadecimal", "not an integer in base 10", 1, node("a", "0xf"), "15"},
		{"underscore", "strconv.Atoi takes none", 1, node("a", "1_5"), "15"},
		{"too large", "does not fit, so it is no integer, whatever its last digits", 1, node("a", "18446744073709551631"), "15"},
		{"negative", "another number", 1, node("a", "-15"), "15"},
		{"being deleted", "upstream writes to it as long as it is there", 1, deleting, "15"},
		{"negative step", "stands for step 0", -1, node("a", "15"), "0"},
		{"step past the table", "stands for the last", 5, node("a", "15"), "300"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := tc.node.DeepCopy()
			got, err := Plan(Snapshot{Step: tc.step, Nodes: []*corev1.Node{node("b", "7"), tc.node}}, Key("a"), Options{})
			require.NoError(t, err)
			require.Equal(t, before, tc.node, "the input is read only")
			if tc.want == "" {
				require.True(t, got.Empty(), tc.reason)
				return
			}
			require.Len(t, got.Actions, 1, tc.reason)
			a := got.Actions[0].(SetTTL)
			require.Equal(t, "a", a.Name)
			require.Equal(t, types.UID("uid-a"), a.UID)
			after := a.Apply(tc.node)
			require.Equal(t, tc.want, after.Annotations[Annotation], tc.reason)
			require.Equal(t, before.Annotations["other"], after.Annotations["other"], "other annotations stay")
		})
	}
}

func TestPlanBadInput(t *testing.T) {
	nameless := node("", "0")
	for _, tc := range []struct {
		name, reason string
		nodes        []*corev1.Node
		key          string
		wantErr      string
		is           error
		actions      int
	}{
		{"no nodes", "an absent node needs nothing", nil, "a", "", nil, 0},
		{"not there", "an absent node needs nothing", []*corev1.Node{node("b", absent)}, "a", "", nil, 0},
		{"nil node", "reported, the rest planned", []*corev1.Node{nil, node("a", absent), nil}, "a",
			"Node: nil object in the snapshot", purekube.ErrNil, 1},
		{"no name", "reported, the rest planned", []*corev1.Node{nameless, node("a", absent)}, "a",
			"Node: metadata.name: required", nil, 1},
		{"empty key", "no node answers to it", []*corev1.Node{nameless}, "",
			"Node: metadata.name: required", nil, 0},
		{"twice", "which of them is real cannot be known", []*corev1.Node{node("a", "0"), node("a", "15"), node("a", "1")}, "a",
			"Node a: several objects in the snapshot have this name", purekube.ErrDuplicate, 0},
		{"another one twice", "not this node's business", []*corev1.Node{node("b", "0"), node("a", absent), node("b", "15")}, "a", "", nil, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Plan(Snapshot{Nodes: tc.nodes}, Key(tc.key), Options{})
			require.Len(t, got.Actions, tc.actions, tc.reason)
			if tc.wantErr == "" {
				require.NoError(t, err, tc.reason)
				return
			}
			require.EqualError(t, err, tc.wantErr, tc.reason)
			var objectError *purekube.ObjectError
			require.ErrorAs(t, err, &objectError)
			require.Equal(t, "Node", objectError.Kind)
			if tc.is != nil {
				require.ErrorIs(t, err, tc.is)
			}
		})
	}
}

func TestPlanAll(t *testing.T) {
	set := func(name string, ttl time.Duration) Outcome {
		return Outcome{Key: Key(name), Result: Result{Actions: []Action{SetTTL{Name: name, UID: types.UID("uid-" + name), TTL: ttl}}}}
	}
	small := WithSteps(Boundary{0, 3, 0}, Boundary{2, 2147483647, time.Minute})

	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		o            Options
		step         int
		want         []Outcome
		wantErrs     map[string]string
		wantErr      string // about the snapshot as a whole
	}{{
		name: "nothing", reason: "an empty cluster is in step 0", step: 0,
	}, {
		name: "sorted", reason: "by the node's name, whatever order they came in",
		s:    Snapshot{Nodes: []*corev1.Node{node("b", "1"), node("a", absent), node("c", "0")}},
		want: []Outcome{set("a", 0), set("b", 0)},
	}, {
		name: "settles first", reason: "four nodes are more than step 0 allows",
		s: Snapshot{Nodes: fleet(4, "60")}, o: small, step: 1,
	}, {
		name: "keeps the step in the overlap", reason: "three nodes are allowed in both",
		s: Snapshot{Step: 1, Nodes: fleet(3, "60")}, o: small, step: 1,
	}, {
		name: "a step past the table", reason: "stands for the last",
		s: Snapshot{Step: 9, Nodes: fleet(3, "60")}, o: small, step: 1,
	}, {
		name: "a negative step", reason: "stands for the first",
		s: Snapshot{Step: -9, Nodes: fleet(3, "0")}, o: small, step: 0,
	}, {
		name: "nil and nameless nodes", reason: "they do not count, and the rest is planned",
		s:       Snapshot{Nodes: []*corev1.Node{nil, node("", "0"), node("x", "9"), node("y", "0"), node("z", "0"), nil}},
		o:       small,
		want:    []Outcome{set("x", 0)},
		wantErr: "Node: nil object in the snapshot\nNode: metadata.name: required",
	}, {
		name: "two nodes of one name", reason: "they count as one node, so four objects are three nodes; neither is written",
		s:        Snapshot{Nodes: []*corev1.Node{node("x", "9"), node("a", "9"), node("y", "0"), node("x", absent)}},
		o:        small,
		want:     []Outcome{set("a", 0), {Key: Key("x")}},
		wantErrs: map[string]string{"x": "Node x: several objects in the snapshot have this name"},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.step, NewIndex(tc.s, tc.o).Step(), tc.reason)
			got, whole := PlanAll(tc.s, tc.o)
			require.Equal(t, tc.wantErr, errText(whole), tc.reason)
			errs := map[string]string{}
			for i := range got {
				if got[i].Err != nil {
					errs[got[i].Key.Name] = got[i].Err.Error()
					got[i].Err = nil
				}
			}
			require.Equal(t, tc.want, got, tc.reason)
			if tc.wantErrs == nil {
				tc.wantErrs = map[string]string{}
			}
			require.Equal(t, tc.wantErrs, errs, tc.reason)
		})
	}
}
