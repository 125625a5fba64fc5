package resourceclaim

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// A PodGroup that came is named if its plan has anything to do or to say.
func TestPodGroupWithWork(t *testing.T) {
	settled := newClaim("c", ofGroup("g", "uid-g", "gpu"))
	g := newGroup("g", groupWants("gpu", "gpu"))
	four := newGroup("g", groupUses("a", "s"), groupUses("b", "s"), groupUses("c", "s"), groupUses("d", "s"))
	five := newGroup("g", append([]corev1.PodResourceClaim{groupUses("e", "s")}, four.ResourceClaims...)...)
	foreign := newGroup("g", groupUses("a", "s"))
	foreign.APIVersion = "example.com/v1"
	for _, tc := range []struct {
		name, reason string
		group        PodGroup
		deleted      []types.UID
		want         bool
	}{
		{"to create", "a claim has to be made", g, nil, true},
		{"at rest", "it has its claim", g.got("gpu", "c"), nil, false},
		{"no entries", "there is nothing to do, whatever else is wrong with it", newGroup("g").uid(""), nil, false},
		{"deleting", "a group that goes gets nothing", g.deleting(), nil, false},
		{"D-37 seen to be deleted", "the plan asks for it", g, []types.UID{"uid-g"}, true},
		{"no UID", "the plan says so", newGroup("g", groupUses("a", "s")).uid(""), nil, true},
		{"another API", "the plan says so", foreign, nil, true},
		{"four entries", "that is the most", four, nil, false},
		{"five entries", "the plan says that one is too many", five, nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := Snapshot{Claims: claims(settled), Deleted: deletedUIDs(tc.deleted...)}
			var want []string
			if tc.want {
				want = []string{"PodGroup/ml/g"}
			}
			_, keys := NewIndex(s, grouped).With(Snapshot{PodGroups: []PodGroup{tc.group}})
			require.ElementsMatch(t, want, texts(keys), tc.reason)
		})
	}
}

// A claim names the PodGroups that have work with it: those that name it, and the one that it was made for.
func TestPodGroupsOfAClaim(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		group        PodGroup
		before, now  *resourcev1.ResourceClaim
		want         []string
	}{
		{"made", "the status does not name it yet", newGroup("g", groupWants("gpu", "gpu")), nil, newClaim("c", ofGroup("g", "uid-g", "gpu")), []string{"PodGroup/ml/g", "ResourceClaim/ml/c"}},
		{"gone", "another one has to be made", newGroup("g", groupWants("gpu", "gpu")).got("gpu", "c"), newClaim("c", ofGroup("g", "uid-g", "gpu")), nil, []string{"PodGroup/ml/g", "ResourceClaim/ml/c"}},
		{"shown", "it was missed before", newGroup("g", groupWants("gpu", "gpu")).got("gpu", "c"), nil, newClaim("c", ofGroup("g", "uid-g", "gpu")), []string{"PodGroup/ml/g", "ResourceClaim/ml/c"}},
		{"changed", "the group had it and has it", newGroup("g", groupWants("gpu", "gpu")).got("gpu", "c"), newClaim("c", ofGroup("g", "uid-g", "gpu")), newClaim("c", ofGroup("g", "uid-g", "gpu"), allocated), []string{"ResourceClaim/ml/c"}},
		{"another group's", "the group does not use it", newGroup("g", groupWants("gpu", "gpu")), nil, newClaim("c", ofGroup("h", "uid-h", "gpu")), []string{"ResourceClaim/ml/c"}},
		{"another namespace's", "a claim serves its own", newGroup("g", groupWants("gpu", "gpu")).got("gpu", "c"), nil, newClaim("c", ofGroup("g", "uid-g", "gpu"), inNamespace("other")), []string{"ResourceClaim/other/c"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before, after := Snapshot{PodGroups: []PodGroup{tc.group}}, Snapshot{PodGroups: []PodGroup{tc.group}}
			if tc.before != nil {
				before.Claims = claims(tc.before)
			}
			x := NewIndex(before, grouped)
			var keys []purekube.Key
			if tc.now != nil {
				after.Claims = claims(tc.now)
				_, keys = x.With(Snapshot{Claims: after.Claims})
			} else {
				_, keys = x.Without(Snapshot{Claims: before.Claims})
			}
			require.Equal(t, tc.want, texts(keys), tc.reason)
		})
	}
}

// A PodGroup that came after the Index was made is named by the event of its claim, like one that was there before.
func TestPodGroupThatCameLaterIsNamed(t *testing.T) {
	x, _ := NewIndex(Snapshot{}, grouped).With(Snapshot{PodGroups: []PodGroup{newGroup("g", groupWants("gpu", "gpu"))}})
	_, affected := x.With(Snapshot{Claims: claims(newClaim("c", ofGroup("g", "uid-g", "gpu")))})
	require.Equal(t, []string{"PodGroup/ml/g", "ResourceClaim/ml/c"}, texts(affected))
}
