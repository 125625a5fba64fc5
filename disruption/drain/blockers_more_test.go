package drain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
)

// Causes of one kind on one node are told apart: each has its own pods, message and lookup.
func TestBlockersOfOneKind(t *testing.T) {
	stuck := func(namespace, name string, since time.Duration) *corev1.Pod {
		p := pod(name, on("n0"), labelled(map[string]string{"app": "other"}), by("apps/v1", "ReplicaSet", "gone"), deletedBy(since))
		p.Namespace = namespace
		return p
	}
	twice := stuck("elsewhere", "twice", 0)
	waits := func(of string) *corev1.Pod {
		return pod(of+"-0", on("n2"), labelled(map[string]string{"app": of}), by("example.com/v1", "Game", of))
	}
	selecting := func(of string) *policyv1.PodDisruptionBudget {
		return budget(named(of), maxUnavailable("1"), func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels = map[string]string{"app": of} })
	}
	agent := func(name string) *corev1.Pod {
		return pod(name, on("n1"), labelled(nil), by("apps/v1", "DaemonSet", "agent"))
	}
	s := disruption.Snapshot{
		Now: now, Budgets: []*policyv1.PodDisruptionBudget{selecting("chess"), selecting("go")},
		Pods: []*corev1.Pod{
			stuck(ns, "b", time.Hour), stuck(ns, "a", 2*time.Hour), stuck("elsewhere", "a", 3*time.Hour), twice, twice.DeepCopy(),
			waits("chess"), waits("go"), agent("agent-b"), agent("agent-a"), pod("bare", on("n1"), labelled(nil)),
		},
	}
	x := disruption.NewIndex(s, disruption.Options{})
	drains, _ := Each(x, []string{"n0", "n1", "n2"}, Options{})
	type found struct {
		cause Cause
		pods  []types.NamespacedName
		needs []purekube.Need
	}
	got := map[string]found{}
	for _, b := range Blockers(x, drains, Options{}) {
		require.Empty(t, b.Alone, "several causes stop each node")
		got[b.Message] = found{b.Cause, b.Pods, b.Needs}
	}
	since := func(name, at string) string {
		return "pod " + name + ": the pod should have been gone by " + at + " and is still there: its node may be down, or a finalizer may keep it"
	}
	need := func(of string) []purekube.Need { return []purekube.Need{scaleNeed("example.com", "Game", ns, of)} }
	require.Equal(t, map[string]found{
		since("shop/a", "2026-11-21T10:00:00Z"):                                    {CausePod, namesOf("a"), nil},
		since("shop/b", "2026-11-21T11:00:00Z"):                                    {CausePod, namesOf("b"), nil},
		since("elsewhere/a", "2026-11-21T09:00:00Z"):                               {CausePod, []types.NamespacedName{{Namespace: "elsewhere", Name: "a"}}, nil},
		"pod elsewhere/twice: several objects in the snapshot have this name":      {CausePod, []types.NamespacedName{{Namespace: "elsewhere", Name: "twice"}}, nil},
		"cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)": {CauseFlag, namesOf("agent-a", "agent-b"), nil},
		"cannot delete Pods that declare no controller (use --force to override)":  {CauseFlag, namesOf("bare"), nil},
		"needs scale of Game/shop/chess":                                           {CauseLookup, nil, need("chess")},
		"needs scale of Game/shop/go":                                              {CauseLookup, nil, need("go")},
	}, got)
}

func namesOf(pods ...string) []types.NamespacedName {
	var names []types.NamespacedName
	for _, p := range pods {
		names = append(names, nn(p))
	}
	return names
}

// With wrong options there is no answer, and with AsWritten nothing is computed again, so no change helps.
func TestBlockersWithoutFixes(t *testing.T) {
	x := disruption.NewIndex(threeNodes(maxUnavailable("0")), disruption.Options{})
	drains, err := Each(x, []string{"n0"}, Options{Budgets: AsWritten})
	require.NoError(t, err)
	blockers := Blockers(x, drains, Options{Budgets: AsWritten})
	require.Len(t, blockers, 1)
	require.Empty(t, blockers[0].Fixes)
	require.Nil(t, Blockers(x, drains, Options{Budgets: "Never"}))
}

// The replicas of each kind of workload can be the change. What expects the pods is the Deployment, where there is one.
func TestMoreReplicas(t *testing.T) {
	rs := replicaSet("rs", "d", ptr.To(int32(2)))
	for kind, tc := range map[string]struct {
		of func(*corev1.Pod)
		s  disruption.Snapshot
	}{
		"Deployment/shop/d": {by("apps/v1", "ReplicaSet", "rs"), disruption.Snapshot{
			ReplicaSets: []*appsv1.ReplicaSet{rs}, Deployments: []*appsv1.Deployment{deployment("d", ptr.To(int32(2)))}}},
		"ReplicationController/shop/rc": {by("v1", "ReplicationController", "rc"), disruption.Snapshot{
			ReplicationControllers: []*corev1.ReplicationController{replicationController("rc", ptr.To(int32(2)))}}},
		"StatefulSet/shop/s": {by("apps/v1", "StatefulSet", "s"), disruption.Snapshot{
			StatefulSets: []*appsv1.StatefulSet{statefulSet("s", ptr.To(int32(2)))}}},
	} {
		t.Run(kind, func(t *testing.T) {
			s := tc.s
			// 60 % of 2 are 2, of 3 are 2, too: a third replica lets one go.
			s.Now, s.Budgets = now, []*policyv1.PodDisruptionBudget{budget(minAvailable("60%"))}
			s.Pods = []*corev1.Pod{pod("s-0", tc.of, on("n0")), pod("s-1", tc.of, on("n1"))}
			x := disruption.NewIndex(s, disruption.Options{})
			drains, err := Each(x, []string{"n0", "n1"}, Options{})
			require.NoError(t, err)
			blockers := Blockers(x, drains, Options{})
			require.Len(t, blockers, 1)
			require.Contains(t, said(blockers[0]), "with 3 replicas of "+kind+", 2 of 2 drain in 1 rounds")
		})
	}
}

// More replicas are healthy, also where the pods that stay are not.
func TestMoreReplicasAreHealthy(t *testing.T) {
	s := threeNodes(minAvailable("3"))
	s.Pods[0] = pod("web-0", by("apps/v1", "ReplicaSet", "rs"), on("n0"), wants("cpu", "1"), unready)
	x := disruption.NewIndex(s, disruption.Options{})
	drains, err := Each(x, []string{"n0", "n1", "n2"}, Options{})
	require.NoError(t, err)
	blockers := Blockers(x, drains, Options{})
	require.Equal(t, nn("web-0"), blockers[0].Pods[0])
	require.Contains(t, said(blockers[0]), "with 5 replicas of ReplicaSet/shop/rs, 3 of 3 drain in 1 rounds")
}
