package disruption

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

const cannotEvict = "Cannot evict pod as it would violate the pod's disruption budget. "

func reported(current, desired, allowed int32) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) {
		b.Status.ObservedGeneration = b.Generation
		b.Status.CurrentHealthy, b.Status.DesiredHealthy, b.Status.DisruptionsAllowed = current, desired, allowed
	}
}

func condition(reason, message string) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) {
		b.Status.Conditions = []metav1.Condition{{
			Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: reason, Message: message}}
	}
}

func unhealthyPolicy(p policyv1.UnhealthyPodEvictionPolicyType) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) { b.Spec.UnhealthyPodEvictionPolicy = &p }
}

func manyDisrupted(n int) func(*policyv1.PodDisruptionBudget) {
	return func(b *policyv1.PodDisruptionBudget) {
		b.Status.DisruptedPods = map[string]metav1.Time{}
		for i := range n {
			b.Status.DisruptedPods[fmt.Sprint(i)] = ago(0)
		}
	}
}

func TestCheckEvictionByUnknownStatus(t *testing.T) {
	s := web(budget(maxUnavailable("1"), reported(3, 2, 1)), 3, pods(3, 3, byWeb)...)
	e, err := NewIndex(s, Options{}).CheckEviction(nn("web-a"), "recomputed")
	require.ErrorIs(t, err, errUnknownStatus)
	require.Zero(t, e)
}

