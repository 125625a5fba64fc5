package drain

import (
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
	"github.com/purekube/purekube/disruption"
)

func on(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }

func tier(v string) func(*corev1.Pod) { return labelled(map[string]string{"tier": v}) }

// perTier covers the pods of a tier.
func perTier(v string, change ...func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	b := budget(append(change, named(v))...)
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": v}}
	return b
}

// podNames are those of the pods of a snapshot that an index has, sorted.
func podNames(s disruption.Snapshot, x *disruption.Index) []string {
	var all []string
	for _, p := range s.Pods {
		if x.Pod(nn(p.Name)) != nil {
			all = append(all, p.Name)
		}
	}
	slices.Sort(all)
	return all
}

// drained names the pods of each round.
func drained(d Drain) [][]string {
	var rounds [][]string
	for _, r := range d.Rounds {
		round := []string{}
		for _, p := range r {
			round = append(round, p.Name)
		}
		rounds = append(rounds, round)
	}
	return rounds
}

func refusedPods(d Drain) []string {
	var all []string
	for _, p := range d.Refused {
		all = append(all, p.Pod.Name)
	}
	return all
}

// A ReplicaSet has as many pods after a drain as it wants.
func TestDrainWhoIsThereAfterwards(t *testing.T) {
	ofRS := by("apps/v1", "ReplicaSet", "rs")
	for _, tc := range []struct {
		name, reason string
		replicas     int32
		budgets      []*policyv1.PodDisruptionBudget
		pods         []*corev1.Pod
		rounds       [][]string
		want         []string
	}{
		{name: "all wanted", reason: "whatever budgets there are", replicas: 2, pods: []*corev1.Pod{pod("a", ofRS, on("n")), pod("b", ofRS, on("m"))},
			rounds: [][]string{{"a"}}, want: []string{"a", "b"}},
		{name: "one too many", reason: "the first by name come back", replicas: 2,
			pods:   []*corev1.Pod{pod("a", ofRS, on("n")), pod("b", ofRS, on("n")), pod("c", ofRS, on("n"))},
			rounds: [][]string{{"a", "b", "c"}}, want: []string{"a", "b"}},
		{name: "one that ended elsewhere", reason: "it is none of those that it has", replicas: 3,
			pods:   []*corev1.Pod{pod("a", ofRS, on("m")), pod("b", ofRS, on("m")), pod("c", ofRS, on("n")), pod("d", ofRS, on("m"), phase(corev1.PodFailed))},
			rounds: [][]string{{"c"}}, want: []string{"a", "b", "c", "d"}},
		{name: "one that ended", reason: "it has enough without it", replicas: 2,
			pods:   []*corev1.Pod{pod("a", ofRS, on("m")), pod("b", ofRS, on("m")), pod("c", ofRS, on("n"), phase(corev1.PodFailed))},
			rounds: [][]string{{"c"}}, want: []string{"a", "b"}},
		{name: "one that is being deleted", reason: "it has enough without it", replicas: 2,
			pods:   []*corev1.Pod{pod("a", ofRS, on("m")), pod("b", ofRS, on("m")), pod("c", ofRS, on("n"), deleting)},
			rounds: [][]string{{"c"}}, want: []string{"a", "b"}},
		{name: "one that goes elsewhere", reason: "it has another in its place since it was deleted", replicas: 3,
			budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("2"))},
			pods:    []*corev1.Pod{pod("a", ofRS, on("m"), deleting), pod("b", ofRS, on("n")), pod("c", ofRS, on("n")), pod("d", ofRS, on("n"))},
			rounds:  [][]string{{"b"}, {"c"}, {"d"}}, want: []string{"b", "c", "d"}},
		{name: "one that two budgets wait for", reason: "it comes back once", replicas: 5,
			budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("2")), perTier("x", minAvailable("2"))},
			pods: []*corev1.Pod{pod("a", ofRS, on("n")), pod("b", ofRS, on("m")), pod("c", ofRS, on("n"), tier("x")), pod("d", ofRS, on("m"), tier("x")),
				pod("e", ofRS, on("m"), labelled(map[string]string{"app": "web", "tier": "x"}), deleting)},
			rounds: [][]string{{}, {"a", "c"}}, want: []string{"a", "b", "c", "d", "e"}},
		{name: "without a controller", reason: "nobody makes it again", replicas: 1, pods: []*corev1.Pod{pod("a", ofRS, on("n")), pod("b", on("n"))},
			rounds: [][]string{{"a", "b"}}, want: []string{"a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := disruption.Snapshot{Now: now, Pods: tc.pods, Budgets: tc.budgets, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", &tc.replicas)}}
			d, after := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{Force: true})
			require.Equal(t, tc.rounds, drained(d))
			require.Equal(t, tc.want, podNames(s, after), tc.reason)
			require.NoError(t, after.Err())
			require.Empty(t, podsOn(after, "n"))
		})
	}
}

