package disruption

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
)

func TestExplain(t *testing.T) {
	s := web(budget(maxUnavailable("1"), reported(9, 9, 9), disrupted(map[string]metav1.Time{"c": ago(time.Minute)})), 3,
		pod("d", byWeb, unready), pod("a", byWeb), pod("b", by("apps/v1", "ReplicaSet", "web-old"), deleting), pod("c", byWeb), pod("e"),
		pod("0", by("apps/v1", "StatefulSet", "db")))
	s.Pods[1].Spec.NodeName = "node-1"
	s.ReplicaSets = append(s.ReplicaSets, replicaSet("web-old", "web", ptr.To(int32(0))))
	s.StatefulSets = []*appsv1.StatefulSet{statefulSet("db", nil)}
	got, err := NewIndex(s, Options{}).Explain(key("web"))
	require.NoError(t, err)
	want := Explanation{Key: key("web"),
		Reasons: []Reason{
			{Code: ReasonInsufficientPods, Message: "nothing may be disrupted: 3 healthy, 3 desired"},
			{Code: ReasonStatusOutdated, Field: "status", Message: "the status says 9 allowed, 9 healthy, 9 desired, 0 expected"},
			{Code: ReasonPodNotReady, Object: PodKey(ns, "d"), Message: "pod d: not ready"},
			{Code: ReasonPodBeingDeleted, Object: PodKey(ns, "b"), Message: "pod b: being deleted"},
			{Code: ReasonPodBeingEvicted, Object: PodKey(ns, "c"), Message: "pod c: being evicted, and must be deleted by 2026-11-21T12:01:00Z"},
			{Code: ReasonPodUnmanaged, Object: PodKey(ns, "e"), Message: "pod e has no controller: it counts as healthy but not as expected"},
		},
		Budget: &BudgetExplanation{Rule: "maxUnavailable 1", Selector: "app=web",
			Computed: Counts{ExpectedPods: 4, DesiredHealthy: 3, CurrentHealthy: 3},
			Reported: Counts{DesiredHealthy: 9, CurrentHealthy: 9, DisruptionsAllowed: 9},
			Pods: []PodHealth{
				{Name: "0", Health: Healthy},
				{Name: "a", Node: "node-1", Health: Healthy},
				{Name: "b", Health: BeingDeleted},
				{Name: "c", Health: BeingEvicted, Until: now.Add(time.Minute)},
				{Name: "d", Health: NotReady},
				{Name: "e", Health: Healthy},
			},
			Controllers: []ControllerScale{
				{Kind: "Deployment", Name: "web", Through: []string{"ReplicaSet web-old", "ReplicaSet web-rs"}, Scale: 3},
				{Kind: "StatefulSet", Name: "db", Through: []string{"StatefulSet db"}, Scale: 1},
			},
			Unmanaged: []string{"e"},
			Shortfall: 1,
		}}
	require.Empty(t, cmp.Diff(want, got))
	require.True(t, got.Budget.Blocks())
	require.Equal(t, "nothing may be disrupted: 3 healthy, 3 desired", got.Reasons[0].Message)
}