func TestCheckEviction(t *testing.T) {
	unobserved := func(b *policyv1.PodDisruptionBudget) { b.Generation = b.Status.ObservedGeneration + 1 }
	for _, tc := range []struct {
		name, why string
		pod       *corev1.Pod
		budgets   []*policyv1.PodDisruptionBudget
		want      Eviction // without Update
	}{{
		name: "no budget", why: "nothing matchers it", pod: pod("a"),
		want: Eviction{Verdict: AllowedNoBudget, Reason: "no PodDisruptionBudget selects the pod"},
	}, {
		name: "budgets of other pods", why: "by labels, by namespace, without selector",
		pod: pod("a"),
		budgets: []*policyv1.PodDisruptionBudget{
			budget(named("labels"), selecting(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}})),
			budget(named("nil"), selecting(nil)),
			budget(func(b *policyv1.PodDisruptionBudget) { b.Namespace = "elsewhere" }),
		},
		want: Eviction{Verdict: AllowedNoBudget, Reason: "no PodDisruptionBudget selects the pod"},
	}, {
		name: "succeeded", why: "comes before every budget", pod: pod("a", phase(corev1.PodSucceeded)),
		budgets: []*policyv1.PodDisruptionBudget{budget(), budget(named("other"))},
		want:    Eviction{Verdict: AllowedNoBudget, Reason: "the pod has ended"},
	}, {
		name: "failed", why: "comes before every budget", pod: pod("a", phase(corev1.PodFailed)),
		budgets: []*policyv1.PodDisruptionBudget{budget()},
		want:    Eviction{Verdict: AllowedNoBudget, Reason: "the pod has ended"},
	}, {
		name: "pending", why: "it may become ready in between: only as it is", pod: pod("a", phase(corev1.PodPending)),
		budgets: []*policyv1.PodDisruptionBudget{budget()},
		want:    Eviction{Verdict: AllowedNoBudget, Reason: "the pod has not started", ResourceVersion: "7"},
	}, {
		name: "being deleted", why: "comes before every budget", pod: pod("a", deleting),
		budgets: []*policyv1.PodDisruptionBudget{budget()},
		want:    Eviction{Verdict: AllowedNoBudget, Reason: "the pod is already being deleted"},
	}, {
		name: "pending and being deleted", why: "it cannot become ready any more", pod: pod("a", phase(corev1.PodPending), deleting),
		want: Eviction{Verdict: AllowedNoBudget, Reason: "the pod has not started"},
	}, {
		name: "two budgets", why: "even if both would allow it", pod: pod("a"),
		budgets: []*policyv1.PodDisruptionBudget{budget(reported(3, 1, 2)), budget(named("all"), selecting(&metav1.LabelSelector{}), reported(3, 1, 2))},
		want: Eviction{Verdict: RefusedConflictingBudgets, Blocking: []types.NamespacedName{nn("all"), nn("web")},
			Reason: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."},
	}, {
		name: "two budgets and unready", why: "comes before health", pod: pod("a", unready),
		budgets: []*policyv1.PodDisruptionBudget{budget(unhealthyPolicy(policyv1.AlwaysAllow)), budget(named("all"), selecting(&metav1.LabelSelector{}))},
		want: Eviction{Verdict: RefusedConflictingBudgets, Blocking: []types.NamespacedName{nn("all"), nn("web")},
			Reason: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."},
	}, {
		name: "unready, AlwaysAllow", why: "whatever the numbers, even of an old generation", pod: pod("a", unready),
		budgets: []*policyv1.PodDisruptionBudget{budget(unhealthyPolicy(policyv1.AlwaysAllow), reported(0, 3, 0), unobserved)},
		want: Eviction{Verdict: AllowedUnhealthy, Budget: nn("web"), ResourceVersion: "7",
			Reason: "the pod is not ready, and the budget always allows the eviction of such pods"},
	}, {
		name: "unready, enough healthy", why: "its going disrupts nothing", pod: pod("a", unready),
		budgets: []*policyv1.PodDisruptionBudget{budget(reported(3, 3, 0))},
		want: Eviction{Verdict: AllowedUnhealthy, Budget: nn("web"), ResourceVersion: "7",
			Reason: "the pod is not ready, and currentHealthy is at least desiredHealthy"},
	}, {
		name: "unready, IfHealthyBudget, enough healthy", why: "the default spelled out", pod: pod("a", unready),
		budgets: []*policyv1.PodDisruptionBudget{budget(unhealthyPolicy(policyv1.IfHealthyBudget), reported(4, 3, 1))},
		want: Eviction{Verdict: AllowedUnhealthy, Budget: nn("web"), ResourceVersion: "7",
			Reason: "the pod is not ready, and currentHealthy is at least desiredHealthy"},
	}, {
		name: "unready, the only one desired is healthy", why: "its going disrupts nothing", pod: pod("a", unready),
		budgets: []*policyv1.PodDisruptionBudget{budget(reported(1, 1, 0))},
		want: Eviction{Verdict: AllowedUnhealthy, Budget: nn("web"), ResourceVersion: "7",
			Reason: "the pod is not ready, and currentHealthy is at least desiredHealthy"},
	}, {
		name: "unready, too few healthy", why: "the application is disrupted already", pod: pod("a", unready),
		budgets: []*policyv1.PodDisruptionBudget{budget(reported(2, 3, 0))},
		want: Eviction{Verdict: RefusedNow, Budget: nn("web"), Blocking: []types.NamespacedName{nn("web")},
			Reason: cannotEvict + "The disruption budget web needs 3 healthy pods and has 2 currently"},
	}, {
		name: "unready, none desired", why: "desiredHealthy 0 is also a status that was never computed", pod: pod("a", unready),
		budgets: []*policyv1.PodDisruptionBudget{budget(reported(2, 0, 0))},
		want: Eviction{Verdict: RefusedNow, Budget: nn("web"), Blocking: []types.NamespacedName{nn("web")},
			Reason: cannotEvict + "The disruption budget web does not allow evicting pods currently"},
	}, {
		name: "unready, unknown policy", why: "counts as the default", pod: pod("a", unready),
		budgets: []*policyv1.PodDisruptionBudget{budget(unhealthyPolicy("Sometimes"), reported(2, 3, 0))},
		want: Eviction{Verdict: RefusedNow, Budget: nn("web"), Blocking: []types.NamespacedName{nn("web")},
			Reason: cannotEvict + "The disruption budget web needs 3 healthy pods and has 2 currently"},
	}, {
		name: "not observed", why: "the numbers are of the old spec; comes before all numbers", pod: pod("a"),
		budgets: []*policyv1.PodDisruptionBudget{budget(reported(3, 1, -2), unobserved)},
		want: Eviction{Verdict: RefusedNow, Budget: nn("web"), Blocking: []types.NamespacedName{nn("web")},
			Reason: cannotEvict + "The disruption budget web is still being processed by the server."},
	}, {
		name: "negative", why: "comes before the size of the list", pod: pod("a"),
		budgets: []*policyv1.PodDisruptionBudget{budget(reported(3, 1, -1), manyDisrupted(2001))},
		want: Eviction{Verdict: RefusedForbidden, Budget: nn("web"), Blocking: []types.NamespacedName{nn("web")},
			Reason: `poddisruptionbudget.policy "web" is forbidden: pdb disruptions allowed is negative`},
	}, {
		name: "too many disrupted", why: "comes before 0 allowed", pod: pod("a"),
		budgets: []*policyv1.PodDisruptionBudget{budget(reported(3, 1, 0), manyDisrupted(2001))},
		want: Eviction{Verdict: RefusedForbidden, Budget: nn("web"), Blocking: []types.NamespacedName{nn("web")},
			Reason: `poddisruptionbudget.policy "web" is forbidden: DisruptedPods map too big - too many evictions not confirmed by PDB controller`},
	}, {
		name: "none allowed", why: "the numbers say why", pod: pod("a"),
		budgets: []*policyv1.PodDisruptionBudget{budget(reported(3, 3, 0), manyDisrupted(2000))},
		want: Eviction{Verdict: RefusedNow, Budget: nn("web"), Blocking: []types.NamespacedName{nn("web")},
			Reason: cannotEvict + "The disruption budget web needs 3 healthy pods and has 3 currently"},
	}, {
		name: "none allowed, sync failed", why: "the numbers are not to be trusted then", pod: pod("a"),
		budgets: []*policyv1.PodDisruptionBudget{budget(reported(2, 3, 0), condition("SyncFailed", "found no controllers for pod \"a\""))},
		want: Eviction{Verdict: RefusedNow, Budget: nn("web"), Blocking: []types.NamespacedName{nn("web")},
			Reason: cannotEvict + "The disruption budget web does not allow evicting pods currently because it failed sync: found no controllers for pod \"a\""},
	}, {
		name: "none allowed, condition with a message", why: "only where the numbers do not explain it", pod: pod("a"),
		budgets: []*policyv1.PodDisruptionBudget{budget(reported(4, 3, 0), condition("Frozen", "change freeze"))},
		want: Eviction{Verdict: RefusedNow, Budget: nn("web"), Blocking: []types.NamespacedName{nn("web")},
			Reason: cannotEvict + "The disruption budget web does not allow evicting pods currently (Frozen): change freeze"},
	}, {
		name: "none allowed, sync failed without a message", why: "there is nothing to tell of it", pod: pod("a"),
		budgets: []*policyv1.PodDisruptionBudget{budget(reported(2, 3, 0), condition("SyncFailed", ""))},
		want: Eviction{Verdict: RefusedNow, Budget: nn("web"), Blocking: []types.NamespacedName{nn("web")},
			Reason: cannotEvict + "The disruption budget web needs 3 healthy pods and has 2 currently"},
	}, {
		name: "none allowed, condition without a message", why: "there is nothing to tell of it", pod: pod("a"),
		budgets: []*policyv1.PodDisruptionBudget{budget(reported(4, 3, 0), condition("Frozen", ""))},
		want: Eviction{Verdict: RefusedNow, Budget: nn("web"), Blocking: []types.NamespacedName{nn("web")},
			Reason: cannotEvict + "The disruption budget web does not allow evicting pods currently"},
	}, {
		name: "none allowed, condition that is True", why: "it is no reason", pod: pod("a"),
		budgets: []*policyv1.PodDisruptionBudget{budget(reported(4, 3, 0), condition("Frozen", "change freeze"), func(b *policyv1.PodDisruptionBudget) {
			b.Status.Conditions[0].Status = metav1.ConditionTrue
		})},
		want: Eviction{Verdict: RefusedNow, Budget: nn("web"), Blocking: []types.NamespacedName{nn("web")},
			Reason: cannotEvict + "The disruption budget web does not allow evicting pods currently"},
	}, {
		name: "none allowed, no reason at hand", why: "no more is known", pod: pod("a"),
		budgets: []*policyv1.PodDisruptionBudget{budget(reported(4, 3, 0))},
		want: Eviction{Verdict: RefusedNow, Budget: nn("web"), Blocking: []types.NamespacedName{nn("web")},
			Reason: cannotEvict + "The disruption budget web does not allow evicting pods currently"},
	}, {
		name: "within budget", why: "one less from now on", pod: pod("a"),
		budgets: []*policyv1.PodDisruptionBudget{budget(reported(5, 3, 2))},
		want: Eviction{Verdict: AllowedWithinBudget, Budget: nn("web"),
			Reason: "within the budget, which allows 1 more"},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			s := Snapshot{Now: now, Pods: []*corev1.Pod{pod("z"), tc.pod}, Budgets: tc.budgets}
			got, err := NewIndex(s, Options{}).CheckEviction(nn("a"), AsWritten)
			require.NoError(t, err)
			require.Equal(t, tc.want.Verdict == AllowedWithinBudget, got.Update != nil)
			got.Update = nil
			require.Empty(t, cmp.Diff(tc.want, got), tc.why)
		})
	}
}

