package drain_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/seed"
)

// irregular are clusters of drainCluster whose one budget is not as regular as the ones that people write.
var irregular = []struct {
	name   string
	change func(s *disruption.Snapshot, budget *policyv1.PodDisruptionBudget)
}{
	{"regular", func(*disruption.Snapshot, *policyv1.PodDisruptionBudget) {}},
	{"pods of Jobs", func(s *disruption.Snapshot, _ *policyv1.PodDisruptionBudget) { ofJobs(s, 1) }},
	{"every tenth pod is of a Job", func(s *disruption.Snapshot, _ *policyv1.PodDisruptionBudget) { ofJobs(s, 10) }},
	{"every tenth pod without a controller", func(s *disruption.Snapshot, _ *policyv1.PodDisruptionBudget) {
		for i := 0; i < len(s.Pods); i += 10 {
			s.Pods[i].OwnerReferences = nil
		}
	}},
	{"pods being deleted", func(s *disruption.Snapshot, _ *policyv1.PodDisruptionBudget) {
		for _, p := range elsewhere(s, len(s.Pods)/20) {
			p.DeletionTimestamp = ptr.To(metav1.NewTime(s.Now.Add(-1)))
		}
	}},
	{"pods that are not ready, minAvailable 0", func(s *disruption.Snapshot, b *policyv1.PodDisruptionBudget) {
		b.Spec.MinAvailable = ptr.To(intstr.FromInt32(0))
		for i := 0; i < len(s.Pods); i += 10 {
			s.Pods[i].Status.Conditions[0].Status = corev1.ConditionFalse
		}
	}},
	{"five entries in status.disruptedPods", func(s *disruption.Snapshot, b *policyv1.PodDisruptionBudget) {
		b.Status.DisruptedPods = map[string]metav1.Time{}
		for _, p := range elsewhere(s, 5) {
			p.OwnerReferences = nil
			b.Status.DisruptedPods[p.Name] = metav1.NewTime(s.Now.Add(-1))
		}
	}},
}

// ofJobs makes every nth pod a Job's.
func ofJobs(s *disruption.Snapshot, nth int) {
	for i := 0; i < len(s.Pods); i += nth {
		ref := &s.Pods[i].OwnerReferences[0]
		ref.APIVersion, ref.Kind = "batch/v1", "Job"
	}
}

// elsewhere adds copies of so many pods, on a node that is not drained.
func elsewhere(s *disruption.Snapshot, pods int) []*corev1.Pod {
	var added []*corev1.Pod
	for _, p := range s.Pods[:pods] {
		other := p.DeepCopy()
		other.Name, other.UID, other.Spec.NodeName = p.Name+"-other", p.UID+"-other", "elsewhere"
		added = append(added, other)
	}
	s.Pods = append(s.Pods, added...)
	return added
}

// irregularCluster has so many nodes with 30 pods on each, all under one budget that lets a tenth of them go.
func irregularCluster(nodes int, change func(*disruption.Snapshot, *policyv1.PodDisruptionBudget)) (*disruption.Index, []string) {
	s := drainCluster(nodes, true, far)
	b := s.Budgets[0]
	b.Spec.MaxUnavailable, b.Spec.MinAvailable = nil, ptr.To(intstr.FromInt(27*nodes))
	change(&s, b)
	return disruption.NewIndex(s, disruption.Options{}), nodeNames(nodes)
}

// questions are what is asked about all nodes of a cluster.
var questions = []struct {
	name string
	ask  func(x *disruption.Index, nodes []string, o drain.Options) (drained int)
}{
	{"waves of three rounds", func(x *disruption.Index, nodes []string, o drain.Options) int {
		plan, _, _ := drain.Waves(x, nodes, drain.WaveOptions{Options: o, Rounds: 3})
		return len(nodes) - len(plan.Blocked)
	}},
	{"waves of any number of rounds", func(x *disruption.Index, nodes []string, o drain.Options) int {
		plan, _, _ := drain.Waves(x, nodes, drain.WaveOptions{Options: o, Rounds: -1})
		return len(nodes) - len(plan.Blocked)
	}},
	{"all together", func(x *disruption.Index, nodes []string, o drain.Options) int {
		drains, _, _ := drain.Nodes(x, nodes, o)
		return len(drains)
	}},
	{"each alone", func(x *disruption.Index, nodes []string, o drain.Options) int {
		for _, node := range nodes {
			_, _, _ = drain.Node(x, node, o)
		}
		return len(nodes)
	}},
}

// On a cluster of twice the size, plans look at about twice the pods and make about twice the objects, whatever the budget.
func TestGrowth(t *testing.T) {
	if seed.Short() {
		t.Skip("plays twice the nodes twice")
	}
	for _, tc := range irregular {
		for _, q := range questions {
			t.Run(tc.name+"/"+q.name, func(t *testing.T) {
				var looked, made [2]int
				for i, nodes := range []int{40, 80} {
					x, names := irregularCluster(nodes, tc.change)
					o := drain.Options{Force: true, SkipPod: func(*corev1.Pod) bool { looked[i]++; return false }}
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					require.Positive(t, q.ask(x, names, o))
					runtime.ReadMemStats(&after)
					made[i] = int(after.Mallocs - before.Mallocs)
				}
				t.Logf("pods looked at: %v; objects made: %v", looked, made)
				require.LessOrEqual(t, looked[1]*10, looked[0]*26)
				require.LessOrEqual(t, made[1]*10, made[0]*27)
			})
		}
	}
}