// A pod elsewhere that is being deleted stays as it is, unless a pod of the node waits for it.
func TestDrainOfPodsBeingDeletedElsewhere(t *testing.T) {
	ordered, parallel := statefulSet("s", ptr.To(int32(2))), statefulSet("s", ptr.To(int32(2)))
	parallel.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	ofRS, ofSet := by("apps/v1", "ReplicaSet", "rs"), by("apps/v1", "StatefulSet", "s")
	for _, tc := range []struct {
		name, reason string
		budgets      []*policyv1.PodDisruptionBudget
		set          *appsv1.StatefulSet
		pods         []*corev1.Pod // of the node, and being deleted elsewhere
		back         bool
	}{
		{name: "of a ReplicaSet", reason: "nothing waits for it", set: ordered, pods: []*corev1.Pod{pod("a", ofRS, on("n")), pod("b", ofRS, deleting)}},
		{name: "of a ReplicaSet, in a budget that lets all go", reason: "nothing waits for it", set: ordered,
			budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("0"))}, pods: []*corev1.Pod{pod("a", ofRS, on("n")), pod("b", ofRS, deleting)}},
		{name: "of a ReplicaSet, in a budget that waits", reason: "the pod of the node goes when it is back", set: ordered,
			budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("1"))}, pods: []*corev1.Pod{pod("a", ofRS, on("n")), pod("b", ofRS, deleting)}, back: true},
		{name: "of a StatefulSet in no order", reason: "nothing waits for it", set: parallel, pods: []*corev1.Pod{pod("s-0", ofSet, on("n")), pod("s-1", ofSet, deleting)}},
		{name: "of a StatefulSet in order", reason: "it comes back in its turn", set: ordered, pods: []*corev1.Pod{pod("s-1", ofSet, on("n")), pod("s-0", ofSet, deleting)}, back: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := disruption.Snapshot{Now: now, Pods: tc.pods, Budgets: tc.budgets, StatefulSets: []*appsv1.StatefulSet{tc.set},
				ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(2)))}}
			_, after := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
			require.Empty(t, podsOn(after, "n"))
			require.Equal(t, tc.back, after.Pod(nn(tc.pods[1].Name)).DeletionTimestamp == nil, tc.reason)
		})
	}
}

// A pod of the node that is being deleted already keeps the time of its deletion.
func TestDrainKeepsDeletionTimestamps(t *testing.T) {
	for name, mode := range map[string]Options{"Recomputed": {}, "AsWritten": {Budgets: AsWritten}} {
		t.Run(name, func(t *testing.T) {
			s := disruption.Snapshot{Now: now, Pods: []*corev1.Pod{pod("a", on("n"), deletedBy(-time.Minute)), pod("b", on("n"))}}
			mode.Force = true
			_, after := play(disruption.NewIndex(s, disruption.Options{}), "n", mode)
			if mode.Budgets != AsWritten {
				require.Empty(t, podNames(s, after), "nobody makes them again")
				return
			}
			require.Equal(t, s.Pods[0].DeletionTimestamp, after.Pod(nn("a")).DeletionTimestamp)
			require.Equal(t, now.Unix(), after.Pod(nn("b")).DeletionTimestamp.Unix())
		})
	}
}

