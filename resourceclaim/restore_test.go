package resourceclaim

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/resourceclaim/memory"
)

// After a restore from a backup a running pod has a UID that was seen to be deleted. It keeps its devices, gets what it
// still needs, and events and answers name what they are about.
func TestD37_RestoredPodKeepsItsDevices(t *testing.T) {
	var deleted memory.DeletedPods
	pod := newPod("p", onNode, phase(corev1.PodRunning), uses("a", "c"), uses("b", "d"))
	mine, unreserved := newClaim("c", allocated, reservedFor("p")), newClaim("d", allocated)
	x := NewIndex(Snapshot{Pods: pods(pod), Claims: claims(mine, unreserved)}, Options{})
	deleted.Add(pod.UID)
	x, affected := x.With(Snapshot{Deleted: deleted.UIDs()})
	require.Contains(t, affected, claimKey("c"))
	x, affected = x.Without(Snapshot{Pods: pods(pod)})
	require.Contains(t, affected, claimKey("c"))
	r, err := x.Plan(claimKey("c"))
	require.NoError(t, err)
	require.Empty(t, r.Actions, "that it was seen to be deleted proves no absence")
	require.Len(t, r.Needs, 1)
	told, _ := x.With(Snapshot{Answers: asked("p")})
	r, err = told.Plan(claimKey("c"))
	require.NoError(t, err)
	require.Equal(t, []string{"Release ml/c: p, deallocate", "RemoveFinalizer ml/c"}, lines(r.Actions), "as long as the pod is gone")

	// The restored pod comes back before anything was written.
	x, affected = x.With(Snapshot{Pods: pods(pod)})
	require.Contains(t, affected, claimKey("c"))
	require.Contains(t, affected, podKey("p"))
	for _, key := range []purekube.Key{claimKey("c"), podKey("p")} {
		r, err = x.Plan(key)
		require.NoError(t, err)
		require.Empty(t, r.Actions)
		require.Equal(t, []purekube.Need{{APIVersion: "v1", Kind: "Pod", Namespace: ns, Name: "p"}}, r.Needs, "the two contradict each other: %s", key)
	}
	answered, affected := x.With(Snapshot{Answers: asked(pod)})
	require.Contains(t, affected, claimKey("c"))
	require.Contains(t, affected, podKey("p"))
	r, err = answered.Plan(claimKey("c"))
	require.NoError(t, err)
	require.True(t, r.Empty(), "it runs")
	r, err = answered.Plan(podKey("p"))
	require.NoError(t, err)
	require.Equal(t, []string{"Reserve ml/d: for pod ml/p"}, lines(r.Actions), "it is served as any other pod")
	answered, _ = x.With(Snapshot{Answers: asked("p")})
	r, err = answered.Plan(podKey("p"))
	require.NoError(t, err)
	require.True(t, r.Empty(), "it is gone after all, and the cache lags")

	x, affected = x.Without(Snapshot{Deleted: deleted.UIDs()})
	require.Contains(t, affected, claimKey("c"))
	r, err = x.Plan(claimKey("c"))
	require.NoError(t, err)
	require.True(t, r.Empty(), "nothing contradicts the cache any more")
}

// A UID that was seen to be deleted, and two cached pods of one name, which may have it.
func TestD37_SeveralPodsOfTheName(t *testing.T) {
	s := Snapshot{Pods: pods(newPod("x"), newPod("x", podUID("other"))), Claims: claims(newClaim("c", allocated, reservedFor("x"))), Deleted: deletedUIDs("uid-x")}
	r, err := Plan(s, claimKey("c"), Options{})
	require.NoError(t, err)
	require.Empty(t, r.Actions)
	require.Len(t, r.Needs, 1, "one of them may be the consumer")
	s.Answers = asked("x")
	r, err = Plan(s, claimKey("c"), Options{})
	require.NoError(t, err)
	require.Len(t, r.Actions, 2)
}

// The key of a pod is named when the pod goes or changes, whether its UID was seen to be deleted before the event or
// after it.
func TestDeletedBeforeTheEventNamesThePod(t *testing.T) {
	template := templates(newTemplate("gpu"))
	for _, before := range []bool{true, false} {
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			var deleted memory.DeletedPods
			pod := newPod("p", wants("gpu", "gpu"))
			x := NewIndex(Snapshot{Pods: pods(pod), Templates: template}, Options{})
			r, err := x.Plan(podKey("p"))
			require.NoError(t, err)
			require.Len(t, r.Actions, 2, "there is something to do")
			if before {
				deleted.Add(pod.UID)
				x, _ = x.With(Snapshot{Deleted: deleted.UIDs()})
			}
			_, affected := x.Without(Snapshot{Pods: pods(pod)})
			require.Contains(t, affected, podKey("p"), "and now there is not")
			_, affected = x.With(Snapshot{Pods: pods(newPod("p", podUID("next"), wants("gpu", "gpu")))})
			require.Contains(t, affected, podKey("p"))
			x, affected = x.With(Snapshot{Deleted: deletedUIDs(pod.UID)})
			require.Equal(t, !before, slices.Contains(affected, podKey("p")), "its plan has a Need now")
			changed := pod.DeepCopy()
			changed.Labels = map[string]string{"a": "b"}
			_, affected = x.With(Snapshot{Pods: pods(changed)})
			require.Contains(t, affected, podKey("p"))

			g := newGroup("g", groupWants("gpu", "gpu"))
			x = NewIndex(Snapshot{PodGroups: []PodGroup{g}, Templates: template, Deleted: deleted.UIDs()}, grouped)
			if before {
				x, affected = x.With(Snapshot{Deleted: deletedUIDs(g.UID)})
				require.Contains(t, affected, groupKey("g"))
			}
			_, affected = x.Without(Snapshot{PodGroups: []PodGroup{g}})
			require.Contains(t, affected, groupKey("g"))
		})
	}
}