func TestCheckEvictionUpdate(t *testing.T) {
	b := budget(reported(5, 3, 2), disrupted(map[string]metav1.Time{"b": ago(time.Second)}))
	s := Snapshot{Now: now.Add(time.Millisecond), Pods: []*corev1.Pod{pod("a"), pod("c")}, Budgets: []*policyv1.PodDisruptionBudget{b}}
	first, err := NewIndex(s, Options{}).CheckEviction(nn("a"), AsWritten)
	require.NoError(t, err)
	want := b.DeepCopy()
	want.Status.DisruptionsAllowed = 1
	want.Status.DisruptedPods["a"] = metav1.NewTime(now)
	require.Empty(t, cmp.Diff(want, first.Update), "the rest, resourceVersion included, is as read; times have whole seconds")

	s.Budgets = []*policyv1.PodDisruptionBudget{first.Update}
	second, err := NewIndex(s, Options{}).CheckEviction(nn("c"), AsWritten)
	require.NoError(t, err)
	want.Status.DisruptionsAllowed = 0
	want.Status.DisruptedPods["c"] = metav1.NewTime(now)
	want.Status.Conditions = []metav1.Condition{{
		Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason,
		ObservedGeneration: 1, LastTransitionTime: metav1.NewTime(now)}}
	require.Empty(t, cmp.Diff(want, second.Update), "the last one turns the condition")
}

