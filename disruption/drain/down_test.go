package drain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
)

func ready(status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Conditions[0].Status = status }
}

func tainted(key string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: effect}) }
}

// No kubelet ends the pods of a node that is not ready. The pod garbage collector does if the node is out of service.
func TestDrainOfANodeThatIsNotReady(t *testing.T) {
	for _, tc := range []struct {
		name    string
		edit    []func(*corev1.Node)
		outcome Outcome
	}{
		{"ready", nil, Now},
		{"Ready is Unknown", []func(*corev1.Node){ready(corev1.ConditionUnknown)}, Never},
		{"Ready is False", []func(*corev1.Node){ready(corev1.ConditionFalse)}, Never},
		{"no condition", []func(*corev1.Node){func(n *corev1.Node) { n.Status.Conditions = nil }}, Never},
		{"unreachable", []func(*corev1.Node){ready(corev1.ConditionUnknown), tainted(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute)}, Never},
		{"out of service", []func(*corev1.Node){ready(corev1.ConditionUnknown), tainted(corev1.TaintNodeOutOfService, corev1.TaintEffectNoExecute)}, Now},
		{"out of service, any effect", []func(*corev1.Node){ready(corev1.ConditionFalse), tainted(corev1.TaintNodeOutOfService, corev1.TaintEffectNoSchedule)}, Now},
		{"the taint alone", []func(*corev1.Node){tainted(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute)}, Now},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := threeNodes(maxUnavailable("3"))
			ended := pod("ended", by("batch/v1", "Job", "j"), on("n0"), phase(corev1.PodSucceeded), labelled(nil))
			s.Pods = append(s.Pods, ended)
			all := append([]*corev1.Node{node("n0", tc.edit...)}, nodes(3)[1:]...)
			d, after, err := Node(disruption.NewIndex(s, disruption.Options{}), "n0", Options{Nodes: all})
			require.NoError(t, err)
			require.Equal(t, tc.outcome, d.Outcome)
			require.Nil(t, after.Pod(nn("ended")), "a pod that has ended goes at once")
			if tc.outcome == Never {
				require.Equal(t, []RefusedPod{{Pod: nn("web-0"), Code: ReasonNodeNotReady, Message: "the pod does not end: node n0 is not ready"}}, d.Refused)
				require.Equal(t, "n0", after.Pod(nn("web-0")).Spec.NodeName, "it is not recreated")
			}
			unchecked, _, err := Node(disruption.NewIndex(s, disruption.Options{}), "n0", Options{})
			require.NoError(t, err)
			require.Equal(t, Now, unchecked.Outcome, "without Nodes, kubelets are taken to run")
			s.Budgets = nil
			written, _, err := Node(disruption.NewIndex(s, disruption.Options{}), "n0", Options{Nodes: all, Budgets: AsWritten})
			require.NoError(t, err)
			require.Equal(t, Now, written.Outcome, "and with AsWritten, no node is looked at")
		})
	}
	s := threeNodes(maxUnavailable("3"))
	for _, edit := range []func(*corev1.Node){cordoned, tainted(corev1.TaintNodeOutOfService, corev1.TaintEffectNoExecute)} {
		d, _, _ := Node(disruption.NewIndex(s, disruption.Options{}), "n0", Options{Nodes: append(nodes(3, edit), node("n0"))})
		require.Equal(t, Never, d.Outcome, "which of two nodes of one name is ready, or out of service, is not known")
	}
	daemon := disruption.NewIndex(disruption.Snapshot{Now: now, Pods: []*corev1.Pod{pod("d", by("apps/v1", "DaemonSet", "d"), on("n0"))}}, disruption.Options{})
	down := nodes(1, ready(corev1.ConditionUnknown))
	d, _, err := Node(daemon, "n0", Options{IgnoreDaemonSets: true, Nodes: down})
	require.NoError(t, err)
	require.Equal(t, ReasonDaemonSetPod, d.Skipped[0].Code, "a pod that stays need not end")
	d, _, err = Node(daemon, "n0", Options{Nodes: down})
	require.NoError(t, err)
	require.Equal(t, ReasonDaemonSetPod, d.Refused[0].Code)
}

// A pod that waits for one that is being deleted elsewhere waits for ever if that one's node is not ready.
func TestPodsOfOtherNodesThatAreNotReady(t *testing.T) {
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(2)))},
		Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("1"))}, Pods: []*corev1.Pod{
			pod("web-0", by("apps/v1", "ReplicaSet", "rs"), on("n0")),
			pod("web-1", by("apps/v1", "ReplicaSet", "rs"), on("n1"), deletedBy(-time.Minute)),
		}}
	x := disruption.NewIndex(s, disruption.Options{})
	for status, want := range map[corev1.ConditionStatus]Outcome{corev1.ConditionTrue: InRounds, corev1.ConditionUnknown: Never} {
		d, _, err := Node(x, "n0", Options{Nodes: []*corev1.Node{node("n0"), node("n1", ready(status)), node("n2")}})
		require.NoError(t, err)
		require.Equal(t, want, d.Outcome, status)
	}
}

func TestBlockersOfANodeThatIsNotReady(t *testing.T) {
	x := disruption.NewIndex(threeNodes(maxUnavailable("1")), disruption.Options{})
	o := Options{Nodes: append([]*corev1.Node{node("n0", ready(corev1.ConditionUnknown))}, nodes(3)[1:]...)}
	drains, err := Each(x, []string{"n0", "n1"}, o)
	require.NoError(t, err)
	blockers := Blockers(x, drains, o)
	require.Len(t, blockers, 1)
	require.Equal(t, "node n0 is not ready: its pods do not end: stops n0, alone n0\n  with that node ready, 1 of 1 drain in 1 rounds", said(blockers[0]))
}

// That one node is ready says nothing of the others: the replacement finds none.
func TestOneNodeIsReadyAndTheOtherIsNot(t *testing.T) {
	x := disruption.NewIndex(threeNodes(maxUnavailable("1")), disruption.Options{})
	down := ready(corev1.ConditionUnknown)
	o := Options{Nodes: []*corev1.Node{nil, node("n0", down), node("n1", down), node("n2", allocatable("pods", "10", "cpu", "1"))}}
	drains, err := Each(x, []string{"n0"}, o)
	require.Error(t, err, "a nil node")
	blockers := Blockers(x, drains, o)
	require.Len(t, blockers, 1)
	require.Equal(t, "node n0 is not ready: its pods do not end: stops n0, alone n0\n  with that node ready, 0 of 1 drain", said(blockers[0]))
}
