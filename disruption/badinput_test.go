package disruption

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// The default refuses it, and says of which object. Upstream computes with it.
func TestWhatAnAPIServerDoesNotAdmit(t *testing.T) {
	twoOf := func(replicas int32, change func(*policyv1.PodDisruptionBudget)) Snapshot {
		return web(budget(change), replicas, pods(2, 2, byWeb)...)
	}
	alone := func(b *policyv1.PodDisruptionBudget) Snapshot {
		return Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{b}, Pods: []*corev1.Pod{pod("a", by("apps/v1", "StatefulSet", "a"))},
			StatefulSets: []*appsv1.StatefulSet{statefulSet("a", ptr.To(int32(-4)))}}
	}
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		err          string
		upstream     Counts
	}{
		{name: "negative minAvailable", reason: "more may go than there are", s: twoOf(2, minAvailable("-1")),
			err:      "PodDisruptionBudget shop/web: spec.minAvailable: must not be negative",
			upstream: Counts{ExpectedPods: 2, DesiredHealthy: -1, CurrentHealthy: 2, DisruptionsAllowed: 3}},
		{name: "negative percentage", reason: "-50 % of 4 are -2", s: twoOf(4, minAvailable("-50%")),
			err:      "PodDisruptionBudget shop/web: spec.minAvailable: must not be negative",
			upstream: Counts{ExpectedPods: 4, DesiredHealthy: -2, CurrentHealthy: 2, DisruptionsAllowed: 4}},
		{name: "negative maxUnavailable", reason: "more than all have to stay", s: twoOf(2, maxUnavailable("-1")),
			err:      "PodDisruptionBudget shop/web: spec.maxUnavailable: must not be negative",
			upstream: Counts{ExpectedPods: 2, DesiredHealthy: 3, CurrentHealthy: 2}},
		{name: "percentage beyond int32", reason: "2^31 % of 100 are 2^31, which is -2^31 in 32 bits, and so is what is healthy beyond that",
			s: twoOf(100, minAvailable("2147483648%")), err: "PodDisruptionBudget shop/web: spec.minAvailable: percentage out of range",
			upstream: Counts{ExpectedPods: 100, DesiredHealthy: math.MinInt32, CurrentHealthy: 2}},
		{name: "negative replicas of a Deployment", reason: "they would be subtracted from what others want", s: twoOf(-4, maxUnavailable("1")),
			err:      "Deployment shop/web: spec.replicas: must not be negative",
			upstream: Counts{ExpectedPods: -4, CurrentHealthy: 2}},
		{name: "negative replicas of a StatefulSet", reason: "they would be subtracted from what others want", s: alone(budget(maxUnavailable("1"))),
			err:      "StatefulSet shop/a: spec.replicas: must not be negative",
			upstream: Counts{ExpectedPods: -4, CurrentHealthy: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := Plan(tc.s, key("web"), Options{})
			require.EqualError(t, err, tc.err, tc.reason)
			st := written(t, r)
			require.Zero(t, st.DisruptionsAllowed)
			require.Equal(t, policyv1.SyncFailedReason, st.Conditions[0].Reason)
			require.Equal(t, tc.err, st.Conditions[0].Message, "upstream has no text for it")
			require.Empty(t, cmp.Diff(tc.upstream, countsOf(statusOf(t, tc.s, bothModes["upstream"]))), tc.reason)
		})
	}
}

func TestPercentageBeyondInt64(t *testing.T) {
	s := web(budget(minAvailable("9223372036854775808%")), 2, pod("a", byWeb), pod("b", byWeb))
	for mode, text := range map[string]string{
		"default":  "PodDisruptionBudget shop/web: spec.minAvailable: percentage out of range",
		"upstream": `invalid value for IntOrString: invalid value "9223372036854775808%": strconv.Atoi: parsing "9223372036854775808": value out of range`,
	} {
		t.Run(mode, func(t *testing.T) {
			r, err := Plan(s, key("web"), bothModes[mode])
			require.Error(t, err)
			st := written(t, r)
			require.Zero(t, st.DisruptionsAllowed)
			require.Equal(t, text, st.Conditions[0].Message)
		})
	}
}

