package drain

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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
		"needs the scale of Game/shop/chess, which is not in the snapshot":         {CauseLookup, nil, need("chess")},
		"needs the scale of Game/shop/go, which is not in the snapshot":            {CauseLookup, nil, need("go")},
	}, got)
}

func namesOf(pods ...string) []types.NamespacedName {
	var names []types.NamespacedName
	for _, p := range pods {
		names = append(names, nn(p))
	}
	return names
}

// With wrong options there is no answer. With AsWritten the status stays what it is: another number of the budget or more
// pods do not help, and a flag, or AlwaysAllow, does.
func TestBlockersAsWritten(t *testing.T) {
	o := Options{Budgets: AsWritten}
	s := threeNodes(minAvailable("3"))
	s.Pods = append(s.Pods, pod("bare", on("n1"), labelled(nil)))
	s.Pods[2] = pod("web-2", by("apps/v1", "ReplicaSet", "rs"), on("n2"), unready)
	x := disruption.NewIndex(s, disruption.Options{})
	drains, err := Each(x, []string{"n0", "n1", "n2"}, o)
	require.NoError(t, err)
	var got []string
	for _, b := range Blockers(x, drains, o) {
		got = append(got, said(b))
	}
	require.Equal(t, []string{
		"budget shop/web (minAvailable 3) never allows a disruption: stops n0 n2, alone n0 n2\n" +
			"  with unhealthyPodEvictionPolicy AlwaysAllow, 1 of 2 drain in 1 rounds",
		"cannot delete Pods that declare no controller (use --force to override): stops n1, alone n1\n" +
			"  with --force, 0 of 1 drain",
	}, got)
	require.Nil(t, Blockers(x, drains, Options{Budgets: "Never"}))

	// The status is of another spec, so the eviction is refused, although the budget would allow it.
	s = threeNodes(maxUnavailable("1"))
	s.Budgets[0].Generation = 2
	x = disruption.NewIndex(s, disruption.Options{})
	drains, err = Each(x, []string{"n0"}, o)
	require.NoError(t, err)
	require.Equal(t, "budget shop/web (maxUnavailable 1): Cannot evict pod as it would violate the pod's disruption budget. "+
		"The disruption budget web is still being processed by the server.", Blockers(x, drains, o)[0].Message)
}

// The replicas of each kind of workload can be the change. What expects the pods is the Deployment, where there is one.
func TestMoreReplicas(t *testing.T) {
	for kind, tc := range map[string]struct {
		of func(*corev1.Pod)
		s  disruption.Snapshot
	}{
		"Deployment/shop/d": {by("apps/v1", "ReplicaSet", "rs"), disruption.Snapshot{
			ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "d", ptr.To(int32(2)))}, Deployments: []*appsv1.Deployment{deployment("d", ptr.To(int32(2)))}}},
		"ReplicaSet/shop/rs": {by("apps/v1", "ReplicaSet", "rs"), disruption.Snapshot{
			ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(2)))}}},
		"ReplicationController/shop/rc": {by("v1", "ReplicationController", "rc"), disruption.Snapshot{
			ReplicationControllers: []*corev1.ReplicationController{replicationController("rc", ptr.To(int32(2)))}}},
		"StatefulSet/shop/s": {by("apps/v1", "StatefulSet", "s"), disruption.Snapshot{
			StatefulSets: []*appsv1.StatefulSet{statefulSet("s", ptr.To(int32(2)))}}},
	} {
		t.Run(kind, func(t *testing.T) {
			fixes := func(demand string) string {
				s := tc.s
				s.Now, s.Budgets = now, []*policyv1.PodDisruptionBudget{budget(minAvailable(demand))}
				s.Pods = []*corev1.Pod{pod("s-0", tc.of, on("n0")), pod("s-1", tc.of, on("n0")), pod("s", labelled(nil), on("n1"))}
				x := disruption.NewIndex(s, disruption.Options{})
				drains, err := Each(x, []string{"n0"}, Options{})
				require.NoError(t, err)
				blockers := Blockers(x, drains, Options{})
				require.Len(t, blockers, 1)
				return said(blockers[0])
			}
			require.Contains(t, fixes("60%"), "with 3 replicas of "+kind+", 1 of 1 drain in 2 rounds",
				"60% of 2 are 2, and of 3 as well: one may go, and when it is back, the other one")
			require.NotContains(t, fixes("90%"), "replicas", "90% of 3 are 3")
		})
	}
}

