package drain

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/podstate"
)

// ago of a deletion: the deletion timestamp of a pod has its grace period in it.
func deletedBy(d time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(ago(d)) }
}

// A StatefulSet with podManagementPolicy OrderedReady recreates a pod when all those before it are running and ready.
func TestDrainOrderedReadyStatefulSet(t *testing.T) {
	of := by("apps/v1", "StatefulSet", "s")
	ordered := func(change ...func(*appsv1.StatefulSet)) []*appsv1.StatefulSet {
		ss := statefulSet("s", ptr.To(int32(4)))
		for _, c := range change {
			c(ss)
		}
		return []*appsv1.StatefulSet{ss}
	}
	policy := func(p appsv1.PodManagementPolicyType) func(*appsv1.StatefulSet) {
		return func(s *appsv1.StatefulSet) { s.Spec.PodManagementPolicy = p }
	}
	start := func(n int32) func(*appsv1.StatefulSet) {
		return func(s *appsv1.StatefulSet) { s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: n} }
	}
	scale := map[purekube.Need]purekube.Answer{scaleNeed("apps", "StatefulSet", ns, "s"): scaleOf(statefulSet("s", nil).UID, 4)}
	// Two pods are on the node, and one of them has to be back before the other may go.
	for _, tc := range []struct {
		name, reason string
		sets         []*appsv1.StatefulSet
		scales       map[purekube.Need]purekube.Answer
		pods         []*corev1.Pod
		outcome      Outcome
		rounds       [][]string
	}{
		{name: "all ready", reason: "one after the other", sets: ordered(), outcome: InRounds, rounds: [][]string{{"s-2"}, {"s-3"}},
			pods: []*corev1.Pod{pod("s-0", of), pod("s-1", of), pod("s-2", of, on("n")), pod("s-3", of, on("n"))}},
		{name: "OrderedReady by name", reason: "it is the default", sets: ordered(policy(appsv1.OrderedReadyPodManagement)), outcome: Never, rounds: [][]string{{"s-2"}},
			pods: []*corev1.Pod{pod("s-0", of, unready), pod("s-1", of), pod("s-2", of, on("n")), pod("s-3", of, on("n"))}},
		{name: "the first is not ready", reason: "none beyond it is recreated", sets: ordered(), outcome: Never, rounds: [][]string{{"s-2"}},
			pods: []*corev1.Pod{pod("s-0", of, unready), pod("s-1", of), pod("s-2", of, on("n")), pod("s-3", of, on("n"))}},
		{name: "one has not started", reason: "it is not running", sets: ordered(), outcome: Never, rounds: [][]string{{"s-2"}},
			pods: []*corev1.Pod{pod("s-0", of), pod("s-1", of, phase(corev1.PodPending)), pod("s-2", of, on("n")), pod("s-3", of, on("n"))}},
		{name: "one has ended", reason: "it is recreated first, and nobody knows when", sets: ordered(), outcome: Never, rounds: [][]string{{"s-2"}},
			pods: []*corev1.Pod{pod("s-0", of), pod("s-1", of, phase(corev1.PodFailed)), pod("s-2", of, on("n")), pod("s-3", of, on("n"))}},
		{name: "one is missing", reason: "it is created first, and nobody knows when", sets: ordered(), outcome: Never, rounds: [][]string{{"s-2"}},
			pods: []*corev1.Pod{pod("s-0", of), pod("s-2", of, on("n")), pod("s-3", of, on("n")), pod("x", of)}},
		{name: "one is stuck", reason: "it is in the way until it is gone", sets: ordered(), outcome: Never, rounds: [][]string{{"s-2"}},
			pods: []*corev1.Pod{pod("s-0", of, deletedBy(time.Hour)), pod("s-1", of), pod("s-2", of, on("n")), pod("s-3", of, on("n")), pod("x", of)}},
		{name: "one is being deleted", reason: "it is recreated in its turn", sets: ordered(), outcome: InRounds, rounds: [][]string{{"s-2"}, {"s-3"}},
			pods: []*corev1.Pod{pod("s-0", of, deleting, labelled(nil)), pod("s-1", of), pod("s-2", of, on("n")), pod("s-3", of, on("n")), pod("x", of)}},
		{name: "a later one is not ready", reason: "those before it do not wait for it", sets: ordered(), outcome: InRounds, rounds: [][]string{{"s-0"}, {"s-1"}},
			pods: []*corev1.Pod{pod("s-0", of, on("n")), pod("s-1", of, on("n")), pod("s-2", of), pod("s-3", of, unready), pod("x", of)}},
		{name: "Parallel", reason: "it does not wait", sets: ordered(policy(appsv1.ParallelPodManagement)), outcome: InRounds, rounds: [][]string{{"s-2"}, {"s-3"}},
			pods: []*corev1.Pod{pod("s-0", of, unready), pod("s-1", of), pod("s-2", of, on("n")), pod("s-3", of, on("n")), pod("x", of)}},
		{name: "beyond the replicas", reason: "the controller does not want it", sets: ordered(func(s *appsv1.StatefulSet) { s.Spec.Replicas = ptr.To(int32(2)) }),
			outcome: Never, rounds: [][]string{{"s-2"}}, pods: []*corev1.Pod{pod("s-0", of), pod("s-1", of), pod("s-2", of, on("n")), pod("s-3", of, on("n"))}},
		{name: "ordinals from 7", reason: "none is missing", sets: ordered(start(7)), outcome: InRounds, rounds: [][]string{{"s-10"}, {"s-9"}},
			pods: []*corev1.Pod{pod("s-7", of), pod("s-8", of), pod("s-9", of, on("n")), pod("s-10", of, on("n"))}},
		{name: "below the first ordinal", reason: "the controller does not want it", sets: ordered(start(2)), outcome: Never, rounds: [][]string{{"s-1"}},
			pods: []*corev1.Pod{pod("s-2", of), pod("s-1", of, on("n")), pod("s-3", of, on("n"))}},
		{name: "a pod without an ordinal goes", reason: "it is not the first one", sets: ordered(), outcome: InRounds, rounds: [][]string{{"s-1", "x"}, {"s-2"}},
			pods: []*corev1.Pod{pod("s-0", of), pod("s-1", of, on("n")), pod("s-2", of, on("n")), pod("x", of, on("n"), unready, labelled(nil))}},
		{name: "no ordinal", reason: "no StatefulSet gives this name", sets: ordered(), outcome: Never, rounds: [][]string{{"s-02"}},
			pods: []*corev1.Pod{pod("s-0", of), pod("s-1", of), pod("s-02", of, on("n")), pod("s-3", of, on("n"))}},
		{name: "only the scale is known", reason: "it may be OrderedReady", scales: scale, outcome: Never, rounds: [][]string{{"s-2"}},
			pods: []*corev1.Pod{pod("s-0", of, unready), pod("s-1", of), pod("s-2", of, on("n")), pod("s-3", of, on("n"))}},
		{name: "only the scale is known, all ready", reason: "one after the other", scales: scale, outcome: InRounds, rounds: [][]string{{"s-2"}, {"s-3"}},
			pods: []*corev1.Pod{pod("s-0", of), pod("s-1", of), pod("s-2", of, on("n")), pod("s-3", of, on("n"))}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			healthy := 0
			for _, p := range tc.pods {
				if p.Labels != nil && p.DeletionTimestamp == nil && podstate.Ready(p) {
					healthy++
				}
			}
			// One pod may go.
			spec := budget(minAvailable(string(rune('0' + healthy - 1))))
			s := disruption.Snapshot{Now: now, Pods: tc.pods, StatefulSets: tc.sets, Answers: tc.scales, Budgets: []*policyv1.PodDisruptionBudget{spec}}
			d, _ := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
			require.Equal(t, tc.rounds, drained(d), tc.reason)
			require.Equal(t, tc.outcome, d.Outcome, tc.reason)
		})
	}
}