func TestExplainWhy(t *testing.T) {
	lookedUp := func(s Snapshot, scale purekube.Answer) Snapshot {
		s.Answers = map[purekube.Need]purekube.Answer{scaleNeed("x", "Y", ns, "y"): scale}
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
		{name: "neither field", s: web(budget(), 3, pods(3, 3, byWeb)...), blocks: true,
			want: "nothing may ever be disrupted: the budget sets neither minAvailable nor maxUnavailable"},
		{name: "no controller", s: web(budget(maxUnavailable("1")), 3, pod("a")), blocks: true,
			want: "nothing may ever be disrupted: the pods have no controller with a scale"},
		{name: "one pod expected", s: web(budget(minAvailable("1")), 1, pods(1, 1, byWeb)...), blocks: true,
			want: "nothing may ever be disrupted: 1 pod expected, and 1 must stay healthy"},
		{name: "the counts of the status", s: web(budget(maxUnavailable("1"), reported(3, 2, 1), func(b *policyv1.PodDisruptionBudget) {
			b.Status.ExpectedPods = 3
		}), 3, pods(3, 3, byWeb)...),
			want: "1 may be disrupted: 3 healthy, 2 desired", more: func(t *testing.T, e Explanation) {
				require.Equal(t, []Reason{{Code: ReasonStatusOutdated, Field: "status",
					Message: "the status counts are correct, but its conditions or disrupted pods are out of date"}}, e.Reasons[1:])
			}},
		{name: "no ReplicaSet", s: Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}, Pods: pods(2, 2, byWeb)}, blocks: true,
			want: "not computed: you must look up the scale of 1 controller first", more: func(t *testing.T, e Explanation) {
				require.Equal(t, []Reason{{Code: ReasonScaleNotKnown, Object: purekube.Key{Kind: "ReplicaSet", Namespace: ns, Name: "web-rs"},
					Message: "ReplicaSet web-rs: it is not in the snapshot"}}, e.Reasons[1:])
			}},
		{name: "no Deployment", s: Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}, Pods: pods(2, 2, byWeb),
			ReplicaSets: []*appsv1.ReplicaSet{replicaSet("web-rs", "web", nil)}}, blocks: true,
			want: "not computed: you must look up the scale of 1 controller first", more: func(t *testing.T, e Explanation) {
				require.Equal(t, []Reason{{Code: ReasonScaleNotKnown, Object: purekube.Key{Kind: "Deployment", Namespace: ns, Name: "web"},
					Message: "Deployment web: its scale is not in the snapshot"}}, e.Reasons[1:])
				require.Equal(t, []string{"ReplicaSet web-rs"}, e.Budget.Controllers[0].Through)
			}},
		{name: "some allowed", s: web(budget(maxUnavailable("1")), 3, pods(3, 3, byWeb)...),
			want: "1 may be disrupted: 3 healthy, 2 desired"},
		{name: "all have to stay", s: web(budget(minAvailable("100%")), 3, pods(3, 3, byWeb)...), blocks: true,
			want: "nothing may ever be disrupted: 3 pods expected, and 3 must stay healthy"},
		{name: "covers none", s: web(budget(minAvailable("1")), 3), blocks: true,
			want: "nothing may be disrupted: the budget selects no pod"},
		{name: "none expected", s: web(budget(maxUnavailable("1")), 0, pods(1, 1, byWeb)...), blocks: true,
			want: "nothing may be disrupted: no pods are expected"},
		{name: "needs", s: web(budget(maxUnavailable("1"), reported(3, 2, 1)), 3, pods(3, 3, custom)...), blocks: true,
			want: "not computed: you must look up the scale of 1 controller first", more: func(t *testing.T, e Explanation) {
				require.Len(t, e.Budget.Needs, 1)
				require.False(t, e.Budget.UpToDate)
				require.Zero(t, e.Budget.Computed)
				require.Equal(t, []Reason{{Code: ReasonScaleNotKnown, Object: purekube.Key{Kind: "Y", Namespace: ns, Name: "y"},
					Message: "Y y: its scale is not in the snapshot"}}, e.Reasons[1:])
			}},
		{name: "controller gone", s: lookedUp(web(budget(maxUnavailable("1")), 3, pods(3, 3, custom)...), purekube.Answer{}), blocks: true, err: true,
			want: `nothing may be disrupted: the budget cannot be computed: found no controllers for pod "web-a"`,
			more: func(t *testing.T, e Explanation) {
				require.Equal(t, []ControllerScale{{Kind: "Y", Name: "y", Through: []string{"Y y"}, Problem: "not found, or another object has its name", Code: ReasonControllerNotFound}}, e.Budget.Controllers)
			}},
		{name: "no scale", s: lookedUp(web(budget(maxUnavailable("1")), 3, pods(3, 3, custom)...), purekube.Answer{Err: errors.New("ys.x does not implement the scale subresource")}), blocks: true, err: true,
			want: "nothing may be disrupted: the budget cannot be computed: ys.x does not implement the scale subresource",
			more: func(t *testing.T, e Explanation) {
				require.Equal(t, "ys.x does not implement the scale subresource", e.Budget.Controllers[0].Problem)
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, err := NewIndex(tc.s, Options{}).Explain(key("web"))
			require.Equal(t, tc.err, err != nil, "%v", err)
			require.Equal(t, tc.want, e.Reasons[0].Message)
			require.Equal(t, tc.blocks, e.Budget.Blocks())
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
	e, err := NewIndex(s, Options{}).Explain(key("web"))
	require.NoError(t, err)
	require.True(t, e.Budget.UpToDate)
	require.Equal(t, e.Budget.Reported, e.Budget.Computed)
	require.Len(t, e.Reasons, 1, "nothing is out of date")

	e, err = NewIndex(s, Options{}).Explain(key("gone"))
	require.EqualError(t, err, "PodDisruptionBudget shop/gone: not in the snapshot")
	require.ErrorIs(t, err, purekube.ErrNotFound)
	require.Zero(t, e)

	s.Pods = append(s.Pods, pod("web-a", byWeb))
	e, err = NewIndex(s, Options{}).Explain(key("web"))
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	require.Equal(t, "Pod shop/web-a: several objects in the snapshot have this name", e.Budget.Failure)
	require.Len(t, e.Budget.Pods, 2)
	e, err = NewIndex(s, Options{}).Explain(podNamed("web-a"))
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	require.Equal(t, ReasonDuplicate, e.Reasons[0].Code)
	require.NotNil(t, e.Pod)
	require.Nil(t, e.Budget)

	s.Budgets = append(s.Budgets, s.Budgets[0])
	e, err = NewIndex(s, Options{}).Explain(key("web"))
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	require.Equal(t, []Reason{{Code: ReasonDuplicate, Object: key("web"), Message: "several objects in the snapshot have this name: nothing is planned for this name"}}, e.Reasons)
	require.True(t, e.Budget.Blocks(), "no eviction is allowed")

	e, err = NewIndex(Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget()}, Pods: []*corev1.Pod{pod("a")}}, Options{}).Explain(key("web"))
	require.NoError(t, err)
	require.Empty(t, e.Budget.Rule)
	require.Empty(t, e.Budget.Controllers, "no scale is asked for")
}

