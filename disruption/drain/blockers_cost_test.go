package drain

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
)

// Causes of the same nodes are compared with one drain of each node alone. It was played again for each cause, so n
// lookups that stop n nodes took n² drains.
func TestBlockersPlayEachNodeAloneOnce(t *testing.T) {
	const n = 60
	s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}}
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("n", i))
		s.Pods = append(s.Pods, pod(fmt.Sprint("p", i), on(names[i]), by("example.com/v1", "Game", fmt.Sprint("g", i))))
	}
	looked := 0
	o := Options{SkipPod: func(*corev1.Pod) bool { looked++; return false }}
	x := disruption.NewIndex(s, disruption.Options{})
	drains, err := Each(x, names, o)
	require.NoError(t, err)
	looked = 0
	require.Len(t, Blockers(x, drains, o), n)
	require.Equal(t, n, looked, "pods that are looked at")
}

// A change that cannot be played for a node is not counted as played for it: a node that is not among Options.Nodes has
// no other node like it.
func TestAnotherNodeLikeAnUnknownOne(t *testing.T) {
	s := threeNodes(maxUnavailable("1"))
	small := nodes(2, allocatable("pods", "10", "cpu", "1")) // n2 is not known
	x := disruption.NewIndex(s, disruption.Options{})
	o := Options{Nodes: small}
	drains, err := Each(x, []string{"n0", "n1", "n2"}, o)
	require.NoError(t, err)
	blockers := Blockers(x, drains, o)
	require.Len(t, blockers, 1)
	require.Equal(t, CauseNoRoom, blockers[0].Cause)
	require.Equal(t, []string{"n0", "n1", "n2"}, blockers[0].Nodes)
	require.Equal(t, []Fix{{Kind: FixAnotherNode, Played: 2, Frees: []string{"n0", "n1"}, Clears: []string{"n0", "n1"}, Rounds: 1}}, blockers[0].Fixes)
}

// Of two nodes with the name of the drained one, it is not known which one another node is to be like.
func TestAnotherNodeLikeOneOfTwo(t *testing.T) {
	ended := pod("web-0", by("apps/v1", "ReplicaSet", "rs"), on("n0"), phase(corev1.PodFailed)) // it goes from any node
	x := disruption.NewIndex(disruption.Snapshot{Now: now, Pods: []*corev1.Pod{ended},
		ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(1)))}}, disruption.Options{})
	o := Options{Nodes: []*corev1.Node{node("n0"), node("n0", allocatable("pods", "0"))}}
	for range 2 {
		drains, err := Each(x, []string{"n0"}, o)
		require.Error(t, err, "two nodes have one name")
		blockers := Blockers(x, drains, o)
		require.Len(t, blockers, 1)
		require.Empty(t, blockers[0].Fixes)
		slices.Reverse(o.Nodes)
	}
}

// Another node like the drained one has another name, also in its label: a pod that selects the name of the drained one
// finds no place.
func TestAnotherNodeHasAnotherHostname(t *testing.T) {
	s := threeNodes(maxUnavailable("1"))
	s.Pods[0].Spec.NodeSelector = map[string]string{corev1.LabelHostname: "n0"}
	x := disruption.NewIndex(s, disruption.Options{})
	o := Options{Nodes: nodes(3, allocatable("pods", "10", "cpu", "1"), func(n *corev1.Node) {
		n.Labels = map[string]string{corev1.LabelHostname: n.Name, "pool": "a"}
	})}
	drains, err := Each(x, []string{"n0", "n1"}, o)
	require.NoError(t, err)
	blockers := Blockers(x, drains, o)
	require.Len(t, blockers, 1)
	require.Equal(t, []string{"n0", "n1"}, blockers[0].Nodes)
	require.Equal(t, []Fix{{Kind: FixAnotherNode, Played: 2, Frees: []string{"n1"}, Clears: []string{"n1"}, Rounds: 1}}, blockers[0].Fixes)
	require.Equal(t, "n1", o.Nodes[1].Labels[corev1.LabelHostname], "the nodes of the options are not written to")
}

// No workload has more replicas than fit into int32.
func TestMoreReplicasThanThereCanBe(t *testing.T) {
	for _, replicas := range []int32{math.MaxInt32 - 1, math.MaxInt32} {
		s := disruption.Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("1"))},
			ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(replicas))},
			Pods:        []*corev1.Pod{pod("web-0", by("apps/v1", "ReplicaSet", "rs"), on("n0"))}}
		x := disruption.NewIndex(s, disruption.Options{})
		drains, err := Each(x, []string{"n0"}, Options{})
		require.NoError(t, err)
		fixes := Blockers(x, drains, Options{})[0].Fixes
		require.Equal(t, replicas < math.MaxInt32, slices.ContainsFunc(fixes, func(f Fix) bool { return f.Kind == FixReplicas }), "%v", fixes)
	}
}