// A workload with a controller has no such change: its controller sets the replicas again.
func TestMoreReplicasOfAWorkloadWithAController(t *testing.T) {
	rollout := metav1.OwnerReference{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: "web", UID: "uid-web", Controller: ptr.To(true)}
	web := rollout
	web.APIVersion, web.Kind = "apps/v1", "Deployment"
	for name, tc := range map[string]struct {
		of     metav1.OwnerReference
		change func(*disruption.Snapshot)
	}{
		"a Rollout":                      {of: rollout},
		"a Deployment that is not known": {of: web},
		"a Deployment whose scale is known": {of: web, change: func(s *disruption.Snapshot) {
			s.Answers = map[purekube.Need]purekube.Answer{scaleNeed("apps", "Deployment", ns, "web"): scaleOf(web.UID, 3)}
		}},
		"a Deployment of something else": {of: web, change: func(s *disruption.Snapshot) {
			d := deployment("web", ptr.To(int32(3)))
			d.UID, d.OwnerReferences = web.UID, []metav1.OwnerReference{rollout}
			s.Deployments = []*appsv1.Deployment{d}
		}},
	} {
		s := threeNodes(minAvailable("3"))
		s.ReplicaSets[0].OwnerReferences = []metav1.OwnerReference{tc.of}
		if tc.change != nil {
			tc.change(&s)
		}
		x := disruption.NewIndex(s, disruption.Options{})
		drains, err := Each(x, []string{"n0"}, Options{})
		require.NoError(t, err)
		blockers := Blockers(x, drains, Options{})
		require.Len(t, blockers, 1, name)
		require.NotContains(t, said(blockers[0]), "replicas", name)
	}
}

// More replicas have names that no other pod has: a StatefulSet whose next name is taken gets no pod.
func TestNamesOfMoreReplicas(t *testing.T) {
	set := statefulSet("s", ptr.To(int32(2)))
	set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5}
	ofSet, ofReplicaSet := by("apps/v1", "StatefulSet", "s"), by("apps/v1", "ReplicaSet", "s")
	for _, tc := range []struct {
		name, reason string
		of           func(*corev1.Pod)
		other        string
		helps        bool
	}{
		{"StatefulSet", "its next pod is s-7", ofSet, "s-8", true},
		{"StatefulSet", "its next pod is s-7", ofSet, "s-3", true},
		{"StatefulSet", "s-7 is another pod", ofSet, "s-7", false},
		{"StatefulSet with two more pods", "they are s-7 and s-8", ofSet, "s-8", false},
		{"StatefulSet with two more pods", "they are s-7 and s-8", ofSet, "s-9", true},
		{"ReplicaSet", "the names of its pods are random", ofReplicaSet, "s-2", true},
	} {
		demand, replicas := "2", "3"
		if strings.Contains(tc.name, "two more") {
			demand, replicas = "3", "4"
		}
		s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable(demand))},
			StatefulSets: []*appsv1.StatefulSet{set}, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("s", "", ptr.To(int32(2)))}}
		s.Pods = []*corev1.Pod{pod("s-5", tc.of, on("n0")), pod("s-6", tc.of, on("n1")), pod(tc.other, labelled(nil), on("n2"))}
		x := disruption.NewIndex(s, disruption.Options{})
		drains, err := Each(x, []string{"n0"}, Options{})
		require.NoError(t, err)
		blockers := Blockers(x, drains, Options{})
		require.Len(t, blockers, 1)
		helps := slices.ContainsFunc(blockers[0].Fixes, func(fix Fix) bool { return fix.Kind == FixReplicas && fix.Value == replicas })
		require.Equal(t, tc.helps, helps, "%s beside %s: %s", tc.name, tc.other, tc.reason)
	}
}

