package disruption

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"
)

// The sum of what many controllers want is remembered from plan to plan. A name that several pods have is counted beside
// it, with its controllers.
func TestSumOfManyControllersLacksAmbiguousPods(t *testing.T) {
	s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("50%"))}}
	for i := range fewReferences + 2 {
		name := fmt.Sprint("rs-", i)
		s.ReplicaSets = append(s.ReplicaSets, replicaSet(name, "", ptr.To(int32(1))))
		s.Pods = append(s.Pods, pod("pod-"+name, by("apps/v1", "ReplicaSet", name)))
	}
	s.ReplicaSets = append(s.ReplicaSets, replicaSet("twins", "", ptr.To(int32(5))))
	twins := []*corev1.Pod{pod("twin", by("apps/v1", "ReplicaSet", "twins")), pod("twin", by("apps/v1", "ReplicaSet", "twins"))}
	x := NewIndex(s, Options{})
	r, err := x.Plan(key("web"))
	require.NoError(t, err)
	require.EqualValues(t, fewReferences+2, written(t, r).ExpectedPods)
	with, _ := x.With(Snapshot{Pods: twins})
	r, _ = with.Plan(key("web"))
	require.EqualValues(t, fewReferences+2+5, written(t, r).ExpectedPods)
}