// An entry of status.disruptedPods counts in the list of pods as it does in the numbers.
func TestExplainHealthByEntries(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		age, created time.Duration // of the entry and of the pod
		o            Options
		want         Health
	}{
		{name: "evicted", reason: "the entry counts", age: 2*time.Minute - 1, created: time.Hour, want: BeingEvicted},
		{name: "evicted two minutes ago", reason: "the entry counts no more", age: 2 * time.Minute, created: time.Hour, want: Healthy},
		{name: "evicted two minutes ago, as upstream", reason: "the entry stays, and the pod counts (D-19)", age: 2 * time.Minute, created: time.Hour,
			o: Options{MatchUpstream: purekube.V1_36}, want: Healthy},
		{name: "recreated", reason: "the entry is about another pod (D-14)", age: time.Minute, created: 30 * time.Second, want: Healthy},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := web(budget(minAvailable("1"), disrupted(map[string]metav1.Time{"a": ago(tc.age)})), 1, pod("a", byWeb, created(tc.created)))
			e, err := NewIndex(s, tc.o).Explain(key("web"))
			require.NoError(t, err)
			require.Equal(t, tc.want, e.Budget.Pods[0].Health, tc.reason)
			require.Equal(t, tc.want == Healthy, e.Budget.Computed.CurrentHealthy == 1)
		})
	}
}

func TestBlocksWhileThereAreNeeds(t *testing.T) {
	e := BudgetExplanation{Computed: Counts{DisruptionsAllowed: 1}}
	require.False(t, e.Blocks())
	e.Needs = []purekube.Need{objectNeed(ns, "web-rs")}
	require.True(t, e.Blocks(), "nobody evicts on an open question, whatever the counts say")
}

func TestExplainManyControllers(t *testing.T) {
	s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}}
	for range 2 {
		for i := range 24 {
			name := fmt.Sprintf("db%d", i)
			s.Pods = append(s.Pods, pod(fmt.Sprintf("%s-%d", name, len(s.Pods)), by("apps/v1", "StatefulSet", name)))
			if len(s.StatefulSets) < 24 {
				s.StatefulSets = append(s.StatefulSets, statefulSet(name, ptr.To(int32(2))))
			}
		}
	}
	e, err := NewIndex(s, Options{}).Explain(key("web"))
	require.NoError(t, err)
	require.Len(t, e.Budget.Controllers, 24)
	for _, c := range e.Budget.Controllers {
		require.Len(t, c.Through, 1, "each is asked once")
	}
	require.EqualValues(t, 48, e.Budget.Computed.ExpectedPods)
}