// Only what a StatefulSet itself would call its pods comes back.
func TestDrainOfPodsWithOtherNames(t *testing.T) {
	of := by("apps/v1", "StatefulSet", "s")
	set := statefulSet("s", ptr.To(int32(9)))
	set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	s := disruption.Snapshot{Now: now, StatefulSets: []*appsv1.StatefulSet{set}}
	for _, name := range []string{"s-0", "s-1", "2", "s-03", "s-+4", "s--5", "s-x", "s-", "t-6", "s-9", "s-2147483648"} {
		s.Pods = append(s.Pods, pod(name, of, on("n")))
	}
	_, after := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
	require.Equal(t, []string{"s-0", "s-1"}, podNames(s, after))
}

// A pod comes back as its controller makes it: ready if it was, and nowhere yet.
func TestDrainWhatComesBack(t *testing.T) {
	gone := pod("a", by("apps/v1", "ReplicaSet", "rs"), on("n"), deleting)
	gone.DeletionGracePeriodSeconds = ptr.To(int64(30))
	gone.Status.PodIP, gone.Spec.PriorityClassName = "10.0.0.1", "high"
	s := disruption.Snapshot{Now: now, Pods: []*corev1.Pod{gone}, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", nil)}}
	_, after := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
	got := after.Pod(nn("a")).DeepCopy()
	require.NotEqual(t, gone.UID, got.UID, "it is another one")

	want := pod("a", by("apps/v1", "ReplicaSet", "rs"))
	want.UID, want.ResourceVersion, want.CreationTimestamp = got.UID, "", metav1.NewTime(now)
	want.Spec.PriorityClassName = "high"
	want.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now)
	require.Empty(t, cmp.Diff(want, got))

	s.Now, s.Pods = time.Time{}, []*corev1.Pod{pod("a", by("apps/v1", "ReplicaSet", "rs"), on("n"))}
	_, after = play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
	require.False(t, after.Pod(nn("a")).CreationTimestamp.IsZero(), "JSON would lose a time that is zero")
}

// withStatuses is the snapshot with the statuses that are planned for it.
func withStatuses(t *testing.T, s disruption.Snapshot, o disruption.Options) disruption.Snapshot {
	t.Helper()
	outcomes, err := disruption.PlanAll(s, o)
	require.NoError(t, err)
	for _, out := range outcomes {
		for _, a := range out.Result.Actions {
			s.Budgets[slices.IndexFunc(s.Budgets, func(b *policyv1.PodDisruptionBudget) bool { return b.Name == out.Key.Name })] = a.(disruption.UpdateStatus).Budget
		}
	}
	return s
}