func TestCheckEvictionBadInput(t *testing.T) {
	broken := budget(named("broken"), selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}))
	t.Run("not there", func(t *testing.T) {
		got, err := NewIndex(Snapshot{Now: now}, Options{}).CheckEviction(nn("a"), AsWritten)
		require.ErrorIs(t, err, purekube.ErrNotFound)
		require.EqualError(t, err, "Pod shop/a: not in the snapshot")
		require.Empty(t, cmp.Diff(Eviction{}, got))
	})
	t.Run("a pod twice", func(t *testing.T) {
		got, err := NewIndex(Snapshot{Now: now, Pods: []*corev1.Pod{pod("a"), pod("a")}}, Options{}).CheckEviction(nn("a"), AsWritten)
		require.ErrorIs(t, err, purekube.ErrDuplicate)
		require.Zero(t, got.Verdict)
	})
	t.Run("a selector that does not compile", func(t *testing.T) {
		got, err := NewIndex(Snapshot{Now: now, Pods: []*corev1.Pod{pod("a")}, Budgets: []*policyv1.PodDisruptionBudget{broken, budget(reported(2, 1, 1))}}, Options{}).CheckEviction(nn("a"), AsWritten)
		require.ErrorContains(t, err, "PodDisruptionBudget shop/broken: spec.selector")
		require.Equal(t, AllowedWithinBudget, got.Verdict, "it covers no pod, in the handler too")
	})
	t.Run("a selector that does not compile, and a pod that has ended", func(t *testing.T) {
		got, err := NewIndex(Snapshot{Now: now, Pods: []*corev1.Pod{pod("a", phase(corev1.PodSucceeded))}, Budgets: []*policyv1.PodDisruptionBudget{broken}}, Options{}).CheckEviction(nn("a"), AsWritten)
		require.NoError(t, err, "no budget counts, so none is wrong")
		require.Equal(t, AllowedNoBudget, got.Verdict)
	})
	t.Run("a budget twice", func(t *testing.T) {
		elsewhere := budget(selecting(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}))
		got, err := NewIndex(Snapshot{Now: now, Pods: []*corev1.Pod{pod("a")}, Budgets: []*policyv1.PodDisruptionBudget{elsewhere, budget(reported(2, 1, 1))}}, Options{}).CheckEviction(nn("a"), AsWritten)
		require.ErrorIs(t, err, purekube.ErrDuplicate)
		require.Equal(t, RefusedConflictingBudgets, got.Verdict)
		got, err = NewIndex(Snapshot{Now: now, Pods: []*corev1.Pod{pod("a")}, Budgets: []*policyv1.PodDisruptionBudget{elsewhere, elsewhere}}, Options{}).CheckEviction(nn("a"), AsWritten)
		require.ErrorIs(t, err, purekube.ErrDuplicate)
		require.Equal(t, RefusedConflictingBudgets, got.Verdict, "which pods a budget of that name selects is unknown")
		z := budget(named("z"))
		got, err = NewIndex(Snapshot{Now: now, Pods: []*corev1.Pod{pod("a")}, Budgets: []*policyv1.PodDisruptionBudget{z, z, budget()}}, Options{}).CheckEviction(nn("a"), AsWritten)
		require.ErrorIs(t, err, purekube.ErrDuplicate)
		require.Equal(t, []types.NamespacedName{nn("web"), nn("z")}, got.Blocking, "sorted")
	})
	t.Run("nil objects", func(t *testing.T) {
		got, err := NewIndex(Snapshot{Now: now, Pods: []*corev1.Pod{nil, pod("a")}, Budgets: []*policyv1.PodDisruptionBudget{nil}}, Options{}).CheckEviction(nn("a"), AsWritten)
		require.ErrorIs(t, err, purekube.ErrNil)
		require.Equal(t, AllowedNoBudget, got.Verdict)
	})
}