func TestExplainPod(t *testing.T) {
	all := budget(named("all"), selecting(&metav1.LabelSelector{}))
	for _, tc := range []struct {
		name, reason string
		pod          *corev1.Pod
		budgets      []*policyv1.PodDisruptionBudget
		want         []Code
		object       string
	}{
		{name: "nothing", reason: "no plan of its own", pod: pod("a"), want: []Code{ReasonNoDisruptionTarget, ReasonNoPodDisruptionBudget}},
		{name: "one budget", reason: "it is asked when the pod is evicted", pod: pod("a"), budgets: []*policyv1.PodDisruptionBudget{budget()},
			want: []Code{ReasonNoDisruptionTarget, ReasonPodDisruptionBudget}, object: "web"},
		{name: "two budgets", reason: "it cannot be evicted", pod: pod("a"), budgets: []*policyv1.PodDisruptionBudget{budget(), all},
			want: []Code{ReasonNoDisruptionTarget, ReasonMultiplePodDisruptionBudgets}, object: "all"},
		{name: "recent", reason: "the pod may be deleted any moment", pod: pod("a", target("True", "x", time.Second)), want: []Code{ReasonDisruptionTargetRecent, ReasonNoPodDisruptionBudget}},
		{name: "stale", reason: "the pod was not deleted", pod: pod("a", target("True", "x", time.Hour)), want: []Code{ReasonDisruptionTargetStale, ReasonNoPodDisruptionBudget}},
		{name: "being deleted", reason: "the condition is right", pod: pod("a", target("True", "x", time.Hour), deleting), want: []Code{ReasonDisruptionTargetInUse, ReasonNoPodDisruptionBudget}},
		{name: "False", reason: "cleared already", pod: pod("a", target("False", "", time.Hour)), want: []Code{ReasonNoDisruptionTarget, ReasonNoPodDisruptionBudget}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, err := NewIndex(Snapshot{Now: now, Pods: []*corev1.Pod{tc.pod}, Budgets: tc.budgets}, Options{}).Explain(podNamed("a"))
			require.NoError(t, err)
			require.Equal(t, podNamed("a"), e.Key)
			require.Equal(t, tc.want, []Code{e.Reasons[0].Code, e.Reasons[1].Code}, tc.reason)
			require.Len(t, e.Reasons, 2)
			require.Equal(t, tc.object, e.Reasons[1].Object.Name)
			require.Len(t, e.Pod.Budgets, len(tc.budgets))
			require.Equal(t, "status.conditions", e.Reasons[0].Field)
			require.Equal(t, map[Code]string{
				ReasonNoDisruptionTarget:     "the condition DisruptionTarget is not True",
				ReasonDisruptionTargetInUse:  "the condition DisruptionTarget stays: the pod is being deleted or has ended, or the kubelet set it",
				ReasonDisruptionTargetRecent: "the pod is about to be deleted: the condition DisruptionTarget stays until 2026-11-21T12:01:59Z",
				ReasonDisruptionTargetStale:  "the pod was not deleted in time: the condition DisruptionTarget is set to False",
			}[tc.want[0]], e.Reasons[0].Message)
			require.Equal(t, map[Code]string{
				ReasonNoPodDisruptionBudget:        "no PodDisruptionBudget selects the pod",
				ReasonPodDisruptionBudget:          "PodDisruptionBudget web selects the pod",
				ReasonMultiplePodDisruptionBudgets: "2 PodDisruptionBudgets select the pod: it cannot be evicted",
			}[tc.want[1]], e.Reasons[1].Message)
		})
	}
	_, err := NewIndex(Snapshot{Now: now}, Options{}).Explain(podNamed("a"))
	require.ErrorIs(t, err, purekube.ErrNotFound)
	_, err = NewIndex(Snapshot{Now: now}, Options{}).Explain(purekube.Key{Kind: "Node", Name: "a"})
	require.EqualError(t, err, "Node a: not in the snapshot")
}