// After a drain each status is what its budget's pods come to, and one that was right is as it was.
func TestDrainStatusesAfterwards(t *testing.T) {
	of := by("apps/v1", "ReplicaSet", "rs")
	rs := []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(3)))}
	for mode, o := range bothModes {
		t.Run("a budget that is right/"+mode, func(t *testing.T) {
			s := withStatuses(t, disruption.Snapshot{Now: now.Add(-time.Hour), ReplicaSets: rs, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("2"))},
				Pods: []*corev1.Pod{pod("a", of, on("n")), pod("b", of), pod("c", of)}}, o)
			s.Now = now
			d, after := play(disruption.NewIndex(s, o), "n", Options{})
			require.Equal(t, Now, d.Outcome)
			require.Empty(t, cmp.Diff(s.Budgets[0], after.Budget(nn("web"))), "it allowed one disruption before, and does so again")
		})
		t.Run("a budget that nobody waits for/"+mode, func(t *testing.T) {
			s := withStatuses(t, disruption.Snapshot{Now: now, ReplicaSets: rs, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("2")), perTier("x", minAvailable("1"))},
				Pods: []*corev1.Pod{pod("a", of, on("n")), pod("b", of), pod("c", of, labelled(map[string]string{"app": "web", "tier": "x"}), deleting)}}, o)
			d, after := play(disruption.NewIndex(s, o), "n", Options{})
			require.Equal(t, [][]string{{}, {"a"}}, drained(d))
			require.EqualValues(t, 1, after.Budget(nn("x")).Status.CurrentHealthy, "c came back")
		})
		t.Run("an entry of a pod that goes/"+mode, func(t *testing.T) {
			s := withStatuses(t, disruption.Snapshot{Now: now, ReplicaSets: rs, Pods: []*corev1.Pod{pod("a", of, on("n")), pod("b", of), pod("c", of)},
				Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("1"), disrupted(map[string]metav1.Time{"a": ago(30 * time.Second)}))}}, o)
			require.EqualValues(t, 2, s.Budgets[0].Status.CurrentHealthy)
			d, after := play(disruption.NewIndex(s, o), "n", Options{})
			require.Equal(t, Now, d.Outcome)
			st := after.Budget(nn("web")).Status
			require.Empty(t, st.DisruptedPods, "the disruption controller drops it while the pod is terminating")
			require.EqualValues(t, 3, st.CurrentHealthy, "so that it does not count for the next one of that name")
		})
		t.Run("an entry that ends while the drain waits/"+mode, func(t *testing.T) {
			s := withStatuses(t, disruption.Snapshot{Now: now, ReplicaSets: rs, Pods: []*corev1.Pod{pod("a", of, on("n")), pod("b", of), pod("c", of)},
				Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("3"), disrupted(map[string]metav1.Time{"b": ago(30 * time.Second)}))}}, o)
			require.EqualValues(t, 2, s.Budgets[0].Status.CurrentHealthy)
			d, after := play(disruption.NewIndex(s, o), "n", Options{})
			require.Equal(t, Never, d.Outcome)
			st := after.Budget(nn("web")).Status
			require.Empty(t, st.DisruptedPods)
			require.EqualValues(t, 3, st.CurrentHealthy, "b counts again, though that is not enough")
		})
		t.Run("an entry, and a scale that is not known/"+mode, func(t *testing.T) {
			s := disruption.Snapshot{Now: now, Pods: []*corev1.Pod{pod("a", by("x/v1", "Y", "y"), on("n"), phase(corev1.PodPending)), pod("b", by("x/v1", "Y", "y"))},
				Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("50%"), disrupted(map[string]metav1.Time{"a": ago(30 * time.Second)}))}}
			d, after := play(disruption.NewIndex(s, o), "n", Options{})
			require.Equal(t, Now, d.Outcome, "no budget is asked about a pod that has not started")
			require.NoError(t, after.Err())
			require.Same(t, s.Budgets[0], after.Budget(nn("web")), "nothing can be written")
		})
	}
}

// Each entry that expires takes one round, also where the controller first keeps an entry that is exactly two minutes
// old.
func TestDrainWaitsOneRoundForEachEntry(t *testing.T) {
	for _, o := range []disruption.Options{{}, {MatchUpstream: purekube.V1_36}, {MatchUpstream: purekube.V1_37}} {
		s := disruption.Snapshot{
			Now:  now,
			Pods: []*corev1.Pod{pod("a", on("n")), pod("b"), pod("c")},
			Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("2"),
				disrupted(map[string]metav1.Time{"b": ago(110 * time.Second), "c": ago(60 * time.Second)}))},
		}
		d, after := play(disruption.NewIndex(s, o), "n", Options{Force: true})
		require.Equal(t, [][]string{{}, {}, {"a"}}, drained(d), "%v: b expires, then c", o)
		require.Empty(t, after.Budget(nn("web")).Status.DisruptedPods)
	}
}