func TestCheckEvictionRecompute(t *testing.T) {
	t.Run("a status that is out of date", func(t *testing.T) {
		s := web(budget(maxUnavailable("1"), reported(3, 2, 1)), 3, pods(3, 2, byWeb)...)
		believed, err := NewIndex(s, Options{}).CheckEviction(nn("web-a"), AsWritten)
		require.NoError(t, err)
		require.Equal(t, AllowedWithinBudget, believed.Verdict, "the handler goes by what is written")
		computed, err := NewIndex(s, Options{}).CheckEviction(nn("web-a"), Recomputed)
		require.NoError(t, err)
		require.Equal(t, RefusedNow, computed.Verdict)
		require.Equal(t, cannotEvict+"The disruption budget web needs 2 healthy pods and has 2 currently", computed.Reason)
	})
	t.Run("a status that was never computed", func(t *testing.T) {
		s := web(budget(maxUnavailable("2")), 3, pods(3, 3, byWeb)...)
		e, err := NewIndex(s, Options{}).CheckEviction(nn("web-a"), Recomputed)
		require.NoError(t, err)
		require.Equal(t, AllowedWithinBudget, e.Verdict)
		require.Empty(t, cmp.Diff(Counts{ExpectedPods: 3, DesiredHealthy: 1, CurrentHealthy: 3, DisruptionsAllowed: 1}, countsOf(e.Update.Status)))
	})
	t.Run("a status that is right", func(t *testing.T) {
		s := web(budget(maxUnavailable("2")), 3, pods(3, 3, byWeb)...)
		r, err := Plan(s, key("web"), Options{})
		require.NoError(t, err)
		s.Budgets[0] = r.Actions[0].(UpdateStatus).Budget
		e, err := NewIndex(s, Options{}).CheckEviction(nn("web-a"), Recomputed)
		require.NoError(t, err)
		require.EqualValues(t, 1, e.Update.Status.DisruptionsAllowed)
	})
	t.Run("a scale that is not known", func(t *testing.T) {
		s := web(budget(maxUnavailable("2"), reported(3, 1, 2)), 3, pods(3, 3, by("x/v1", "Y", "y"))...)
		e, err := NewIndex(s, Options{}).CheckEviction(nn("web-a"), Recomputed)
		require.NoError(t, err)
		require.Zero(t, e.Verdict)
		require.Equal(t, []purekube.Need{{APIVersion: "x/v1", Kind: "Y", Namespace: ns, Name: "y", Subresource: "scale"}}, e.Needs)
	})
	t.Run("a status that cannot be computed", func(t *testing.T) {
		s := web(budget(maxUnavailable("x%"), reported(3, 1, 2)), 3, pods(3, 3, byWeb)...)
		e, err := NewIndex(s, Options{}).CheckEviction(nn("web-a"), Recomputed)
		require.ErrorContains(t, err, "spec.maxUnavailable")
		require.Equal(t, RefusedNow, e.Verdict)
		require.Contains(t, e.Reason, "because it failed sync: invalid value")
	})
}