// A fix changes one thing: of two nodes that are not ready, one is ready then, and the other one has no room yet.
func TestOneNodeIsReady(t *testing.T) {
	down := func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }
	s := threeNodes()
	s.Pods = s.Pods[:1]
	s.ReplicaSets[0].Spec.Replicas = ptr.To(int32(1))
	x := disruption.NewIndex(s, disruption.Options{})
	o := Options{Nodes: []*corev1.Node{nil, node("n0", down), node("n1", down)}}
	drains, _ := Each(x, []string{"n0"}, o)
	blockers := Blockers(x, drains, o)
	require.Len(t, blockers, 1)
	require.Equal(t, []Fix{{Kind: FixNodeReady, Object: purekube.Key{Kind: "Node", Name: "n0"}, Played: 1, Clears: []string{"n0"}}},
		blockers[0].Fixes)
}

// Two nodes that drain at the same time may stop each other, and something else stops one of them alone.
func TestOneAtATimeIsNotEnough(t *testing.T) {
	s := threeNodes(maxUnavailable("1"))
	s.Pods, s.ReplicaSets[0].Spec.Replicas = s.Pods[:2], ptr.To(int32(2))
	x := disruption.NewIndex(s, disruption.Options{})
	o := Options{Nodes: nodes(2, allocatable("pods", "1"))}
	drains, _, err := Nodes(x, []string{"n0", "n1"}, o)
	require.NoError(t, err)
	blockers := Blockers(x, drains, o)
	i := slices.IndexFunc(blockers, func(b Blocker) bool { return b.Cause == CauseBudget })
	require.Equal(t, []string{"n1"}, blockers[i].Nodes)
	require.Equal(t, "one after the other: no longer in the way, but something else is", blockers[i].FixText(blockers[i].Fixes[0]))
}

// A drain that does not end leaves the room to the next one.
func TestInTurnAfterADrainThatDoesNotEnd(t *testing.T) {
	web := by("apps/v1", "ReplicaSet", "rs")
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(5)))}, Pods: []*corev1.Pod{
		pod("a", web, on("n0"), wants("cpu", "2")), pod("b", web, on("n1"), wants("cpu", "1")),
		pod("c", web, on("n2"), wants("cpu", "1")), pod("d", web, on("n2"), wants("cpu", "1")), pod("e", web, on("n3"), wants("cpu", "1")),
	}}
	two := allocatable("pods", "10", "cpu", "2")
	o := Options{Nodes: []*corev1.Node{node("spare", two)}}
	for i := range 4 {
		o.Nodes = append(o.Nodes, node(fmt.Sprint("n", i), two, cordoned))
	}
	x := disruption.NewIndex(s, disruption.Options{})
	drains, _, err := Nodes(x, []string{"n0", "n1", "n2", "n3"}, o)
	require.NoError(t, err)
	blockers := Blockers(x, drains, o)
	require.Equal(t, []string{"n1", "n2", "n3"}, blockers[0].Nodes)
	require.Equal(t, Fix{Kind: FixOneAtATime, Played: 3, Frees: []string{"n1", "n3"}, Clears: []string{"n1", "n3"}, Rounds: 1},
		blockers[0].Fixes[0], "b takes one place of two, c and d find one, and e takes it")
}

