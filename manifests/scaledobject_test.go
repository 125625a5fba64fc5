package manifests

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func scaledObjectYAML(spec string) string {
	return workloadYAML("keda.sh/v1alpha1", "ScaledObject", "web", spec)
}

// What is read of a ScaledObject. One that KEDA's definition does not allow is ignored, as any object of a kind that
// no package reads.
func TestScaledObjectIsRead(t *testing.T) {
	set := loaded(t, scaledObjectYAML("minReplicaCount: 2, maxReplicaCount: 5, idleReplicaCount: 0, cooldownPeriod: 30, "+
		"triggers: [{type: cron}], scaleTargetRef: {name: web}"))
	require.Empty(t, set.Ignored)
	require.Empty(t, set.CustomWorkloads)
	require.Equal(t, 1, set.Len())
	o := set.ScaledObjects[0]
	require.Equal(t, "shop/web", o.Namespace+"/"+o.Name)
	require.Equal(t, "Deployment apps/v1 web", o.Target.Kind+" "+o.Target.APIVersion+" "+o.Target.Name)
	require.Equal(t, []*int32{ptr.To[int32](2), ptr.To[int32](5), ptr.To[int32](0)},
		[]*int32{o.MinReplicaCount, o.MaxReplicaCount, o.IdleReplicaCount})
	require.Equal(t, "ScaledObject", o.At.Kind)
	require.Equal(t, "shop", o.At.Namespace)

	for _, spec := range []string{"scaleTargetRef: {kind: Deployment}",
		"minReplicaCount: x, scaleTargetRef: {name: web}", "scaleTargetRef: web", "triggers: []"} {
		set := loaded(t, scaledObjectYAML(spec))
		require.Empty(t, set.ScaledObjects, spec)
		require.Len(t, set.Ignored, 1, spec)
	}
	other := loaded(t, workloadYAML("keda.sh/v2", "ScaledObject", "web", "scaleTargetRef: {name: web}"))
	require.Empty(t, other.ScaledObjects, "what a version that does not exist yet means is not known")
	set = loaded(t, "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: web}\n"+
		"spec: {scaleTargetRef: {name: web}}\n")
	require.Equal(t, "default", set.ScaledObjects[0].Namespace)
}

func TestAtFullHealthOfAScaledObject(t *testing.T) {
	const target = "scaleTargetRef: {kind: StatefulSet, name: web}"
	for _, tc := range []struct {
		name, reason, replicas, scaled string
		want                           int
	}{
		{"more than it has", "KEDA raises it", "", "minReplicaCount: 3, ", 3},
		{"fewer than it has", "within the bounds", "replicas: 4, ", "minReplicaCount: 3, ", 4},
		{"more than allowed", "KEDA lowers it", "replicas: 9, ", "maxReplicaCount: 5, ", 5},
		{"from 0", "KEDA raises it to the minimum", "replicas: 0, ", "minReplicaCount: 2, ", 2},
		{"from 0 with no minimum", "nothing to do", "replicas: 0, ", "", 0},
		{"from 0 while idle", "nothing to do", "replicas: 0, ", "minReplicaCount: 2, idleReplicaCount: 0, ", 0},
		{"1 with an idle number", "1 is neither idle nor the minimum", "", "minReplicaCount: 2, idleReplicaCount: 0, ", 2},
		{"no minimum", "the workload's own number", "", "", 1},
		{"a negative idle number", "KEDA rejects it", "", "minReplicaCount: 2, idleReplicaCount: -1, ", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set := loaded(t, workloadYAML("apps/v1", "StatefulSet", "web",
				tc.replicas+template)+scaledObjectYAML(tc.scaled+target))
			full, err := set.AtFullHealth()
			require.NoError(t, err)
			require.Len(t, full.Pods, tc.want, tc.reason)
		})
	}
	paused := loaded(t, workloadYAML("apps/v1", "StatefulSet", "web", "replicas: 4, "+template)+scaledObjectYAML(target))
	for value, want := range map[string]int{"0": 0, "2": 2, "7": 7, "-1": 4, "x": 4} {
		paused.ScaledObjects[0].Annotations = map[string]string{"autoscaling.keda.sh/paused-replicas": value}
		full, err := paused.AtFullHealth()
		require.NoError(t, err)
		require.Len(t, full.Pods, want, value)
	}
	// A Rollout without replicas has those of its autoscaler.
	rollout := loaded(t, workloadYAML("argoproj.io/v1alpha1", "Rollout", "web", template)+
		scaledObjectYAML("minReplicaCount: 2, scaleTargetRef: {apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web}"))
	full, err := rollout.AtFullHealth()
	require.NoError(t, err)
	require.Len(t, full.Pods, 2)
	// An autoscaler without maxReplicas, which the API server rejects, takes no pods away.
	full, err = loaded(t, workloadYAML("apps/v1", "StatefulSet", "db", "replicas: 3, "+template)+
		workloadYAML("autoscaling/v2", "HorizontalPodAutoscaler", "db",
			"scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}")).AtFullHealth()
	require.NoError(t, err)
	require.Len(t, full.Pods, 3)
	_, err = (&Set{ScaledObjects: []*ScaledObject{nil, {}}, Pods: []*corev1.Pod{nil}}).AtFullHealth()
	require.NoError(t, err)
}

// Two ScaledObjects of one workload are an error of KEDA's. The widest bounds count, in any order.
func TestTwoScaledObjects(t *testing.T) {
	const target = "scaleTargetRef: {kind: StatefulSet, name: web}"
	one := scaledObjectYAML("minReplicaCount: 3, maxReplicaCount: 4, " + target)
	two := scaledObjectYAML("minReplicaCount: 2, maxReplicaCount: 6, " + target)
	for _, objects := range []string{one + two, two + one} {
		for replicas, want := range map[string]int{"": 2, "replicas: 9, ": 6, "replicas: 0, ": 2} {
			full, err := loaded(t, workloadYAML("apps/v1", "StatefulSet", "web", replicas+template)+objects).AtFullHealth()
			require.NoError(t, err)
			require.Len(t, full.Pods, want)
		}
	}
}