// Time passes to the first entry that a refused pod waits for, and then to the next.
func TestDrainWaitsForTheFirstEntry(t *testing.T) {
	both := func(web, x time.Duration) (s disruption.Snapshot) {
		s = disruption.Snapshot{Now: now, Pods: []*corev1.Pod{pod("a", on("n")), pod("x", on("n"), tier("x"))}}
		b, c := budget(minAvailable("1")), perTier("x", minAvailable("1"))
		if web > 0 {
			b.Status.DisruptedPods = map[string]metav1.Time{"b": ago(web)}
			s.Pods = append(s.Pods, pod("b"))
		}
		if x > 0 {
			c.Status.DisruptedPods = map[string]metav1.Time{"y": ago(x)}
			s.Pods = append(s.Pods, pod("y", tier("x")))
		}
		s.Budgets = []*policyv1.PodDisruptionBudget{b, c}
		return s
	}
	for _, tc := range []struct {
		name, reason string
		s            disruption.Snapshot
		rounds       [][]string
		refused      []string
	}{
		{name: "the first budget's ends first", reason: "one after the other", s: both(90*time.Second, 30*time.Second), rounds: [][]string{{}, {"a"}, {}, {"x"}}},
		{name: "the second budget's ends first", reason: "one after the other", s: both(30*time.Second, 90*time.Second), rounds: [][]string{{}, {"x"}, {}, {"a"}}},
		{name: "both end at once", reason: "both go", s: both(30*time.Second, 30*time.Second), rounds: [][]string{{}, {"a", "x"}}},
		{name: "the first budget has one", reason: "the other pod stays", s: both(30*time.Second, 0), rounds: [][]string{{}, {"a"}}, refused: []string{"x"}},
		{name: "the second budget has one", reason: "the other pod stays", s: both(0, 30*time.Second), rounds: [][]string{{}, {"x"}}, refused: []string{"a"}},
		{name: "neither has one", reason: "no time changes anything", s: both(0, 0), refused: []string{"a", "x"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, after := play(disruption.NewIndex(tc.s, disruption.Options{}), "n", Options{Force: true})
			require.Equal(t, tc.rounds, drained(d), tc.reason)
			require.Equal(t, tc.refused, refusedPods(d), tc.reason)
			require.NoError(t, after.Err())
			outcomes, err := after.PlanAll()
			require.NoError(t, err)
			require.LessOrEqual(t, len(outcomes), len(tc.refused), "what a pod that went waited for is written")
		})
	}
}

// A pod that waits for an entry to expire may be named by another one: that entry goes with it, and the third one counts.
func TestDrainWaitsForTheEntriesThatAreLeft(t *testing.T) {
	s := disruption.Snapshot{Now: now, Pods: []*corev1.Pod{pod("a", on("n")), pod("b", on("n")), pod("c", on("n"))},
		Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("0"), disrupted(map[string]metav1.Time{
			"a": ago(60 * time.Second), "b": ago(90 * time.Second), "c": ago(30 * time.Second)}))}}
	d, after := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{Force: true})
	require.Equal(t, [][]string{{}, {"a", "b"}, {}, {"c"}}, drained(d), "b counts again, and a goes; then c does")
	require.Equal(t, now.Add(90*time.Second), after.Now(), "nobody waits for the entry of a")
}

// Nobody waits for the entry of a budget whose pods have gone, so no time passes until it ends.
func TestDrainWaitsForNoEntryOfOthers(t *testing.T) {
	api := perTier("x", minAvailable("0"), disrupted(map[string]metav1.Time{"y": ago(30 * time.Second)}))
	s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("0")), api},
		Pods: []*corev1.Pod{pod("a", on("n")), pod("x", on("n"), tier("x")), pod("y", on("m"), tier("x"))}}
	d, after := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{Force: true})
	require.Equal(t, [][]string{{"x"}}, drained(d))
	require.Equal(t, []string{"a"}, refusedPods(d))
	require.Equal(t, now, after.Now())
}

