package resourceclaim

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube"
)

var hostileNames = []string{"../../../../../../api/v1/namespaces/prod/pods/db-0", "..%2fdb-0", "..", ".", ""}

// Drivers and users choose what a claim names. A name that no path can hold is an error, its reservation stays, and
// the others are released all the same. Upstream's client refuses the name, which ends the pass.
func TestConsumerThatNoPathCanHoldIsNoNeed(t *testing.T) {
	for _, name := range hostileNames {
		s := Snapshot{Now: now, Claims: claims(newClaim("c", allocated, protected, reservedFor("gone", name))), Answers: asked("gone")}
		r, err := Plan(s, claimKey("c"), Options{})
		require.ErrorIs(t, err, purekube.ErrPathSegment)
		var problem *purekube.ObjectError
		require.ErrorAs(t, err, &problem)
		require.Equal(t, []string{"Pod", ns, name, "metadata.name"}, []string{problem.Kind, problem.Namespace, problem.Name, problem.Field})
		require.Empty(t, r.Needs)
		require.Equal(t, []string{"Release ml/c: gone"}, lines(r.Actions))

		for _, release := range []purekube.Upstream{purekube.V1_36, purekube.V1_37} {
			r, err = Plan(s, claimKey("c"), Options{MatchUpstream: release})
			require.ErrorIs(t, err, purekube.ErrPathSegment)
			require.True(t, r.Empty())
		}
	}
}

// A PodGroup is asked for by the name of a consumer, and by the name that a pod says.
func TestPodGroupThatNoPathCanHoldIsNoNeed(t *testing.T) {
	o := Options{PodGroupOf: func(*corev1.Pod) string { return "../db" }}
	group := resourcev1.ResourceClaimConsumerReference{APIGroup: schedulingGroup, Resource: podGroupResource, Name: "../db", UID: "1"}
	r, err := Plan(Snapshot{Now: now, Claims: claims(newClaim("c", allocated, protected, consumer(group)))}, claimKey("c"), o)
	require.ErrorIs(t, err, purekube.ErrPathSegment)
	require.True(t, r.Empty())

	r, err = Plan(Snapshot{Now: now, Pods: pods(newPod("p", wants("gpu", "gpu")))}, podKey("p"), o)
	require.ErrorIs(t, err, purekube.ErrPathSegment)
	require.ErrorContains(t, err, "Pod ml/p: spec.schedulingGroup")
	require.True(t, r.Empty())
}

// The status of a pod names a claim that nobody has.
func TestClaimThatNoPathCanHoldIsNoNeed(t *testing.T) {
	for _, name := range hostileNames[:4] {
		s := Snapshot{Now: now, Pods: pods(newPod("p", has("gpu", "gpu", name))), Templates: templates(newTemplate("gpu"))}
		for _, release := range []purekube.Upstream{"", purekube.V1_37} {
			r, err := Plan(s, podKey("p"), Options{MatchUpstream: release})
			require.ErrorIs(t, err, purekube.ErrPathSegment)
			require.ErrorContains(t, err, "Pod ml/p: spec.resourceClaims[0].resourceClaimName")
			require.Empty(t, r.Needs)
			require.Empty(t, r.Actions, "nor is another claim made")
		}
	}
}

// A pod that was seen to be deleted is asked for, if there is something to do for it.
func TestDeletedPodThatNoPathCanHoldIsNoNeed(t *testing.T) {
	p := newPod("../db", wants("gpu", "gpu"))
	r, err := Plan(Snapshot{Now: now, Pods: pods(p), Templates: templates(newTemplate("gpu")), Deleted: deletedUIDs(p.UID)}, podKey("../db"), Options{})
	require.ErrorIs(t, err, purekube.ErrPathSegment)
	require.True(t, r.Empty())
}
