package drain

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
)

// A recreated pod has the labels of the template. Two pods that were labelled by hand are on the node: the first to go comes
// back without the label, so the budget never lets the second one go.
func TestRecreatedPodsHaveTheLabelsOfTheTemplate(t *testing.T) {
	byHand := map[string]string{"app": "web", "own": "yes"}
	own := map[string]string{"own": "yes"}
	template := corev1.PodTemplateSpec{}
	template.Labels = own
	for _, tc := range []struct {
		name, reason string
		of           func(*corev1.Pod)
		s            disruption.Snapshot
		outcome      Outcome
	}{
		{name: "ReplicaSet", of: by("apps/v1", "ReplicaSet", "w"), outcome: Never, s: disruption.Snapshot{
			ReplicaSets: []*appsv1.ReplicaSet{func() *appsv1.ReplicaSet {
				rs := replicaSet("w", "", ptr.To(int32(2)))
				rs.Spec.Template = template
				return rs
			}()}}},
		{name: "ReplicationController", of: by("v1", "ReplicationController", "w"), outcome: Never, s: disruption.Snapshot{
			ReplicationControllers: []*corev1.ReplicationController{func() *corev1.ReplicationController {
				rc := replicationController("w", ptr.To(int32(2)))
				rc.Spec.Template = &template
				return rc
			}()}}},
		{name: "StatefulSet", of: by("apps/v1", "StatefulSet", "w"), outcome: Never, s: disruption.Snapshot{
			StatefulSets: []*appsv1.StatefulSet{func() *appsv1.StatefulSet {
				ss := statefulSet("w", ptr.To(int32(2)))
				ss.Spec.Template = template
				return ss
			}()}}},
		{name: "no template", reason: "a transform of the cache took it", of: by("apps/v1", "ReplicaSet", "w"), outcome: InRounds, s: disruption.Snapshot{
			ReplicaSets: []*appsv1.ReplicaSet{replicaSet("w", "", ptr.To(int32(2)))}}},
		{name: "template that has the label", of: by("apps/v1", "ReplicaSet", "w"), outcome: InRounds, s: disruption.Snapshot{
			ReplicaSets: []*appsv1.ReplicaSet{func() *appsv1.ReplicaSet {
				rs := replicaSet("w", "", ptr.To(int32(2)))
				rs.Spec.Template.Labels = byHand
				return rs
			}()}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := tc.s
			s.Now, s.Budgets = now, []*policyv1.PodDisruptionBudget{budget(minAvailable("1"))}
			for _, name := range []string{"w-0", "w-1"} {
				s.Pods = append(s.Pods, pod(name, tc.of, on("n"), labelled(byHand)))
			}
			d, after := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
			require.Equal(t, tc.outcome, d.Outcome, tc.reason)
			if tc.outcome == Never {
				require.Equal(t, own, after.Pod(nn("w-0")).Labels)
				require.Equal(t, nn("w-1"), d.Refused[0].Pod)
			}
			require.Equal(t, byHand, s.Pods[0].Labels, "the input is not written to")
		})
	}
}

// A pod that the template gives another label counts for another budget from then on.
func TestRecreatedPodCountsForAnotherBudget(t *testing.T) {
	rs := replicaSet("w", "", ptr.To(int32(2)))
	rs.Spec.Template.Labels = map[string]string{"app": "web"}
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{rs}, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("1"))}, Pods: []*corev1.Pod{
		pod("w-0", by("apps/v1", "ReplicaSet", "w"), on("n"), labelled(map[string]string{"app": "quarantine", appsv1.PodIndexLabel: "0"})),
		pod("w-1", by("apps/v1", "ReplicaSet", "w"), on("n")),
	}}
	d, after := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
	require.Equal(t, InRounds, d.Outcome, "w-1 goes when w-0 is back with the label")
	require.Equal(t, int32(1), after.Budget(nn("web")).Status.DisruptionsAllowed)
	require.Equal(t, map[string]string{"app": "web"}, after.Pod(nn("w-0")).Labels, "only a StatefulSet numbers its pods")
}

// Which pods a StatefulSet makes from its template, and not from an older revision (upstream: newVersionedStatefulSetPod).
func TestRevisionOfAStatefulSet(t *testing.T) {
	own := map[string]string{"app": "web", "version": "new"}
	for _, tc := range []struct {
		name  string
		edit  func(*appsv1.StatefulSet)
		fresh []string // pods with the labels of the template
	}{
		{"one revision", func(ss *appsv1.StatefulSet) { ss.Status.CurrentRevision, ss.Status.UpdateRevision = "a", "a" }, []string{"w-0", "w-1", "w-2"}},
		{"one revision, with a partition", func(ss *appsv1.StatefulSet) {
			ss.Status.CurrentRevision, ss.Status.UpdateRevision = "a", "a"
			ss.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To(int32(2))}
		}, []string{"w-0", "w-1", "w-2"}},
		{"OnDelete", func(ss *appsv1.StatefulSet) { ss.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType }, []string{"w-0", "w-1", "w-2"}},
		{"partition 2", func(ss *appsv1.StatefulSet) {
			ss.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To(int32(2))}
		}, []string{"w-2"}},
		{"partition 2 from ordinal 1", func(ss *appsv1.StatefulSet) {
			ss.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To(int32(1))}
			ss.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 1}
		}, []string{"w-2"}},
		{"no partition", func(ss *appsv1.StatefulSet) {
			ss.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{}
		}, []string{"w-0", "w-1", "w-2"}},
		{"no rollingUpdate", func(ss *appsv1.StatefulSet) {
			ss.Spec.UpdateStrategy.Type, ss.Status.CurrentReplicas = appsv1.RollingUpdateStatefulSetStrategyType, 1
		}, []string{"w-1", "w-2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ss := statefulSet("w", ptr.To(int32(3)))
			ss.Spec.Template.Labels = own
			ss.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
			ss.Status.CurrentRevision, ss.Status.UpdateRevision = "old", "new"
			tc.edit(ss)
			s := disruption.Snapshot{Now: now, StatefulSets: []*appsv1.StatefulSet{ss}}
			names := []string{"w-0", "w-1", "w-2"}
			for _, name := range names {
				s.Pods = append(s.Pods, pod(name, by("apps/v1", "StatefulSet", "w"), on("n"), labelled(map[string]string{
					"app": "web", appsv1.StatefulSetPodNameLabel: name, appsv1.StatefulSetRevisionLabel: "old", "by": "hand",
				})))
			}
			_, after := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
			var fresh []string
			for _, name := range names {
				again := after.Pod(nn(name))
				if again == nil {
					continue // an ordinal before the first one
				}
				require.Equal(t, name, again.Labels[appsv1.StatefulSetPodNameLabel])
				if again.Labels["version"] == "new" {
					require.NotContains(t, again.Labels, "by")
					fresh = append(fresh, name)
				} else {
					require.Equal(t, "hand", again.Labels["by"])
				}
			}
			require.Equal(t, tc.fresh, fresh)
		})
	}
}