func TestNeverAndShortfall(t *testing.T) {
	custom := by("x/v1", "Y", "y")
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		never        bool
		shortfall    int32
		code         Code
	}{
		{name: "one may go", reason: "nothing is missing", s: web(budget(maxUnavailable("1")), 3, pods(3, 3, byWeb)...), code: ReasonDisruptionsAllowed},
		{name: "a pod that has ended is still ready", reason: "one may go now, although none may once it is gone",
			s: web(budget(maxUnavailable("0")), 3, append(pods(3, 3, byWeb), pod("z", byWeb, phase(corev1.PodFailed)))...), code: ReasonDisruptionsAllowed},
		{name: "the only pod is not ready", reason: "it takes that one", s: web(budget(maxUnavailable("1")), 1, pods(1, 0, byWeb)...), shortfall: 1,
			code: ReasonInsufficientPods},
		{name: "one is not ready", reason: "it takes that one", s: web(budget(maxUnavailable("1")), 3, pods(3, 2, byWeb)...), shortfall: 1, code: ReasonInsufficientPods},
		{name: "none is ready", reason: "it takes three", s: web(budget(maxUnavailable("1")), 3, pods(3, 0, byWeb)...), shortfall: 3, code: ReasonInsufficientPods},
		{name: "maxUnavailable 0", reason: "no number of pods suffices", s: web(budget(maxUnavailable("0")), 3, pods(3, 3, byWeb)...), never: true, code: ReasonNeverAllowed},
		{name: "maxUnavailable 0%", reason: "no number of pods suffices", s: web(budget(maxUnavailable("0%")), 3, pods(3, 1, byWeb)...), never: true, code: ReasonNeverAllowed},
		{name: "maxUnavailable 0, unmanaged", reason: "no number of pods suffices", s: web(budget(maxUnavailable("0")), 3, pod("a")), never: true, code: ReasonNeverAllowed},
		{name: "maxUnavailable 1, unmanaged", reason: "nobody ever expects them", s: web(budget(maxUnavailable("1")), 3, pod("a"), pod("b")), never: true, code: ReasonNeverAllowed},
		{name: "100%", reason: "no number of pods suffices", s: web(budget(minAvailable("100%")), 3, pods(3, 2, byWeb)...), never: true, code: ReasonNeverAllowed},
		{name: "67% of 3", reason: "two thirds and a bit of three are all of them; a fourth would do",
			s: web(budget(minAvailable("67%")), 3, pods(3, 3, byWeb)...), never: true, shortfall: 1, code: ReasonNeverAllowed},
		{name: "50% of 1", reason: "half of one is one", s: web(budget(minAvailable("50%")), 1, pods(1, 1, byWeb)...), never: true, shortfall: 1, code: ReasonNeverAllowed},
		{name: "3 of 3", reason: "a fourth would do", s: web(budget(minAvailable("3")), 3, pods(3, 3, byWeb)...), never: true, shortfall: 1, code: ReasonNeverAllowed},
		{name: "3 of 5, three there", reason: "the scale-up is under way", s: web(budget(minAvailable("3")), 5, pods(3, 3, byWeb)...), shortfall: 1, code: ReasonInsufficientPods},
		{name: "3 of 3, four there", reason: "one is more than wanted and not ready", s: web(budget(minAvailable("3")), 3, pods(4, 3, byWeb)...), shortfall: 1, code: ReasonInsufficientPods},
		{name: "scaled to zero", reason: "it may be scaled up", s: web(budget(maxUnavailable("1")), 0, pods(1, 1, byWeb)...), code: ReasonNoPodsExpected},
		{name: "scaled to zero, maxUnavailable 0", reason: "no scale suffices", s: web(budget(maxUnavailable("0")), 0, pods(1, 1, byWeb)...), never: true, code: ReasonNeverAllowed},
		{name: "a pod of the Deployment itself", reason: "the ReplicaSet has its three beside it, and three have to stay", shortfall: 2, code: ReasonInsufficientPods,
			s: web(budget(minAvailable("100%")), 3, pod("a", byWeb), pod("b", by("apps/v1", "Deployment", "web")), pod("c", byWeb, unready))},
		{name: "a pod without a controller is there too, and all have to stay", reason: "the ReplicaSet has its three beside it",
			s: web(budget(minAvailable("4")), 3, append(pods(3, 3, byWeb), pod("z"))...), never: true, shortfall: 1, code: ReasonNeverAllowed},
		{name: "of another group's Deployment, all have to stay", reason: "its pods are those that it wants", never: true, shortfall: 1, code: ReasonNeverAllowed,
			s: Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("3"))}, Pods: pods(3, 3, by("x/v1", "Deployment", "y")),
				Answers: map[purekube.Need]purekube.Answer{scaleNeed("x", "Deployment", ns, "y"): scaleOf("uid-y", 3)}}},
		{name: "a pod of unknown controller beside unmanaged ones", reason: "its controller may be scaled up", s: web(budget(maxUnavailable("1")), 3, pod("a"), nil),
			code: ReasonSyncFailed},
		{name: "no pods, a number", reason: "three would do", s: web(budget(minAvailable("2")), 3), shortfall: 3, code: ReasonNoPods},
		{name: "neither", reason: "nothing is expected, so nothing is allowed", s: web(budget(), 3, pods(3, 3, byWeb)...), never: true, code: ReasonNeverAllowed},
		{name: "a number, scale not known", reason: "it may be more than there are", s: web(budget(minAvailable("3")), 3, pods(3, 3, custom)...), shortfall: 1, code: ReasonInsufficientPods},
		{name: "needs", reason: "not known yet", s: web(budget(maxUnavailable("1")), 3, pods(3, 3, custom)...), code: ReasonScalesNotKnown},
		{name: "needs, maxUnavailable 0", reason: "whatever they bring", s: web(budget(maxUnavailable("0")), 3, pods(3, 3, custom)...), never: true, code: ReasonScalesNotKnown},
		{name: "pods of a Job, maxUnavailable 0", reason: "no number of pods suffices, and Jobs have no scale",
			s: web(budget(maxUnavailable("0")), 3, pods(3, 3, by("batch/v1", "Job", "j"))...), never: true, code: ReasonNeverAllowed},
		{name: "a pod of a Job beside others, 0%", reason: "the same", s: web(budget(maxUnavailable("0%")), 3, pod("a", byWeb), pod("b", by("batch/v1", "Job", "j"))),
			never: true, code: ReasonNeverAllowed},
		{name: "a pod of a Job, 100%", reason: "a percentage of no scale cannot be computed", s: web(budget(minAvailable("100%")), 3, pod("b", by("batch/v1", "Job", "j"))),
			never: true, code: ReasonSyncFailed},
		{name: "pods of a Job, a number", reason: "the Job may have one more", s: web(budget(minAvailable("3")), 3, pods(3, 3, by("batch/v1", "Job", "j"))...),
			shortfall: 1, code: ReasonInsufficientPods},
		{name: "no pods", reason: "none could go", s: web(budget(maxUnavailable("1")), 3), code: ReasonNoPods},
		{name: "not a percentage", reason: "nothing is allowed until somebody fixes it", s: web(budget(maxUnavailable("x")), 3, pods(3, 3, byWeb)...), never: true, code: ReasonSyncFailed},
		{name: "not a selector", reason: "no pod is covered, so none is held", code: ReasonSyncFailed,
			s: web(budget(maxUnavailable("0"), selecting(expression("app", "Like"))), 3, pods(3, 3, byWeb)...)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, _ := NewIndex(tc.s, Options{}).Explain(key("web"))
			require.Equal(t, tc.never, e.Budget.Never, tc.reason)
			require.Equal(t, tc.shortfall, e.Budget.Shortfall, tc.reason)
			require.Equal(t, tc.code, e.Reasons[0].Code, tc.reason)
		})
	}
}