// The pod of a StatefulSet that was not ready is recreated, and keeps those behind it away.
func TestDrainOrderedReadyStatefulSetKeepsItsUnreadyPod(t *testing.T) {
	of := by("apps/v1", "StatefulSet", "s")
	s := disruption.Snapshot{Now: now, StatefulSets: []*appsv1.StatefulSet{statefulSet("s", ptr.To(int32(4)))},
		Pods: []*corev1.Pod{pod("s-0", of, on("n")), pod("s-1", of, on("n"), unready), pod("s-2", of, on("n")), pod("s-3", of)}}
	d, after := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
	require.Equal(t, Now, d.Outcome)
	require.Equal(t, []string{"s-0", "s-1", "s-3"}, podNames(s, after))
	require.True(t, runs(after.Pod(nn("s-0"))))
	require.False(t, runs(after.Pod(nn("s-1"))))
}

// A pod that has been terminating for longer than Stuck after its grace period ends no drain.
func TestDrainStuckPods(t *testing.T) {
	of := by("apps/v1", "ReplicaSet", "rs")
	for _, tc := range []struct {
		name, reason string
		deleted      time.Duration // so long ago its grace period was over
		stuck        time.Duration
		never        bool
		noTime       bool
	}{
		{name: "for a day", reason: "its node is down", deleted: 24 * time.Hour, never: true},
		{name: "in its grace period", reason: "it is still ending", deleted: -time.Minute},
		{name: "exactly as long as the default", reason: "a kubelet may take so long", deleted: DefaultStuck},
		{name: "longer than the default", reason: "no kubelet takes so long", deleted: DefaultStuck + time.Second, never: true},
		{name: "longer than the default, shorter than the option", reason: "the caller knows better", deleted: time.Hour, stuck: 2 * time.Hour},
		{name: "longer than the option", reason: "the caller knows better", deleted: time.Minute, stuck: time.Second, never: true},
		{name: "less than 0, grace period over", reason: "nothing is waited for", deleted: time.Second, stuck: -1, never: true},
		{name: "less than 0, in its grace period", reason: "it is still ending", deleted: -time.Second, stuck: -1},
		{name: "no time", reason: "nothing tells whether it ends", deleted: -time.Minute, never: true, noTime: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(2)))}, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("1"))},
				Pods: []*corev1.Pod{pod("a", of, on("m"), deletedBy(tc.deleted)), pod("b", of, on("n"))}}
			if tc.noTime {
				s.Now = time.Time{}
			}
			x := disruption.NewIndex(s, disruption.Options{})
			elsewhere, _ := play(x, "n", Options{Stuck: tc.stuck})
			itself, _ := play(x, "m", Options{Stuck: tc.stuck})
			if !tc.never {
				require.Equal(t, [][]string{{}, {"b"}}, drained(elsewhere), tc.reason)
				require.Equal(t, Now, itself.Outcome, tc.reason)
				return
			}
			require.Equal(t, Never, elsewhere.Outcome, tc.reason)
			require.Equal(t, []string{"b"}, refusedPods(elsewhere))
			require.Equal(t, Never, itself.Outcome, tc.reason)
			require.Empty(t, itself.Rounds)
			require.Equal(t, ReasonStuckPod, itself.Refused[0].Code)
			message := "the pod should have been gone by "
			if tc.noTime {
				message = "the pod is being deleted; Snapshot.Now is zero"
			}
			require.Contains(t, itself.Refused[0].Message, message, tc.reason)
		})
	}
	t.Run("skipped", func(t *testing.T) {
		s := disruption.Snapshot{Now: now, Pods: []*corev1.Pod{pod("a", of, on("n"), deletedBy(time.Hour))}}
		skip := Options{SkipPod: func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil }}
		d, _ := play(disruption.NewIndex(s, disruption.Options{}), "n", skip)
		require.Equal(t, Now, d.Outcome, "--skip-wait-for-delete-timeout comes first")
	})
}