// Pods that are ready and pods that are not wait in one order.
func TestDrainOfReadyAndUnreadyPodsTakesTurns(t *testing.T) {
	of := by("apps/v1", "ReplicaSet", "rs")
	for _, tc := range []struct {
		name, reason string
		pods         []*corev1.Pod
		granted      string // the eviction of this pod, which is ready, was granted before, and counts for another minute
		rounds       [][]string
	}{
		{name: "the ready pod comes first", reason: "the budget allows no other pod until it is back", granted: "a", rounds: [][]string{{}, {"a"}, {"b"}},
			pods: []*corev1.Pod{pod("a", of, on("n")), pod("b", of, on("n"), unready)}},
		{name: "the ready pod comes last", reason: "the other one takes nothing from the budget", granted: "b", rounds: [][]string{{}, {"a", "b"}},
			pods: []*corev1.Pod{pod("a", of, on("n"), unready), pod("b", of, on("n"))}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := disruption.Snapshot{Now: now, Pods: tc.pods, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(2)))},
				Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("0"), disrupted(map[string]metav1.Time{tc.granted: ago(time.Minute)}))}}
			d, _ := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
			require.Equal(t, tc.rounds, drained(d), tc.reason)
		})
	}
}

// A budget that could be computed in the first round may take a lookup in the second one.
func TestDrainNeedsALookupInTheSecondRound(t *testing.T) {
	s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))},
		ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "d", ptr.To(int32(0)))},
		Deployments: []*appsv1.Deployment{deployment("d", ptr.To(int32(2)))},
		// The scale of the Deployment is known from its ReplicaSet while that has a pod.
		Pods: []*corev1.Pod{pod("a", by("apps/v1", "ReplicaSet", "rs"), on("n")), pod("b", by("apps/v1", "Deployment", "d"), on("n"))}}
	d, after := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
	require.Equal(t, Unknown, d.Outcome)
	require.Equal(t, []purekube.Need{scaleNeed("apps", "Deployment", ns, "d")}, d.Needs)
	require.Empty(t, d.Rounds)
	require.Empty(t, d.Refused)
	require.Equal(t, s.Pods[0], after.Pod(nn("a")), "the index is the one asked")

	// On another node a pod waits for the same budget, and on this one there is a budget with a need of its own.
	s.Pods = append(s.Pods, pod("c", by("apps/v1", "Deployment", "d"), on("z")), pod("x", by("x/v1", "Y", "y"), tier("x"), on("n")))
	s.Budgets = append(s.Budgets, perTier("x", maxUnavailable("1")))
	s.Deployments = []*appsv1.Deployment{deployment("d", ptr.To(int32(3)))}
	drains, _, err := Nodes(disruption.NewIndex(s, disruption.Options{}), []string{"n", "z"}, Options{})
	require.NoError(t, err)
	require.Equal(t, []Outcome{Unknown, Unknown}, []Outcome{drains[0].Outcome, drains[1].Outcome})
	require.Equal(t, []purekube.Need{scaleNeed("apps", "Deployment", ns, "d")}, drains[1].Needs, "the lookup of its own budget")
	require.Len(t, drains[0].Needs, 2)
}

// What a budget answered about one pod is not what it answers about another that is not ready.
func TestDrainAsksAboutPodsThatAreNotReady(t *testing.T) {
	s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("2"), unhealthyPolicy(policyv1.AlwaysAllow))},
		Pods: []*corev1.Pod{pod("a", on("n")), pod("b", on("n"), unready), pod("c", on("n"))}}
	d, _ := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{Force: true})
	require.Equal(t, [][]string{{"b"}}, drained(d))
	require.Equal(t, []string{"a", "c"}, refusedPods(d))

	d.Refused[0].Eviction.Blocking[0].Name = "x"
	require.Equal(t, []types.NamespacedName{nn("web")}, d.Refused[1].Eviction.Blocking, "each answer stands for itself")
}