// A pod that has ended, or that is being deleted, never becomes healthy: with or without it, the budget never allows a
// disruption.
func TestNeverBesideEndedPods(t *testing.T) {
	budgets := map[string]func(*policyv1.PodDisruptionBudget){
		"maxUnavailable 0": maxUnavailable("0"), "maxUnavailable 0%": maxUnavailable("0%"), "minAvailable 3": minAvailable("3"),
		"minAvailable 80%": minAvailable("80%"), "minAvailable 100%": minAvailable("100%"),
	}
	ended := map[string]func(*corev1.Pod){"Failed": phase(corev1.PodFailed), "Succeeded": phase(corev1.PodSucceeded), "deleting": deleting}
	for spec, value := range budgets {
		for state, end := range ended {
			for _, owner := range []func(*corev1.Pod){byWeb, func(*corev1.Pod) {}} {
				s := web(budget(value), 3, append(pods(3, 3, byWeb), pod("old", owner, unready, end))...)
				got, err := NewIndex(s, Options{}).Explain(key("web"))
				require.NoError(t, err)
				require.True(t, got.Budget.Never, "%s, %s pod: %v", spec, state, got.Reasons)
				running := s
				running.Pods = append(pods(3, 3, byWeb), pod("old", owner, unready))
				ends, _ := NewIndex(running, Options{}).With(Snapshot{Pods: []*corev1.Pod{s.Pods[3]}})
				again, err := ends.Explain(key("web"))
				require.NoError(t, err)
				require.True(t, again.Budget.Never, "%s: a pod that ends is counted in the Index", spec)
			}
		}
	}
}

