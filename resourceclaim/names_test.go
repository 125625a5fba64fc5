package resourceclaim

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

func TestKeyOf(t *testing.T) {
	for _, key := range []purekube.Key{podKey("p"), claimKey("c"), PodKey("a.b", "c-d.e"), PodGroupKey(ns, "g")} {
		parsed, err := purekube.ParseKey(key.String())
		require.NoError(t, err)
		require.Equal(t, key, parsed)
	}
	require.Equal(t, "Pod/ml/p", podKey("p").String())
	require.Equal(t, "ResourceClaim/ml/c", claimKey("c").String())
	require.Equal(t, "PodGroup/ml/g", KeyOf(&PodGroup{Namespace: ns, Name: "g"}).String())
	require.Equal(t, []purekube.Key{{}, {}, {}}, []purekube.Key{KeyOf((*corev1.Pod)(nil)), KeyOf((*resourcev1.ResourceClaim)(nil)), KeyOf((*PodGroup)(nil))}, "nil has no plan")
}

func TestClaimName(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		pod          *corev1.Pod
		want         string
		state        NameState
	}{
		{"named", "the entry has the name", newPod("p", uses("x", "c")), "c", NameKnown},
		{"named, and a status", "the status is for templates", newPod("p", uses("x", "c"), got("x", "d")), "c", NameKnown},
		{"template, status", "the status has the name", newPod("p", has("x", "t", "c")), "c", NameKnown},
		{"template, no status", "not created yet", newPod("p", wants("x", "t")), "", NameNotCreated},
		{"template, another's status", "statuses go by the entry's name", newPod("p", wants("x", "t"), got("y", "c")), "", NameNotCreated},
		{"template, status without name", "the API says: not needed", newPod("p", wants("x", "t"), notNeeded("x")), "", NameNotNeeded},
		{"template, status with empty name", "the API does not allow it; it names nothing", newPod("p", wants("x", "t"), got("x", "")), "", NameNotCreated},
		{"two statuses", "the first counts, as upstream", newPod("p", wants("x", "t"), got("x", "c"), got("x", "d")), "c", NameKnown},
		{"both fields", "the API does not allow it; the name counts", newPod("p", func(p *corev1.Pod) {
			p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "x", ResourceClaimName: ptr.To("c"), ResourceClaimTemplateName: ptr.To("t")}}
		}), "c", NameKnown},
		{"neither field", "from a newer API", newPod("p", unsupported("x")), "", NameUnsupported},
	} {
		t.Run(tc.name, func(t *testing.T) {
			name, state := ClaimName(tc.pod, &tc.pod.Spec.ResourceClaims[0])
			require.Equal(t, tc.state, state, tc.reason)
			require.Equal(t, tc.want, name, tc.reason)
		})
	}

	_, state := ClaimName(newPod("p"), nil)
	require.Equal(t, NameUnsupported, state, "nothing names nothing")
	name, state := ClaimName(nil, &corev1.PodResourceClaim{ResourceClaimName: ptr.To("c")})
	require.Equal(t, NameKnown, state)
	require.Equal(t, "c", name)
	_, state = ClaimName(nil, &corev1.PodResourceClaim{ResourceClaimTemplateName: ptr.To("t")})
	require.Equal(t, NameNotCreated, state, "a nil pod has no status")

	require.Zero(t, NoNameState)
}