// A pod that was not running and ready is recreated not ready, so that none that waits for it goes.
func TestDrainRecreatesUnreadyPodsAsTheyWere(t *testing.T) {
	of := by("apps/v1", "ReplicaSet", "rs")
	for _, tc := range []struct {
		name   string
		change []func(*corev1.Pod)
		phase  corev1.PodPhase
	}{
		{name: "CrashLoopBackOff", change: []func(*corev1.Pod){unready}, phase: corev1.PodRunning},
		{name: "ImagePullBackOff", change: []func(*corev1.Pod){unready, phase(corev1.PodPending)}, phase: corev1.PodPending},
		{name: "not scheduled, and ready by mistake", change: []func(*corev1.Pod){phase(corev1.PodPending)}, phase: corev1.PodPending},
		{name: "being deleted and not ready", change: []func(*corev1.Pod){unready, deleting}, phase: corev1.PodRunning},
		{name: "ended", change: []func(*corev1.Pod){phase(corev1.PodFailed)}, phase: corev1.PodRunning},
		{name: "of a node that is lost", change: []func(*corev1.Pod){phase(corev1.PodUnknown)}, phase: corev1.PodRunning},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(3)))},
				Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("2"), unhealthyPolicy(policyv1.AlwaysAllow))},
				Pods:    []*corev1.Pod{pod("a", append(tc.change, of, on("n"))...), pod("b", of, on("n")), pod("c", of)}}
			d, after := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
			require.Equal(t, [][]string{{"a"}}, drained(d))
			require.Equal(t, []string{"b"}, refusedPods(d), "two have to stay, and a is no third")
			require.Equal(t, Never, d.Outcome)
			back := after.Pod(nn("a"))
			require.False(t, runs(back))
			require.Equal(t, tc.phase, back.Status.Phase)
		})
	}
	t.Run("one of two", func(t *testing.T) {
		s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(1)))},
			Pods: []*corev1.Pod{pod("a", of, on("n")), pod("b", of, on("n"), unready)}}
		_, after := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
		require.Equal(t, []string{"b"}, podNames(s, after), "nobody knows which of them is wanted: the one that is not ready")
	})
}

