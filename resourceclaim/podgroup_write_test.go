package resourceclaim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/internal/test/aliasing"
)

// The version of the API is the group's own, or else v1beta1.
func TestPodGroupVersions(t *testing.T) {
	for _, tc := range []struct{ version, want string }{
		{"scheduling.k8s.io/v1", "scheduling.k8s.io/v1"},
		{"", "scheduling.k8s.io/v1beta1"},
		{"scheduling.k8s.io/", "not a version of scheduling.k8s.io"},
		{"v1", "not a version of scheduling.k8s.io"},
		{"scheduling.k8s.io/v1/x", "not a version of scheduling.k8s.io"},
	} {
		t.Run(tc.version, func(t *testing.T) {
			g := newGroup("g", groupWants("gpu", "gpu"))
			g.APIVersion = tc.version
			r, err := Plan(Snapshot{PodGroups: []PodGroup{g}, Templates: templates(newTemplate("gpu"))}, groupKey("g"), grouped)
			if !strings.HasPrefix(tc.want, schedulingGroup) {
				require.EqualError(t, err, "PodGroup ml/g: apiVersion: "+tc.want)
				require.True(t, r.Empty())
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, r.Actions[0].(CreateClaim).Claim.OwnerReferences[0].APIVersion)
			require.Equal(t, tc.want, r.Actions[1].(SetClaimStatuses).APIVersion)
			require.Equal(t, tc.want, r.Actions[1].Request(nil).Resource.GroupVersion().String())
		})
	}
}

func TestApplyToPodGroup(t *testing.T) {
	made := func() PodGroup {
		return newGroup("g", groupWants("gpu", "gpu"), groupUses("shared", "s")).got("gpu", "old").got("shared", "other-managers")
	}
	a := SetClaimStatuses{Kind: podGroupKind, Namespace: ns, Name: "g", UID: "uid-g", Statuses: []corev1.PodResourceClaimStatus{status("gpu", "new")}}
	g := made()
	after := a.ApplyToPodGroup(g)
	require.Equal(t, []corev1.PodResourceClaimStatus{status("shared", "other-managers"), status("gpu", "new")}, after.ResourceClaimStatuses,
		"what this controller owned is replaced, the rest is kept")
	require.Equal(t, g.ResourceClaims, after.ResourceClaims)
	require.Equal(t, made(), g, "the group is as it was")
	require.Empty(t, aliasing.Shared(g, after))
	require.Empty(t, aliasing.Shared(a, after))

	require.Equal(t, g.uid("x"), a.ApplyToPodGroup(g.uid("x")), "a new group of that name is not meant")
	a.UID = ""
	require.Equal(t, after.ResourceClaimStatuses, a.ApplyToPodGroup(g).ResourceClaimStatuses, "upstream does not say which group it means")
}