func TestDrainRefusedPodsAreSorted(t *testing.T) {
	twoBudgets := labelled(map[string]string{"app": "web", "tier": "x"})
	s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("0")), perTier("x")},
		Pods:                   []*corev1.Pod{pod("a", on("n"), by("v1", "ReplicationController", "rc")), pod("b", on("n"), by("v1", "ReplicationController", "rc"), twoBudgets)},
		ReplicationControllers: []*corev1.ReplicationController{replicationController("rc", ptr.To(int32(2)))}}
	d, _ := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
	require.Equal(t, []string{"a", "b"}, refusedPods(d), "b was given up before a")
	require.Equal(t, disruption.RefusedNow, d.Refused[0].Eviction.Verdict)
	require.Equal(t, disruption.RefusedConflictingBudgets, d.Refused[1].Eviction.Verdict, "what one of its budgets answered about a does not count")

	s.Pods = []*corev1.Pod{pod("b", on("n")), pod("b", on("n")), pod("a", on("n"))}
	d, _ = play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
	require.Equal(t, NotStarted, d.Outcome)
	require.Equal(t, []string{"a", "b"}, refusedPods(d), "a needs a flag, and b is there twice")

	s.Pods = []*corev1.Pod{pod("b"), pod("b")}
	d, _ = play(disruption.NewIndex(s, disruption.Options{}), "", Options{})
	require.Empty(t, cmp.Diff(Drain{Outcome: Now}, d), "pods without a node are on none")
}

func TestDrainNeedsAreSorted(t *testing.T) {
	of := func(name string) func(*corev1.Pod) { return by("x/v1", "Y", name) }
	s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1")), perTier("x", maxUnavailable("1"))},
		Pods: []*corev1.Pod{pod("a", on("n"), of("z")), pod("b", on("n"), of("z")), pod("c", on("n"), of("a"), tier("x"))}}
	d, _ := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
	need := purekube.Need{APIVersion: "x/v1", Kind: "Y", Namespace: ns, Subresource: "scale"}
	first, second := need, need
	first.Name, second.Name = "a", "z"
	require.Empty(t, cmp.Diff(Drain{Node: "n", Outcome: Unknown, Needs: []purekube.Need{first, second}}, d), "each once")
}

// kubectl leaves pods of DaemonSets of apps/v1 alone, and evicts those of other groups and versions.
func TestDrainOfADaemonSetOfAnotherGroup(t *testing.T) {
	for _, apiVersion := range []string{"apps.kruise.io/v1alpha1", "apps/v1beta2", "extensions/v1beta1"} {
		s := disruption.Snapshot{Now: now, Pods: []*corev1.Pod{pod("a", on("n"), by(apiVersion, "DaemonSet", "proxy"))}}
		for _, o := range []Options{{}, {IgnoreDaemonSets: true}} {
			d, _ := play(disruption.NewIndex(s, disruption.Options{}), "n", o)
			require.Equal(t, Now, d.Outcome, apiVersion)
			require.Equal(t, [][]string{{"a"}}, drained(d), apiVersion)
		}
	}
	s := disruption.Snapshot{Now: now, Pods: []*corev1.Pod{pod("a", on("n"), by("apps/v1", "DaemonSet", "proxy"))}}
	d, _ := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
	require.Equal(t, NotStarted, d.Outcome)
	require.Equal(t, ReasonDaemonSetPod, d.Refused[0].Code)
	d, _ = play(disruption.NewIndex(s, disruption.Options{}), "n", Options{IgnoreDaemonSets: true})
	require.Equal(t, Now, d.Outcome)
	require.Equal(t, ReasonDaemonSetPod, d.Skipped[0].Code)
}