// A ReplicaSet makes another pod as soon as one ends or is being deleted. When that one goes, with others that were ready,
// the ready ones are recreated.
func TestDrainRecreatesActivePodsFirst(t *testing.T) {
	of := by("apps/v1", "ReplicaSet", "rs")
	for _, tc := range []struct {
		name   string
		change []func(*corev1.Pod)
	}{
		{name: "Failed", change: []func(*corev1.Pod){phase(corev1.PodFailed)}},
		{name: "Succeeded", change: []func(*corev1.Pod){phase(corev1.PodSucceeded)}},
		{name: "being deleted and not ready", change: []func(*corev1.Pod){unready, deleting}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(3)))},
				Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("2"))},
				Pods:    []*corev1.Pod{pod("a", append(tc.change, of, on("n"))...), pod("b", of, on("n")), pod("c", of, on("n")), pod("d", of, on("n"))}}
			d, after := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
			require.Equal(t, [][]string{{"a", "b"}, {"c"}, {"d"}}, drained(d))
			require.Equal(t, []string{"b", "c", "d"}, podNames(s, after))
		})
	}
}

// A workload that is being deleted recreates nothing.
func TestDrainOfAWorkloadThatIsBeingDeleted(t *testing.T) {
	gone := func(m *metav1.ObjectMeta) { m.DeletionTimestamp = ptr.To(ago(time.Second)) }
	rs, ss, rc := replicaSet("x", "", ptr.To(int32(3))), statefulSet("x", ptr.To(int32(3))), replicationController("x", ptr.To(int32(3)))
	for kind, apiVersion := range map[string]string{"ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "ReplicationController": "v1"} {
		for _, deleted := range []bool{false, true} {
			s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("1"))},
				ReplicaSets: []*appsv1.ReplicaSet{rs.DeepCopy()}, StatefulSets: []*appsv1.StatefulSet{ss.DeepCopy()}, ReplicationControllers: []*corev1.ReplicationController{rc.DeepCopy()}}
			for _, name := range []string{"x-0", "x-1", "x-2"} {
				s.Pods = append(s.Pods, pod(name, by(apiVersion, kind, "x"), on("n")))
			}
			if deleted {
				gone(&s.ReplicaSets[0].ObjectMeta)
				gone(&s.StatefulSets[0].ObjectMeta)
				gone(&s.ReplicationControllers[0].ObjectMeta)
			}
			d, _ := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
			if want := map[bool]Outcome{false: InRounds, true: Never}[deleted]; d.Outcome != want {
				t.Errorf("%s, being deleted %t: %v, want %v", kind, deleted, d.Outcome, want)
			}
		}
	}
}