// evictOneAfterTheOther simulates evictions as CheckEviction's comment says, and returns the pods that go.
func evictOneAfterTheOther(t *testing.T, s Snapshot, o Options) (gone []string) {
	t.Helper()
	for i, p := range s.Pods {
		e, err := NewIndex(s, o).CheckEviction(nn(p.Name), Recomputed)
		require.NoError(t, err)
		require.Empty(t, e.Needs)
		if !e.Verdict.Allowed() {
			require.Equal(t, RefusedNow, e.Verdict)
			continue
		}
		gone = append(gone, p.Name)
		for j, b := range s.Budgets {
			if e.Update != nil && KeyOf(b) == KeyOf(e.Update) {
				s.Budgets[j] = e.Update
			}
		}
		terminating := p.DeepCopy()
		terminating.DeletionTimestamp = ptr.To(metav1.NewTime(s.Now))
		s.Pods[i] = terminating
	}
	return gone
}

func TestCheckEvictionOneAfterTheOther(t *testing.T) {
	// each has so many StatefulSets of so many replicas, all healthy.
	each := func(sets, replicas int, b *policyv1.PodDisruptionBudget) Snapshot {
		s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{b}}
		for i := range sets {
			name := fmt.Sprint("db", i)
			s.StatefulSets = append(s.StatefulSets, statefulSet(name, ptr.To(int32(replicas))))
			for k := range replicas {
				s.Pods = append(s.Pods, pod(fmt.Sprintf("%s-%d", name, k), by("apps/v1", "StatefulSet", name)))
			}
		}
		return s
	}
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		want         int
	}{
		{"single replicas, maxUnavailable 1", "one of three may be missing", each(3, 1, budget(maxUnavailable("1"))), 1},
		{"single replicas, minAvailable 50%", "half of ten have to stay", each(10, 1, budget(minAvailable("50%"))), 5},
		{"single replicas, maxUnavailable 30%", "30 % of ten, rounded up", each(10, 1, budget(maxUnavailable("30%"))), 3},
		{"single replicas, minAvailable 2", "a number is a number", each(3, 1, budget(minAvailable("2"))), 1},
		{"a single replica, maxUnavailable 0", "never", each(1, 1, budget(maxUnavailable("0"))), 0},
		{"a single replica, minAvailable 50%", "half of one, rounded up, is all", each(1, 1, budget(minAvailable("50%"))), 0},
		{"several controllers, 25% of 12", "the sum of the scales counts", each(3, 4, budget(maxUnavailable("25%"))), 3},
		{"a Deployment", "30 % of seven, rounded up", web(budget(maxUnavailable("30%")), 7, pods(7, 7, byWeb)...), 3},
	} {
		for mode, o := range bothModes {
			t.Run(tc.name+"/"+mode, func(t *testing.T) {
				require.Len(t, evictOneAfterTheOther(t, deepCopy(tc.s), o), tc.want, tc.reason)
			})
		}
	}
}

func TestVerdict(t *testing.T) {
	for v, code := range map[Verdict]int{NoVerdict: 0, AllowedNoBudget: 201, AllowedUnhealthy: 201, AllowedWithinBudget: 201,
		RefusedNow: 429, RefusedForbidden: 403, RefusedConflictingBudgets: 500, "another": 0} {
		require.Equal(t, code == 201, v.Allowed(), v)
		require.Equal(t, code, v.StatusCode(), v)
	}
}