// Drains of another cluster than that of the Index are a mistake, and no panic: what the Index does not have is no fix.
func TestBlockersOfAnotherCluster(t *testing.T) {
	s := threeNodes(minAvailable("5"))
	s.Pods = append(s.Pods, pod("stuck", on("n3"), labelled(nil), deletedBy(time.Hour), by("apps/v1", "ReplicaSet", "gone")),
		pod("web-4", by("apps/v1", "ReplicaSet", "rs"), on("n4")), pod("web-5", by("apps/v1", "ReplicaSet", "rs"), on("n5")))
	o := Options{Nodes: nodes(6, allocatable("pods", "1"))}
	down := node("n4")
	down.Status.Conditions[0].Status = corev1.ConditionFalse
	o.Nodes[4] = down
	drains, _ := Each(disruption.NewIndex(s, disruption.Options{}), []string{"n0", "n3", "n4"}, o)
	otherPods := threeNodes(minAvailable("5"))
	for i, p := range otherPods.Pods {
		p.Name = fmt.Sprint("other-", i)
	}
	for name, other := range map[string]disruption.Snapshot{
		"other pods, the same budget": otherPods,
		"empty":                       {Now: now}, "pods alone": {Now: now, Pods: s.Pods}, "budgets alone": {Now: now, Budgets: s.Budgets},
	} {
		var causes []Cause
		for _, b := range Blockers(disruption.NewIndex(other, disruption.Options{}), drains, Options{}) {
			causes = append(causes, b.Cause)
			for _, fix := range b.Fixes {
				require.NotEqual(t, FixReplicas, fix.Kind, "%s: %s", name, b.Message)
			}
		}
		require.ElementsMatch(t, []Cause{CauseBudget, CausePod, CauseNode}, causes, name)
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

// Each flag lets the pods go that it is for.
func TestFlagsAreFixes(t *testing.T) {
	local := pod("local", on("n1"), labelled(nil), by("apps/v1", "ReplicaSet", "rs"), func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	})
	s := disruption.Snapshot{Now: now, Pods: []*corev1.Pod{
		pod("agent", on("n0"), labelled(nil), by("apps/v1", "DaemonSet", "agent")), local, pod("bare", on("n2"), labelled(nil)),
	}}
	x := disruption.NewIndex(s, disruption.Options{})
	drains, err := Each(x, []string{"n0", "n1", "n2"}, Options{})
	require.NoError(t, err)
	frees := map[string][]string{}
	for _, b := range Blockers(x, drains, Options{}) {
		require.Len(t, b.Fixes, 1)
		frees[b.Fixes[0].Value] = b.Fixes[0].Frees
	}
	require.Equal(t, map[string][]string{
		"--ignore-daemonsets": {"n0"}, "--delete-emptydir-data": {"n1"}, "--force": {"n2"},
	}, frees)
}

// Another node has the labels, the taints and the resources of the drained one, and is ready and schedulable.
func TestAnotherNodeIsLikeTheDrainedOne(t *testing.T) {
	inZone := func(n *corev1.Node) { n.Labels = map[string]string{"zone": "a"} }
	team := tainted("team", corev1.TaintEffectNoSchedule)
	asks := func(p *corev1.Pod) {
		p.Spec.NodeSelector = map[string]string{"zone": "a"}
		p.Spec.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}
	}
	plain := func(p *corev1.Pod) {}
	for _, tc := range []struct {
		name, reason string
		pod          func(*corev1.Pod)
		edit         []func(*corev1.Node)
		frees        []string
	}{
		{"labels and taints", "the pod selects the one and tolerates the other", asks, []func(*corev1.Node){inZone, team}, []string{"n0"}},
		{"taints of nodes that are not well", "they go with what causes them", asks, []func(*corev1.Node){
			inZone, cordoned, tainted(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule),
			tainted(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute), tainted(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute)}, []string{"n0"}},
		{"a taint that the pod does not tolerate", "it ran there before the taint", plain, []func(*corev1.Node){team}, nil},
		{"too small", "the pod is larger than the node", plain, []func(*corev1.Node){allocatable("pods", "10", "cpu", "500m")}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(1)))}, Pods: []*corev1.Pod{
				pod("web-0", by("apps/v1", "ReplicaSet", "rs"), on("n0"), wants("cpu", "1"), tc.pod)}}
			x := disruption.NewIndex(s, disruption.Options{})
			o := Options{Nodes: []*corev1.Node{node("n0", tc.edit...), node("n0-another", cordoned)}}
			drains, err := Each(x, []string{"n0"}, o)
			require.NoError(t, err)
			blockers := Blockers(x, drains, o)
			require.Len(t, blockers, 1)
			if tc.frees == nil {
				require.Empty(t, blockers[0].Fixes, tc.reason)
				return
			}
			require.Equal(t, FixAnotherNode, blockers[0].Fixes[0].Kind)
			require.Equal(t, tc.frees, blockers[0].Fixes[0].Frees, tc.reason)
		})
	}
}