// A lookup that is open hides no other obstacle.
func TestDrainRefusedBesideNeeds(t *testing.T) {
	x := labelled(map[string]string{"tier": "x"})
	s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1")), perTier("x", maxUnavailable("0"))},
		ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(2)))},
		Pods: []*corev1.Pod{pod("a", on("n"), by("x/v1", "Y", "y")), pod("b", on("n"), x, by("apps/v1", "ReplicaSet", "rs")), pod("c", x, by("apps/v1", "ReplicaSet", "rs")),
			pod("d", on("n"), by("x/v1", "Y", "z")), pod("e", on("n"), deletedBy(time.Hour))}}
	d, after := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{Force: true})
	require.Equal(t, Unknown, d.Outcome)
	require.Len(t, d.Needs, 2)
	require.Empty(t, d.Rounds)
	require.Equal(t, []string{"b", "e"}, refusedPods(d))
	require.Equal(t, []Code{ReasonEvictionRefused, ReasonStuckPod}, []Code{d.Refused[0].Code, d.Refused[1].Code})
	require.Equal(t, s.Pods, []*corev1.Pod{after.Pod(nn("a")), after.Pod(nn("b")), after.Pod(nn("c")), after.Pod(nn("d")), after.Pod(nn("e"))}, "the index is the one asked")
}

// A lookup that no pod waits for is no need, although another pod stays.
func TestDrainNeedsNoLookupThatNobodyWaitsFor(t *testing.T) {
	s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("0")), perTier("x", minAvailable("1"))},
		Pods: []*corev1.Pod{pod("a", on("n"), by("x/v1", "Y", "y")), pod("b", on("n"), tier("x"))}}
	d, _ := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{Force: true})
	require.Equal(t, Never, d.Outcome)
	require.Equal(t, [][]string{{"a"}}, drained(d))
	require.Empty(t, d.Needs)
}

// A budget with a need keeps its pods, on whatever node. The others go on.
func TestNodesWithOneNeedOfTwo(t *testing.T) {
	rs := by("apps/v1", "ReplicaSet", "rs")
	s := disruption.Snapshot{Now: now,
		Budgets:     []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1")), perTier("x", maxUnavailable("1")), perTier("rs", minAvailable("1"))},
		ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(2)))},
		Pods: []*corev1.Pod{pod("a", on("n"), by("x/v1", "Y", "y")), pod("b", on("n"), tier("x"), by("x/v1", "Y", "x")), pod("c", on("n"), tier("rs"), rs),
			pod("a2", on("z"), by("x/v1", "Y", "y")), pod("a3", on("z"), by("x/v1", "Y", "y")), pod("c2", on("z"), tier("rs"), rs)}}
	drains, _, err := Nodes(disruption.NewIndex(s, disruption.Options{}), []string{"n", "z"}, Options{})
	require.NoError(t, err)
	require.Len(t, drains[0].Needs, 2)
	require.Equal(t, []purekube.Need{scaleNeed("x", "Y", ns, "y")}, drains[1].Needs, "z has no pod of the other budget")
	for _, d := range drains {
		require.Equal(t, Unknown, d.Outcome)
		require.Empty(t, d.Refused, "c2 goes when c is back")
	}
}

// Once an answer says that a kind has no scale, no other object of the kind is asked for.
func TestDrainAfterOneAnswerAboutAKind(t *testing.T) {
	s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))},
		Pods: []*corev1.Pod{pod("a", by("x/v1", "Y", "one"), on("n")), pod("b", by("x/v1", "Y", "two"), on("n")), pod("c", by("x/v2", "Y", "three"), on("n"))}}
	x := disruption.NewIndex(s, disruption.Options{})
	d, _ := play(x, "n", Options{})
	require.Equal(t, Unknown, d.Outcome)
	require.Len(t, d.Needs, 3)
	answered, _ := x.With(disruption.Snapshot{Answers: map[purekube.Need]purekube.Answer{d.Needs[0]: {Err: errors.New("ys.x does not implement the scale subresource")}}})
	d, _ = play(answered, "n", Options{})
	require.Equal(t, Never, d.Outcome)
	require.Equal(t, []string{"a", "b", "c"}, refusedPods(d))
}