func TestBadInput(t *testing.T) {
	t.Run("nil objects", func(t *testing.T) {
		s := web(budget(maxUnavailable("1")), 2, pod("a", byWeb), nil, pod("b", byWeb))
		s.Budgets = append(s.Budgets, nil)
		s.ReplicationControllers = []*corev1.ReplicationController{nil}
		s.ReplicaSets = append(s.ReplicaSets, nil, nil)
		s.Deployments = append(s.Deployments, nil)
		s.StatefulSets = []*appsv1.StatefulSet{nil}
		r, err := Plan(s, key("web"), Options{})
		require.ErrorIs(t, err, purekube.ErrNil)
		require.Equal(t, 6, len(err.(interface{ Unwrap() []error }).Unwrap()), "one for each kind")
		status := written(t, r)
		require.Zero(t, status.DisruptionsAllowed, "the nil pod may be the only one of another controller")
		require.Equal(t, "Pod: nil object in the snapshot", status.Conditions[0].Message)
		all, whole := PlanAll(s, Options{})
		require.EqualError(t, whole, err.Error(), "nil pointers concern every key")
		require.Len(t, all, 1)
		require.EqualError(t, all[0].Err, "Pod: nil object in the snapshot")

		s.Pods = slices.DeleteFunc(s.Pods, func(p *corev1.Pod) bool { return p == nil })
		r, err = Plan(s, key("web"), Options{})
		require.ErrorIs(t, err, purekube.ErrNil)
		require.EqualValues(t, 1, written(t, r).DisruptionsAllowed, "the rest of the plan is there")
	})
	t.Run("pods that cannot be counted", func(t *testing.T) {
		nameless := func(namespace string) *corev1.Pod {
			return pod("", func(p *corev1.Pod) { p.Namespace = namespace })
		}
		for _, tc := range []struct {
			name, reason string
			budget       *policyv1.PodDisruptionBudget
			more         *corev1.Pod
			upstream     bool
			allowed      int32
			message      string
		}{
			{"maxUnavailable, nil", "its controller may want pods that are not there", budget(maxUnavailable("1")), nil, false, 0, "Pod: nil object in the snapshot"},
			{"maxUnavailable, no name", "as nil", budget(maxUnavailable("1")), nameless(ns), false, 0, "Pod: metadata.name: required"},
			{"minAvailable 50%, nil", "a percentage is one of the scales", budget(minAvailable("50%")), nil, false, 0, "Pod: nil object in the snapshot"},
			{"minAvailable 1, nil", "how many pods there should be does not count", budget(minAvailable("1")), nil, false, 1, ""},
			{"no name, of another namespace", "its controller is of that namespace too", budget(maxUnavailable("1")), nameless("elsewhere"), false, 1, ""},
			{"maxUnavailable 0", "allows nothing anyway, and keeps its numbers (D-13)", budget(maxUnavailable("0")), nil, false, 0, ""},
			{"MatchUpstream", "upstream has no such pods", budget(maxUnavailable("1")), nil, true, 0, "Pod: nil object in the snapshot"},
		} {
			t.Run(tc.name, func(t *testing.T) {
				var o Options
				if tc.upstream {
					o.MatchUpstream = purekube.V1_36
				}
				full := web(tc.budget, 2, pod("a", byWeb), pod("b", byWeb), tc.more)
				r, err := Plan(full, key("web"), o)
				require.Error(t, err)
				status := written(t, r)
				require.Equal(t, tc.allowed, status.DisruptionsAllowed, tc.reason)
				failed := apimeta.FindStatusCondition(status.Conditions, policyv1.DisruptionAllowedCondition)
				if tc.message == "" {
					require.NotEqual(t, policyv1.SyncFailedReason, failed.Reason)
				} else {
					require.Equal(t, tc.message, failed.Message)
				}

				named := full
				named.Pods = full.Pods[:2]
				x, affected := NewIndex(named, o).With(Snapshot{Pods: full.Pods[2:]})
				byIndex, _ := x.Plan(key("web"))
				require.Empty(t, cmp.Diff(r, byIndex))
				if tc.message != "" {
					require.Equal(t, []purekube.Key{key("web")}, affected)
				}
				x, _ = x.With(Snapshot{Pods: full.Pods[:1]})
				byIndex, _ = x.Plan(key("web"))
				require.Empty(t, cmp.Diff(r, byIndex), "nothing says which pod it was, so that it stays")
			})
		}
	})
	t.Run("no name", func(t *testing.T) {
		nameless := named("")
		s := web(budget(maxUnavailable("1")), 2, pod("a", byWeb), pod("b", byWeb), pod("", byWeb, func(p *corev1.Pod) { p.Namespace = "elsewhere" }))
		s.Budgets = append(s.Budgets, budget(nameless, func(b *policyv1.PodDisruptionBudget) { b.Namespace = "" }))
		r, err := Plan(s, key("web"), Options{})
		require.ErrorContains(t, err, "Pod: metadata.name: ")
		require.ErrorContains(t, err, "PodDisruptionBudget: metadata.name: ")
		require.EqualValues(t, 1, written(t, r).DisruptionsAllowed, "the rest of the plan is there: the pod is of another namespace")
		all, whole := PlanAll(s, Options{})
		require.EqualError(t, whole, err.Error())
		require.Len(t, all, 1)
		require.Equal(t, key("web"), all[0].Key)
		require.Empty(t, affectedBy(s, Snapshot{}, ofPod(s.Pods[2]), Options{}))
	})
	t.Run("a budget twice", func(t *testing.T) {
		s := web(budget(maxUnavailable("1")), 2, pods(2, 2, byWeb)...)
		s.Budgets = append(s.Budgets, budget(maxUnavailable("2")))
		r, err := Plan(s, key("web"), Options{})
		require.True(t, r.Empty())
		require.EqualError(t, err, "PodDisruptionBudget shop/web: several objects in the snapshot have this name")
		all, whole := PlanAll(s, Options{})
		require.NoError(t, whole)
		require.Len(t, all, 1)
		require.Equal(t, key("web"), all[0].Key)
		require.EqualError(t, all[0].Err, err.Error())
	})
	t.Run("a pod twice", func(t *testing.T) {
		s := web(budget(maxUnavailable("1")), 2, pod("a", byWeb), pod("a", byWeb), pod("b", byWeb), pod("c", labelled(nil)), pod("c", labelled(nil)))
		r, err := Plan(s, key("web"), Options{})
		require.EqualError(t, err, "Pod shop/a: several objects in the snapshot have this name", "the first by name is enough")
		require.Zero(t, written(t, r).DisruptionsAllowed)
		require.Equal(t, err.Error(), written(t, r).Conditions[0].Message)
		all, whole := PlanAll(s, Options{})
		require.NoError(t, whole)
		require.Len(t, all, 3)
		require.EqualError(t, all[2].Err, err.Error())
		require.Equal(t, podNamed("a"), all[0].Key)
		require.EqualError(t, all[0].Err, err.Error(), "it has no plan of its own either")
		require.EqualError(t, all[1].Err, "Pod shop/c: several objects in the snapshot have this name")
	})
	t.Run("a name in three namespaces", func(t *testing.T) {
		in := func(namespace string) *corev1.Pod {
			return pod("a", byWeb, func(p *corev1.Pod) { p.Namespace = namespace })
		}
		s := web(budget(maxUnavailable("1")), 1, in(ns), in("b"), in("c"))
		all, _ := PlanAll(s, Options{})
		require.Len(t, all, 1, "is three pods")
		s.Pods = append(s.Pods, in("c"))
		all, _ = PlanAll(s, Options{})
		require.EqualError(t, all[0].Err, "Pod c/a: several objects in the snapshot have this name")
		s.Pods = append(s.Pods, in("b"))
		all, _ = PlanAll(s, Options{})
		require.ErrorContains(t, all[0].Err, "Pod b/a: several objects")
	})
	t.Run("a pod twice, and a number as minAvailable", func(t *testing.T) {
		s := web(budget(minAvailable("1")), 2, pod("a"), pod("a", labelled(nil)), pod("b"), pod("b"), pod("c"))
		r, err := Plan(s, key("web"), Options{})
		require.EqualError(t, err, "Pod shop/a: several objects in the snapshot have this name")
		require.Empty(t, cmp.Diff(Counts{ExpectedPods: 1, DesiredHealthy: 1, CurrentHealthy: 1}, countsOf(written(t, r))), "none of them is counted on")
	})
	t.Run("a pod twice and maxUnavailable 0", func(t *testing.T) {
		r, err := Plan(web(budget(maxUnavailable("0")), 2, pod("a"), pod("a"), pod("b", byWeb)), key("web"), Options{})
		require.ErrorIs(t, err, purekube.ErrDuplicate)
		require.Empty(t, cmp.Diff(Counts{ExpectedPods: 1, DesiredHealthy: 1, CurrentHealthy: 1}, countsOf(written(t, r))), "nothing is allowed anyway (D-13)")
	})
	t.Run("a pod twice and evicted", func(t *testing.T) {
		s := web(budget(minAvailable("1"), disrupted(map[string]metav1.Time{"a": ago(time.Second), "b": ago(time.Hour)})), 2,
			pod("a", byWeb), pod("a", byWeb), pod("b", byWeb), pod("b", byWeb))
		r, _ := Plan(s, key("web"), Options{})
		require.Equal(t, map[string]metav1.Time{"a": ago(time.Second)}, written(t, r).DisruptedPods)
	})
	t.Run("a workload twice", func(t *testing.T) {
		s := web(budget(maxUnavailable("1")), 2, pods(2, 2, byWeb)...)
		s.Deployments = append(s.Deployments, deployment("web", ptr.To(int32(9))), deployment("idle", nil), deployment("idle", nil))
		r, err := Plan(s, key("web"), Options{})
		require.EqualError(t, err, "Deployment shop/web: several objects in the snapshot have this name")
		require.Equal(t, policyv1.SyncFailedReason, written(t, r).Conditions[0].Reason, "its scale is not known")
		require.Equal(t, err.Error(), written(t, r).Conditions[0].Message, "upstream has no text for it")
		_, whole := PlanAll(s, Options{})
		require.EqualError(t, whole, "Deployment shop/idle: several objects in the snapshot have this name\n"+err.Error())
	})
	for _, w := range []struct {
		apiVersion, kind string
		s                Snapshot
	}{
		{"v1", "ReplicationController", Snapshot{ReplicationControllers: []*corev1.ReplicationController{replicationController("x", nil), replicationController("x", nil)}}},
		{"apps/v1", "ReplicaSet", Snapshot{ReplicaSets: []*appsv1.ReplicaSet{replicaSet("x", "", nil), replicaSet("x", "", nil)}}},
		{"apps/v1", "StatefulSet", Snapshot{StatefulSets: []*appsv1.StatefulSet{statefulSet("x", nil), statefulSet("x", nil)}}},
	} {
		t.Run("a workload twice/"+w.kind, func(t *testing.T) {
			w.s.Now, w.s.Budgets, w.s.Pods = now, []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}, pods(2, 2, by(w.apiVersion, w.kind, "x"))
			r, err := Plan(w.s, key("web"), Options{})
			require.EqualError(t, err, w.kind+" shop/x: several objects in the snapshot have this name")
			require.Equal(t, err.Error(), written(t, r).Conditions[0].Message, "its scale is not known, and no lookup tells")
		})
	}
	t.Run("D-13 a workload twice", func(t *testing.T) {
		s := web(budget(maxUnavailable("0")), 2, pods(2, 2, byWeb)...)
		s.ReplicaSets = append(s.ReplicaSets, replicaSet("web-rs", "", nil))
		r, err := Plan(s, key("web"), Options{})
		require.EqualError(t, err, "ReplicaSet shop/web-rs: several objects in the snapshot have this name")
		require.EqualValues(t, 2, written(t, r).DesiredHealthy)
	})
	t.Run("not there", func(t *testing.T) {
		r, err := Plan(web(budget(maxUnavailable("1")), 2), key("other"), Options{})
		require.NoError(t, err)
		require.True(t, r.Empty())
	})
	t.Run("several labels that are none", func(t *testing.T) {
		s := web(budget(maxUnavailable("1"), selecting(&metav1.LabelSelector{MatchLabels: map[string]string{
			"app": "web", "-c": "x", "-b": "x", "-d": "x", "e": "-", "-f": "x"}})), 2)
		_, err := Plan(s, key("web"), Options{})
		require.ErrorContains(t, err, `spec.selector: key: Invalid value: "-b"`, "the first by name")
		for range 50 {
			_, again := Plan(s, key("web"), Options{})
			require.EqualError(t, again, err.Error())
		}
	})
	for name, set := range map[string]map[string]string{"a key": {"-app": "web"}, "a value": {"app": "-"}, "a later one": {"app": "web", "tier": "-"}} {
		t.Run(name+" that is none", func(t *testing.T) {
			_, err := Plan(web(budget(maxUnavailable("1"), selecting(&metav1.LabelSelector{MatchLabels: set})), 2), key("web"), Options{})
			require.ErrorContains(t, err, "PodDisruptionBudget shop/web: spec.selector: ")
			require.ErrorContains(t, err, "Invalid value")
		})
	}
	t.Run("nothing at all", func(t *testing.T) {
		for _, k := range []purekube.Key{{}, key("a"), podNamed("a"), {Kind: "node", Name: "a"}} {
			r, err := Plan(Snapshot{}, k, Options{})
			require.NoError(t, err)
			require.True(t, r.Empty())
		}
		all, err := PlanAll(Snapshot{}, Options{})
		require.NoError(t, err)
		require.Empty(t, all)
	})
	t.Run("no UIDs", func(t *testing.T) {
		s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))},
			Pods:         []*corev1.Pod{pod("a", by("apps/v1", "StatefulSet", "x")), pod("b", by("apps/v1", "StatefulSet", "y"))},
			StatefulSets: []*appsv1.StatefulSet{statefulSet("x", ptr.To(int32(2))), statefulSet("y", ptr.To(int32(3)))}}
		for _, p := range s.Pods {
			withoutUIDs(p)
		}
		for _, ss := range s.StatefulSets {
			ss.UID = ""
		}
		require.EqualValues(t, 5, statusOf(t, s, Options{}).ExpectedPods, "manifests that no API server has seen")
		s.StatefulSets, s.Answers = nil, map[purekube.Need]purekube.Answer{scaleNeed("apps", "StatefulSet", ns, "x"): {}, scaleNeed("apps", "StatefulSet", ns, "y"): {}}
		_, err := Plan(s, key("web"), Options{})
		require.ErrorContains(t, err, `found no controllers for pod "a"`, "what was not found has no UID either")

		s.Pods = []*corev1.Pod{pod("a", by("x/v1", "Y", "y"), withoutUIDs), pod("b", by("z/v1", "Y", "y"), withoutUIDs)}
		s.Answers = map[purekube.Need]purekube.Answer{scaleNeed("x", "Y", ns, "y"): scaleOf("", 2), scaleNeed("z", "Y", ns, "y"): scaleOf("", 3)}
		require.EqualValues(t, 5, statusOf(t, s, Options{}).ExpectedPods, "one name in two groups is two controllers")

		rs := replicaSet("new", "web", nil)
		rs.UID, rs.OwnerReferences[1].UID = "", ""
		web := deployment("web", ptr.To(int32(3)))
		web.UID = ""
		s.Pods = []*corev1.Pod{pod("a", by("apps/v1", "ReplicaSet", "new"), withoutUIDs), pod("b", by("extensions/v1beta1", "Deployment", "web"), withoutUIDs)}
		s.ReplicaSets, s.Deployments = []*appsv1.ReplicaSet{rs}, []*appsv1.Deployment{web}
		s.Answers = map[purekube.Need]purekube.Answer{scaleNeed("extensions", "Deployment", ns, "web"): scaleOf("", 3)}
		require.EqualValues(t, 3, statusOf(t, s, Options{}).ExpectedPods, "a Deployment is the same in both of its groups")
	})
	t.Run("answers that contradict one another", func(t *testing.T) {
		old := replicaSet("old", "", nil)
		old.ObjectMeta = owned(old.ObjectMeta, "extensions/v1beta1", "Deployment", "d")
		x := by("apps/v1", "ReplicaSet", "new")
		for _, tc := range []struct {
			name string
			s    Snapshot
		}{
			{"of a Deployment in two groups", Snapshot{Pods: []*corev1.Pod{pod("a", x), pod("b", by("apps/v1", "ReplicaSet", "old"))},
				ReplicaSets: []*appsv1.ReplicaSet{old, replicaSet("new", "d", nil)},
				Answers: map[purekube.Need]purekube.Answer{scaleNeed("apps", "Deployment", ns, "d"): scaleOf("uid-d", 2),
					scaleNeed("extensions", "Deployment", ns, "d"): scaleOf("uid-d", 3)}}},
		} {
			tc.s.Now, tc.s.Budgets = now, []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}
			want := statusOf(t, tc.s, Options{})
			slices.Reverse(tc.s.Pods)
			require.Equal(t, want, statusOf(t, tc.s, Options{}), "%s: the order of the pods does not matter", tc.name)
		}
	})
}

func withoutUIDs(p *corev1.Pod) { p.OwnerReferences[1].UID = "" }