// Nodes that only stop each other drain one after the other, and the rest gets other fixes. What was drained before counts: n0 and
// n1 have one place on n3 between them.
func TestOneAtATimeAndTheRest(t *testing.T) {
	web := by("apps/v1", "ReplicaSet", "rs")
	selects := func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"zone": "a"} }
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(3)))}, Pods: []*corev1.Pod{
		pod("web-0", web, on("n0"), wants("cpu", "1")), pod("web-1", web, on("n1"), wants("cpu", "1")), pod("web-2", web, on("n2"), selects)}}
	x := disruption.NewIndex(s, disruption.Options{})
	one := allocatable("pods", "10", "cpu", "1")
	o := Options{Nodes: []*corev1.Node{
		node("n0", one, cordoned), node("n1", one, cordoned), node("n2", func(n *corev1.Node) { n.Labels = map[string]string{"zone": "a"} }, allocatable("pods", "1")), node("n3", one),
	}}
	drains, _, err := Nodes(x, []string{"n0", "n1", "n2"}, o)
	require.NoError(t, err)
	blockers := Blockers(x, drains, o)
	require.Len(t, blockers, 1)
	require.Equal(t, []string{"n1", "n2"}, blockers[0].Nodes)
	require.Equal(t, []Fix{
		{Kind: FixOneAtATime, Played: 1, Frees: []string{"n1"}, Clears: []string{"n1"}, Rounds: 1},
		{Kind: FixAnotherNode, Played: 1, Frees: []string{"n2"}, Clears: []string{"n2"}, Rounds: 1},
	}, blockers[0].Fixes)

	// Both stop at the same time where the node is full, and then only one of them drains after the other.
	o.Nodes[3] = node("n3", allocatable("pods", "10", "cpu", "500m"))
	s.Pods = s.Pods[:2]
	x = disruption.NewIndex(s, disruption.Options{})
	drains, _, err = Nodes(x, []string{"n0", "n1"}, o)
	require.NoError(t, err)
	require.Equal(t, FixAnotherNode, Blockers(x, drains, o)[0].Fixes[0].Kind, "neither drains alone")
}

// A fix is played for the first hundred nodes.
func TestFixesOfManyNodes(t *testing.T) {
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(101)))},
		Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("0"))}}
	var nodes []string
	for i := range 101 {
		nodes = append(nodes, fmt.Sprintf("n%03d", i))
		s.Pods = append(s.Pods, pod(fmt.Sprint("web-", i), by("apps/v1", "ReplicaSet", "rs"), on(nodes[i])))
	}
	x := disruption.NewIndex(s, disruption.Options{})
	drains, err := Each(x, nodes, Options{})
	require.NoError(t, err)
	blockers := Blockers(x, drains, Options{})
	require.Len(t, blockers[0].Nodes, 101)
	require.Equal(t, 100, blockers[0].Fixes[0].Played)
	require.Equal(t, nodes[:100], blockers[0].Fixes[0].Frees)
	require.Equal(t, "with 4 more pods healthy (shop/a, shop/b, shop/c, 1 more)", Fix{Kind: FixHealthyPods, Pods: namesOf("a", "b", "c", "d")}.String())
	require.Equal(t, "with 3 more pods healthy (shop/a, shop/b, shop/c)", Fix{Kind: FixHealthyPods, Pods: namesOf("a", "b", "c")}.String())
}

// One after the other means on what the drains before left: of two nodes that would take the last place, one drains.
func TestInTurnTakesRoom(t *testing.T) {
	web := by("apps/v1", "ReplicaSet", "rs")
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(3)))}}
	one := allocatable("pods", "10", "cpu", "1")
	o := Options{Nodes: []*corev1.Node{node("spare", one)}}
	for i := range 3 {
		name := fmt.Sprint("n", i)
		s.Pods = append(s.Pods, pod(fmt.Sprint("web-", i), web, on(name), wants("cpu", "1")))
		o.Nodes = append(o.Nodes, node(name, one, cordoned))
	}
	x := disruption.NewIndex(s, disruption.Options{})
	drains, _, err := Nodes(x, []string{"n0", "n1", "n2"}, o)
	require.NoError(t, err)
	blockers := Blockers(x, drains, o)
	require.Len(t, blockers, 1)
	require.Equal(t, []Fix{
		{Kind: FixOneAtATime, Played: 2, Frees: []string{"n1"}, Clears: []string{"n1"}, Rounds: 1},
		{Kind: FixAnotherNode, Played: 1, Frees: []string{"n2"}, Clears: []string{"n2"}, Rounds: 1},
	}, blockers[0].Fixes)
}