// Whether pods that Jobs run come back depends on what no snapshot has. They count as pods that are not ready.
func TestDrainOfJobs(t *testing.T) {
	s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("1"))},
		Pods: []*corev1.Pod{pod("a", by("batch/v1", "Job", "x"), on("n")), pod("b", by("batch/v1", "Job", "y"), on("n"))}}
	d, after := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
	require.Equal(t, Never, d.Outcome)
	require.Empty(t, d.Needs)
	require.Equal(t, [][]string{{"a"}}, drained(d))
	require.Equal(t, []string{"a", "b"}, podNames(s, after))
	require.EqualValues(t, 1, after.Budget(nn("web")).Status.CurrentHealthy)
}

// A budget that fails while it selects a pod of a Job goes on failing when that pod goes: the Job may recreate it.
func TestDrainOfPodsThatMayBeRecreated(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		other        *corev1.Pod
		want         Outcome
	}{
		{name: "a Job's", reason: "the Job may run another one", other: pod("b", by("batch/v1", "Job", "x"), deleting), want: Never},
		{name: "a DaemonSet's", reason: "the DaemonSet may", other: pod("b", by("apps/v1", "DaemonSet", "x"), deleting), want: Never},
		{name: "a DaemonSet's that ended", reason: "the DaemonSet may run it again", other: pod("b", by("apps/v1", "DaemonSet", "x"), deleting,
			phase(corev1.PodSucceeded)), want: Never},
		{name: "a Job's that ended", reason: "the Job does not run it again", other: pod("b", by("batch/v1", "Job", "x"), deleting,
			phase(corev1.PodSucceeded)), want: InRounds},
		{name: "a ReplicaSet's", reason: "it has as many pods as it wants", other: pod("b", by("apps/v1", "ReplicaSet", "rs"), deleting), want: InRounds},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ofRS := by("apps/v1", "ReplicaSet", "rs")
			s := disruption.Snapshot{
				Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(2)))},
				Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))},
				Pods:    []*corev1.Pod{pod("a", ofRS, on("n")), pod("a2", ofRS, on("n")), tc.other},
			}
			d, _ := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
			require.Equal(t, tc.want, d.Outcome, tc.reason)
		})
	}
}

// Whether the pods of such an owner come back is not known, and nobody can ask.
func TestDrainAsksForNoOwnerThatNoPathCanHold(t *testing.T) {
	for _, kind := range []string{"ReplicaSet", "Game"} {
		s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("1"))}}
		for _, p := range pods(2, 2, by("apps/v1", kind, "../db")) {
			p.Spec.NodeName = "n"
			s.Pods = append(s.Pods, p)
		}
		d, _ := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
		require.Len(t, d.Refused, 1, "one goes, and none comes back")
		require.Empty(t, d.Needs)
	}
}

// With an Upstream that is none of the constants there is no drain.
func TestDrainWithUnknownUpstream(t *testing.T) {
	x := disruption.NewIndex(disruption.Snapshot{Now: now, Pods: []*corev1.Pod{pod("a", on("n"))}}, disruption.Options{MatchUpstream: "v1.38"})
	d, after, err := Node(x, "n", Options{Force: true})
	require.ErrorIs(t, err, purekube.ErrUnknownUpstream)
	require.Equal(t, Drain{Node: "n"}, d)
	require.Same(t, x, after)
}

// What is wrong with the objects is the error. The drain is there all the same.
func TestDrainErrorIsThatOfTheIndex(t *testing.T) {
	x := disruption.NewIndex(disruption.Snapshot{Now: now, Pods: []*corev1.Pod{nil, pod("a", on("n"))}}, disruption.Options{})
	d, _, err := Node(x, "n", Options{Force: true})
	require.ErrorIs(t, err, purekube.ErrNil)
	require.EqualError(t, err, x.Err().Error())
	require.Equal(t, [][]string{{"a"}}, drained(d))
}
