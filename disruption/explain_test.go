package disruption

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

func TestExplain(t *testing.T) {
	s := web(budget(maxUnavailable("1"), reported(9, 9, 9), disrupted(map[string]metav1.Time{"c": ago(time.Minute)})), 3,
		pod("d", byWeb, unready), pod("a", byWeb), pod("b", by("apps/v1", "ReplicaSet", "web-old"), deleting), pod("c", byWeb), pod("e"),
		pod("f", by("apps/v1", "StatefulSet", "db")))
	s.Pods[1].Spec.NodeName = "node-1"
	s.ReplicaSets = append(s.ReplicaSets, replicaSet("web-old", "web", ptr.To(int32(0))))
	s.StatefulSets = []*appsv1.StatefulSet{statefulSet("db", nil)}
	got, err := Explain(s, key("web"), Options{})
	require.NoError(t, err)
	want := Explanation{
		Key: key("web"), Rule: "maxUnavailable 1", Selector: "app=web",
		Computed: Counts{ExpectedPods: 4, DesiredHealthy: 3, CurrentHealthy: 3},
		Reported: Counts{DesiredHealthy: 9, CurrentHealthy: 9, DisruptionsAllowed: 9},
		Pods: []PodHealth{
			{Name: "a", Node: "node-1", Health: Healthy},
			{Name: "b", Health: BeingDeleted},
			{Name: "c", Health: BeingEvicted, Until: now.Add(time.Minute)},
			{Name: "d", Health: NotReady},
			{Name: "e", Health: Healthy},
			{Name: "f", Health: Healthy},
		},
		Controllers: []ControllerScale{
			{Kind: "Deployment", Name: "web", Through: []string{"ReplicaSet web-old", "ReplicaSet web-rs"}, Scale: 3},
			{Kind: "StatefulSet", Name: "db", Through: []string{"StatefulSet db"}, Scale: 1},
		},
		Unmanaged: []string{"e"},
		Shortfall: 1,
		Reasons: []Reason{
			{Code: TooFewHealthy, Message: "nothing may be disrupted: 3 healthy, 3 desired"},
			{Code: StatusOutdated, Field: "status", Message: "the status says 9 allowed, 9 healthy, 9 desired, 0 expected"},
			{Code: PodNotReady, Object: nn("d"), Message: "pod d: not ready"},
			{Code: PodBeingDeleted, Object: nn("b"), Message: "pod b: being deleted"},
			{Code: PodBeingEvicted, Object: nn("c"), Message: "pod c: being evicted, and expected to be gone by 2026-11-21T12:01:00Z"},
			{Code: PodUnmanaged, Object: nn("e"), Message: "pod e has no controller: it counts, and is not expected"},
		},
	}
	require.Empty(t, cmp.Diff(want, got))
	require.True(t, got.Blocks())
	require.Equal(t, "nothing may be disrupted: 3 healthy, 3 desired", got.Reasons[0].Message)
}