// Pods that go anyway are not the ones to mend, and pods are named in order, whatever node they are on.
func TestBrokenPodsThatGo(t *testing.T) {
	web := by("apps/v1", "ReplicaSet", "rs")
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(4)))},
		Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("2"))}, Pods: []*corev1.Pod{
			pod("d", web, on("n0")), pod("c", web, on("n1")), pod("broken", web, on("n2"), unready),
			pod("going", web, on("n2"), unready, deletedBy(-time.Minute)), pod("ended", web, on("n2"), phase(corev1.PodFailed), unready),
		}}
	x := disruption.NewIndex(s, disruption.Options{})
	drains, err := Each(x, []string{"n0", "n1"}, Options{Stuck: -1})
	require.NoError(t, err)
	blockers := Blockers(x, drains, Options{Stuck: -1})
	require.Len(t, blockers, 1)
	require.Equal(t, namesOf("c", "d"), blockers[0].Pods)
	mend := slices.IndexFunc(blockers[0].Fixes, func(fix Fix) bool { return fix.Kind == FixHealthyPods })
	require.Equal(t, namesOf("broken"), blockers[0].Fixes[mend].Pods)
}

// A user who gives each pod of a node a budget of its own makes many causes. The first hundred have fixes.
func TestManyCausesOnANode(t *testing.T) {
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(101)))}}
	for i := range 101 {
		own := map[string]string{"app": fmt.Sprintf("w%03d", i)}
		s.Budgets = append(s.Budgets, budget(named(own["app"]), maxUnavailable("0"), func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels = own }))
		s.Pods = append(s.Pods, pod(own["app"], by("apps/v1", "ReplicaSet", "rs"), on("n0"), labelled(own)))
	}
	x := disruption.NewIndex(s, disruption.Options{})
	drains, err := Each(x, []string{"n0"}, Options{})
	require.NoError(t, err)
	blockers := Blockers(x, drains, Options{})
	require.Len(t, blockers, 101)
	require.NotEmpty(t, blockers[99].Fixes)
	require.Empty(t, blockers[100].Fixes)
	require.Equal(t, "w100", blockers[100].Object.Name, "they are listed all the same")
}

// A message names a few of the budgets that select a pod, however many there are.
func TestManyBudgetsOnAPod(t *testing.T) {
	s := threeNodes()
	for i := range 1000 {
		s.Budgets = append(s.Budgets, budget(named(fmt.Sprintf("b%03d", i)), maxUnavailable("1")))
	}
	x := disruption.NewIndex(s, disruption.Options{})
	drains, err := Each(x, []string{"n0"}, Options{})
	require.NoError(t, err)
	blockers := Blockers(x, drains, Options{})
	require.Len(t, blockers, 1)
	require.Equal(t, "pods are selected by several budgets: shop/b000, shop/b001, shop/b002, shop/b003, shop/b004, 996 more", blockers[0].Message)
}

// A change that was played for one of several nodes says nothing about the others.
func TestFixThatWasPlayedForOneNode(t *testing.T) {
	fix := Fix{Kind: FixAnotherNode, Played: 1, Clears: []string{"a"}}
	for frees, want := range map[string][2]string{
		"a": {"drains now", "1 of 1 simulated node drain now"},
		"": {"no longer in the way, but something else is",
			"no longer in the way of 1 of 1 simulated node, but something else is"},
	} {
		fix.Frees = strings.Fields(frees)
		require.Equal(t, fix.String()+": "+want[0], Blocker{Nodes: []string{"a"}}.FixText(fix))
		require.Equal(t, fix.String()+": "+want[1], Blocker{Nodes: []string{"a", "b"}}.FixText(fix))
	}
}

// What a fix brings to several nodes, in one round or in more.
func TestFixTextOfSeveralNodes(t *testing.T) {
	two := Blocker{Nodes: []string{"a", "b"}}
	fix := Fix{Kind: FixFlag, Value: "--force", Played: 2, Frees: []string{"a"}, Clears: []string{"a", "b"}, Rounds: 1}
	require.Equal(t, "with --force: 1 of 2 nodes drain now", two.FixText(fix))
	fix.Rounds = 2
	require.Equal(t, "with --force: 1 of 2 nodes drain in at most 2 rounds", two.FixText(fix))
	fix.Frees = nil
	require.Equal(t, "with --force: no longer in the way of 2 of 2 nodes, but something else is", two.FixText(fix))
	fix = Fix{Kind: FixFlag, Value: "--force", Played: 1, Frees: []string{"a"}, Rounds: 2}
	require.Equal(t, "with --force: drains in 2 rounds", Blocker{Nodes: []string{"a"}}.FixText(fix))
}
