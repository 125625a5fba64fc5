package drain

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/contract"
)

// document is the objects of a snapshot, as JSON.
type document struct {
	Budgets                []*policyv1.PodDisruptionBudget
	Pods                   []*corev1.Pod
	ReplicaSets            []*appsv1.ReplicaSet
	ReplicationControllers []*corev1.ReplicationController
	StatefulSets           []*appsv1.StatefulSet
}

func (d document) index() *disruption.Index {
	return disruption.NewIndex(disruption.Snapshot{Now: now, Budgets: d.Budgets, Pods: d.Pods, ReplicaSets: d.ReplicaSets,
		ReplicationControllers: d.ReplicationControllers, StatefulSets: d.StatefulSets}, disruption.Options{})
}

// TestNeverMorePermissive: a drain that does not end, does not start or is not known does not end where an object is of no
// use or a workload is left out. A pod that is left out is gone, and a budget that is left out protects nothing: both are the caller's
// statement. An answer that comes with an error counts as a refusal.
func TestNeverMorePermissive(t *testing.T) {
	bySet := by("apps/v1", "StatefulSet", "db")
	documents := []document{
		{Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}, Pods: pods(3, 2, bySet), StatefulSets: []*appsv1.StatefulSet{statefulSet("db", ptr.To(int32(3)))}},
		{Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("0"))}, Pods: pods(2, 2, by("apps/v1", "ReplicaSet", "web")),
			ReplicaSets: []*appsv1.ReplicaSet{replicaSet("web", "", ptr.To(int32(2)))}},
		{Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("100%")), budget(maxUnavailable("1"), named("second"))}, Pods: pods(2, 2, by("v1", "ReplicationController", "rc")),
			ReplicationControllers: []*corev1.ReplicationController{replicationController("rc", ptr.To(int32(2)))}},
	}
	words := []string{"", "db", "web", "rc", "app", "1", "2", "0%", "50%", "100%", "node", "Running", "Pending", "Succeeded", "True", "False", "Ready", "apps/v1", "v1",
		"StatefulSet", "ReplicaSet", "Parallel", "AlwaysAllow", "a/b/c"}
	for _, d := range documents {
		for _, p := range d.Pods {
			p.Spec.NodeName = "node"
		}
	}
	options := []Options{{}, {Force: true, IgnoreDaemonSets: true, DeleteEmptyDirData: true}, {Force: true, Budgets: AsWritten}}
	ends := func(d document, node string, o Options) bool {
		got, _, err := Node(d.index(), node, o)
		return err == nil && (got.Outcome == Now || got.Outcome == InRounds)
	}
	refused := 0
	contract.Random(t, func(r *rand.Rand) document { return documents[r.IntN(len(documents))] }, words, func(t *testing.T, d document) {
		nodes := map[string]bool{}
		for _, p := range d.Pods {
			if p != nil && p.Spec.NodeName != "" {
				nodes[p.Spec.NodeName] = true
			}
		}
		for node := range nodes {
			for _, o := range options {
				if ends(d, node, o) {
					continue
				}
				refused++
				contract.Each(d, func(how contract.Damage, field string, object runtime.Object, spoiled document) {
					if how == contract.LeftOut && (field == "Pods" || field == "Budgets") {
						return
					}
					require.False(t, ends(spoiled, node, o), "%s: with %T %s, the drain ends", node, object, how)
				})
			}
		}
	})
	require.NotZero(t, refused)
}