func TestExplainWhy(t *testing.T) {
	lookedUp := func(s Snapshot, scale Scale) Snapshot {
		s.Scales = map[ScaleKey]Scale{{"x", "Y", ns, "y"}: scale}
		return s
	}
	custom := by("x/v1", "Y", "y")
	for _, tc := range []struct {
		name   string
		s      Snapshot
		want   string
		blocks bool
		err    bool
		more   func(t *testing.T, e Explanation)
	}{
		{name: "some allowed", s: web(budget(maxUnavailable("1")), 3, pods(3, 3, byWeb)...),
			want: "1 may be disrupted: 3 healthy, 2 desired"},
		{name: "all have to stay", s: web(budget(minAvailable("100%")), 3, pods(3, 3, byWeb)...), blocks: true,
			want: "nothing may ever be disrupted: all pods that are expected have to stay healthy (3)"},
		{name: "covers none", s: web(budget(minAvailable("1")), 3), blocks: true,
			want: "nothing may be disrupted: the budget covers no pod"},
		{name: "none expected", s: web(budget(maxUnavailable("1")), 0, pods(1, 1, byWeb)...), blocks: true,
			want: "nothing may be disrupted: no pods are expected"},
		{name: "needs", s: web(budget(maxUnavailable("1"), reported(3, 2, 1)), 3, pods(3, 3, custom)...),
			want: "controllers to look up first: 1", more: func(t *testing.T, e Explanation) {
				require.Len(t, e.Needs, 1)
				require.False(t, e.UpToDate)
				require.Zero(t, e.Computed)
				require.Equal(t, "its scale is not in the snapshot", e.Controllers[0].Problem)
			}},
		{name: "controller gone", s: lookedUp(web(budget(maxUnavailable("1")), 3, pods(3, 3, custom)...), Scale{}), blocks: true, err: true,
			want: `nothing may be disrupted because the budget cannot be computed: found no controllers for pod "web-a"`,
			more: func(t *testing.T, e Explanation) {
				require.Equal(t, []ControllerScale{{Kind: "Y", Name: "y", Through: []string{"Y y"}, Problem: "not found, or another one of that name", Code: ControllerNotFound}}, e.Controllers)
			}},
		{name: "no scale", s: lookedUp(web(budget(maxUnavailable("1")), 3, pods(3, 3, custom)...), Scale{Err: "ys.x does not implement the scale subresource"}), blocks: true, err: true,
			want: "nothing may be disrupted because the budget cannot be computed: ys.x does not implement the scale subresource",
			more: func(t *testing.T, e Explanation) {
				require.Equal(t, "ys.x does not implement the scale subresource", e.Controllers[0].Problem)
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, err := Explain(tc.s, key("web"), Options{})
			require.Equal(t, tc.err, err != nil, "%v", err)
			require.Equal(t, tc.want, e.Reasons[0].Message)
			require.Equal(t, tc.blocks, e.Blocks())
			if tc.more != nil {
				tc.more(t, e)
			}
		})
	}
}

func TestExplainUpToDateAndBadInput(t *testing.T) {
	s := web(budget(maxUnavailable("1")), 3, pods(3, 3, byWeb)...)
	r, err := Plan(s, key("web"), Options{})
	require.NoError(t, err)
	s.Budgets[0] = r.Actions[0].(UpdateStatus).Budget
	e, err := Explain(s, key("web"), Options{})
	require.NoError(t, err)
	require.True(t, e.UpToDate)
	require.Equal(t, e.Reported, e.Computed)

	e, err = Explain(s, key("gone"), Options{})
	require.EqualError(t, err, "PodDisruptionBudget shop/gone: not in the snapshot")
	require.ErrorIs(t, err, purekube.ErrNotFound)
	require.Zero(t, e)

	s.Pods = append(s.Pods, pod("web-a", byWeb))
	e, err = Explain(s, key("web"), Options{})
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	require.Equal(t, PodHealth{Name: "web-a", Health: Ambiguous}, e.Pods[0])
	require.Len(t, e.Pods, 3)

	s.Budgets = append(s.Budgets, s.Budgets[0])
	e, err = Explain(s, key("web"), Options{})
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	require.Zero(t, e)

	e, err = Explain(Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget()}, Pods: []*corev1.Pod{pod("a")}}, key("web"), Options{})
	require.NoError(t, err)
	require.Empty(t, e.Rule)
	require.Empty(t, e.Controllers, "no scale is asked for")
}

// Beyond a few, references are found through a map.
func TestExplainManyControllers(t *testing.T) {
	s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}}
	for range 2 {
		for i := range 3 * fewReferences {
			name := fmt.Sprintf("db%d", i)
			s.Pods = append(s.Pods, pod(fmt.Sprintf("%s-%d", name, len(s.Pods)), by("apps/v1", "StatefulSet", name)))
			if len(s.StatefulSets) < 3*fewReferences {
				s.StatefulSets = append(s.StatefulSets, statefulSet(name, ptr.To(int32(2))))
			}
		}
	}
	e, err := Explain(s, key("web"), Options{})
	require.NoError(t, err)
	require.Len(t, e.Controllers, 3*fewReferences)
	for _, c := range e.Controllers {
		require.Len(t, c.Through, 1, "each is asked once")
	}
	require.EqualValues(t, 6*fewReferences, e.Computed.ExpectedPods)

	c := newPlanner(s, Options{})
	counted, _ := c.only(nn("web"))
	require.Len(t, counted.refs, 3*fewReferences, "and held once")
}