// NeverAllowed is the budgets whose explanation says Never, also with wrong objects, and after changes.
func TestPropNeverAllowed(t *testing.T) {
	found := 0
	forEachSnapshot(t, 600, true, func(g generator, s Snapshot, o Options) error {
		x := NewIndex(s, o)
		if len(s.Pods) > 0 && g.IntN(2) == 0 {
			x, _ = x.Without(Snapshot{Pods: s.Pods[:g.IntN(len(s.Pods))]})
		}
		got, err := x.NeverAllowed()
		if err != nil {
			return err
		}
		explanations, _ := x.ExplainAll()
		var want []types.NamespacedName
		for _, e := range explanations {
			if e.Budget != nil && e.Budget.Never {
				want = append(want, e.Key.NamespacedName())
			}
		}
		found += len(got)
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("(-ExplainAll +NeverAllowed): %s", diff)
		}
		return nil
	})
	require.NotZero(t, found)
	_, err := NewIndex(Snapshot{}, Options{MaxUnavailableRounding: "x"}).NeverAllowed()
	require.ErrorIs(t, err, ErrUnknownRounding)
}

// What Never says is so: with every pod that the controllers want there and healthy, none may go; and
// where it does not, one may.
func TestPropNever(t *testing.T) {
	seen := map[bool]int{}
	forEachSnapshot(t, 600, false, func(g generator, s Snapshot, o Options) error {
		for _, b := range s.Budgets {
			e, err := NewIndex(s, o).Explain(KeyOf(b))
			if err != nil || len(e.Budget.Needs) > 0 || len(e.Budget.Pods) == 0 || e.Budget.Computed.ExpectedPods <= 0 || e.Budget.Computed.ExpectedPods > 100 {
				continue
			}
			full := deepCopy(s)
			// through are the controllers by the references that lead to them. One may be there twice: its object and the
			// answer to a lookup may be of two moments.
			through, scales := map[string]string{}, map[string]int32{}
			complete := true
			for _, c := range e.Budget.Controllers {
				controller := c.Kind + " " + c.Name
				complete, scales[controller] = complete && c.Problem == "", max(scales[controller], c.Scale)
				for _, reference := range c.Through {
					through[reference] = controller
				}
			}
			wanted := int32(0)
			for _, scale := range scales {
				wanted += scale
			}
			// controllerOf is "" for a pod that the budget does not cover.
			controllerOf := func(p *corev1.Pod) (kind, controller string) {
				ref := metav1.GetControllerOf(p)
				if ref == nil || p.Namespace != b.Namespace || !slices.ContainsFunc(e.Budget.Pods, func(h PodHealth) bool { return h.Name == p.Name }) {
					return "", ""
				}
				return ref.Kind, through[ref.Kind+" "+ref.Name]
			}
			var some *corev1.Pod
			managed := int32(0)
			// Pods that have ended, or that are being deleted, are not there at full health.
			var ended []*corev1.Pod
			there := map[string]bool{}
			full.Pods = slices.DeleteFunc(full.Pods, func(p *corev1.Pod) bool {
				gone := p.DeletionTimestamp != nil || podstate.Terminal(p)
				p.DeletionTimestamp, p.Status.Phase = nil, corev1.PodRunning
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
				kind, controller := controllerOf(p)
				if controller == "" {
					return gone
				}
				some = p
				switch {
				case gone:
					ended = append(ended, p)
				// No controller makes pods that name a Deployment itself: they are there beside its own.
				case kind != "Deployment":
					managed++
					fallthrough
				default:
					there[controller] = true
				}
				return gone
			})
			if some == nil || !complete {
				continue
			}
			// A controller replaces its pods that have ended.
			for _, p := range ended {
				if kind, controller := controllerOf(p); managed < wanted && kind != "Deployment" {
					full.Pods = append(full.Pods, p)
					managed++
					there[controller] = true
				}
			}
			if len(there) < len(scales) {
				continue // more pods of one controller are there than it wants, and another one has none
			}
			for ; managed < wanted; managed++ {
				p := some.DeepCopy()
				p.Name = fmt.Sprint("z-more-", managed) // behind all others
				full.Pods = append(full.Pods, p)
			}
			for _, b := range full.Budgets {
				b.Status.DisruptedPods = nil
			}
			then, err := NewIndex(full, o).Explain(KeyOf(b))
			if err != nil || len(then.Budget.Needs) > 0 {
				return fmt.Errorf("%s: at full health %+v, %w", b.Name, then, err)
			}
			seen[e.Budget.Never]++
			if e.Budget.Never == (then.Budget.Computed.DisruptionsAllowed > 0) {
				return fmt.Errorf("%s: never %t, at full health %+v, before %+v", b.Name, e.Budget.Never, then, e)
			}
		}
		return nil
	})
	if manySnapshots() && (seen[true] < 20 || seen[false] < 20) {
		t.Errorf("the snapshots are not diverse: %v", seen)
	}
}