// A node with a pod that fits nowhere else neither ends a wave nor has the wave formed again.
func TestGrowthWithStuckNodes(t *testing.T) {
	for _, maxNodes := range []int{0, 4, 20} {
		var looked [2]int
		for i, nodes := range []int{40, 80} {
			x, names, o := everySecondStuck(nodes)
			o.MaxNodes = maxNodes
			o.SkipPod = func(*corev1.Pod) bool { looked[i]++; return false }
			plan, _, err := drain.Waves(x, names, o)
			require.NoError(t, err)
			require.Less(t, len(plan.Waves), nodes/6, "nodes that drain are together although others between them do not")
			for _, d := range plan.Blocked {
				require.NotEqual(t, drain.Now, d.Outcome, d.Node)
			}
		}
		t.Log("pods looked at:", looked)
		require.LessOrEqual(t, looked[1]*10, looked[0]*21)
	}
}

// Where room is short, a wave does not try all nodes that are left: of full nodes beside two spare ones, two drain at a time.
func TestGrowthWithoutRoom(t *testing.T) {
	var looked [2]int
	for i, nodes := range []int{40, 80} {
		s := threePods(nodes, false, far)
		s.Budgets = nil
		o := drain.WaveOptions{Options: drain.Options{Nodes: withRoom(s, nodes+2, 0)}}
		o.SkipPod = func(*corev1.Pod) bool { looked[i]++; return false }
		plan, _, err := drain.Waves(disruption.NewIndex(s, disruption.Options{}), nodeNames(nodes), o)
		require.NoError(t, err)
		require.Len(t, plan.Waves, nodes/2)
	}
	t.Log("pods looked at:", looked)
	require.LessOrEqual(t, looked[1]*10, looked[0]*24)
}

// everySecondStuck has three pods on each node, and on every second node one that fits nowhere else, as with a local volume.
func everySecondStuck(nodes int) (*disruption.Index, []string, drain.WaveOptions) {
	s := threePods(nodes, false, far)
	for i := 0; i < len(s.Pods); i += 2 {
		s.Pods[i].Spec.NodeSelector = map[string]string{corev1.LabelHostname: s.Pods[i].Spec.NodeName}
	}
	o := drain.WaveOptions{Options: drain.Options{Nodes: withRoom(s, nodes, 3)}}
	var names []string
	for _, n := range o.Nodes {
		n.Labels = map[string]string{corev1.LabelHostname: n.Name}
		names = append(names, n.Name)
	}
	return disruption.NewIndex(s, disruption.Options{}), names, o
}

// An entry in the status of each budget does not make the cluster with the terminating pods anew for each of them.
func TestGrowthWithAnEntryInEachBudget(t *testing.T) {
	made := func(pods int) float64 {
		s := onePodWorkloads(pods, pods)
		s.Budgets = nil
		for _, p := range s.Pods {
			b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, Generation: 1}}
			b.Spec.Selector, b.Spec.MinAvailable = &metav1.LabelSelector{MatchLabels: p.Labels}, ptr.To(intstr.FromInt32(0))
			b.Status.DisruptedPods = map[string]metav1.Time{p.Name: metav1.NewTime(s.Now.Add(-1))}
			s.Budgets = append(s.Budgets, b)
		}
		elsewhere(&s, pods)
		x := disruption.NewIndex(s, disruption.Options{})
		return testing.AllocsPerRun(1, func() {
			d, _, _ := drain.Node(x, "node-0", drain.Options{})
			require.Equal(t, drain.Now, d.Outcome)
		})
	}
	require.Less(t, made(200), 2.5*made(100))
}

// A budget with too many entries in its status refuses all pods of a node at once: they are not asked about one by one.
func TestForbiddenOnce(t *testing.T) {
	made := func(nodes int) int {
		x, _ := irregularCluster(nodes, func(s *disruption.Snapshot, b *policyv1.PodDisruptionBudget) {
			b.Status.DisruptedPods = map[string]metav1.Time{}
			for i := range disruption.MaxDisruptedPods + 1 {
				b.Status.DisruptedPods[fmt.Sprint("gone-", i)] = metav1.NewTime(s.Now)
			}
			b.Status.DisruptionsAllowed = 1
			for _, p := range s.Pods {
				p.Spec.NodeName = "node-0"
			}
		})
		refused := 0
		allocs := testing.AllocsPerRun(1, func() {
			d, _, _ := drain.Node(x, "node-0", drain.Options{Budgets: drain.AsWritten})
			refused = len(d.Refused)
		})
		require.Equal(t, 30*nodes, refused)
		return int(allocs)
	}
	require.Less(t, made(4)-made(2), 500, "60 more refusals make 366 objects, and 726 if each is an answer of its own")
}

// Names that several pods have cost a question about a controller nothing, unless they are of its pods.
func TestDuplicatesOfOthersCostNothing(t *testing.T) {
	var x *disruption.Index
	ref := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "app-0", UID: "uid-0"}
	made := func(duplicates int) float64 {
		s := drainCluster(100, true, func(i, _, _ int) int { return i })
		s.Pods = append(s.Pods, s.Pods[30:30+duplicates]...)
		x = disruption.NewIndex(s, disruption.Options{})
		return testing.AllocsPerRun(10, func() { _, _ = x.PodsOfController("ns-0", &ref) })
	}
	none := made(0)
	require.InDelta(t, none, made(2000), 20)
	require.Equal(t, 30, x.WorkloadOf("ns-0", &ref).MaxPods, "no name of another controller hides a pod")
	ref.Name, ref.UID = "app-1", "uid-1"
	pods, duplicates := x.PodsOfController("ns-0", &ref)
	require.Empty(t, pods)
	require.Len(t, duplicates, 30)
	require.Equal(t, types.NamespacedName{Namespace: "ns-0", Name: "app-1-0"}, duplicates[0])
	require.GreaterOrEqual(t, x.WorkloadOf("ns-0", &ref).MaxPods, 30, "they may be pods of the controller")
}