func TestAllowedAtFullHealth(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		min, max     string
		replicas     int32
		want         int32
		err          bool
	}{
		{name: "minAvailable 3 of 3", reason: "all have to stay", min: "3", replicas: 3},
		{name: "minAvailable 2 of 3", reason: "one may go", min: "2", replicas: 3, want: 1},
		{name: "minAvailable 67% of 3", reason: "2.01 is 3", min: "67%", replicas: 3},
		{name: "minAvailable 66% of 3", reason: "1.98 is 2", min: "66%", replicas: 3, want: 1},
		{name: "minAvailable 100%", reason: "all have to stay", min: "100%", replicas: 50},
		{name: "minAvailable 0", reason: "all may go", min: "0", replicas: 3, want: 3},
		{name: "maxUnavailable 0", reason: "none may go", max: "0", replicas: 3},
		{name: "maxUnavailable 0%", reason: "none may go", max: "0%", replicas: 3},
		{name: "maxUnavailable 1 of 1", reason: "the only one may go", max: "1", replicas: 1, want: 1},
		{name: "maxUnavailable 1%", reason: "rounded up", max: "1%", replicas: 3, want: 1},
		{name: "neither", reason: "nothing is expected, so nothing is allowed", replicas: 3},
		{name: "no replicas", reason: "none are there", max: "1", replicas: 0},
		{name: "not a percentage", reason: "nothing is allowed", max: "x", replicas: 3, err: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var spec policyv1.PodDisruptionBudgetSpec
			if tc.min != "" {
				spec.MinAvailable = value(tc.min)
			}
			if tc.max != "" {
				spec.MaxUnavailable = value(tc.max)
			}
			got, err := AllowedAtFullHealth(spec, tc.replicas, RoundUp)
			require.Equal(t, tc.err, err != nil)
			require.Equal(t, tc.want, got, tc.reason)
		})
	}
	down, err := AllowedAtFullHealth(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: value("30%")}, 3, RoundDown)
	require.NoError(t, err)
	require.Zero(t, down, "rounded down, none may go")
}
