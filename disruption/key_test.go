package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
)

func TestKey(t *testing.T) {
	for _, k := range []Key{key("web"), podNamed("web-0")} {
		parsed, err := ParseKey(k.String())
		require.NoError(t, err)
		require.Equal(t, k, parsed)
	}
	require.Equal(t, "budget:shop/web", key("web").String())
	require.Equal(t, key("web"), KeyOf(budget()))
	require.Equal(t, podNamed("a"), KeyOf(pod("a")))
	require.Zero(t, KeyOf[*policyv1.PodDisruptionBudget](nil))
	require.Zero(t, KeyOf[*corev1.Pod](nil))
	for _, tc := range []struct{ name, key, err string }{
		{"no kind", "shop/web", `key "shop/web": want budget:namespace/name or pod:namespace/name`},
		{"another kind", "claim:shop/web", `key "claim:shop/web": want budget:namespace/name or pod:namespace/name`},
		{"no name", "pod:shop", `key "pod:shop": want a namespace and a name after pod`},
		{"no namespace", "pod:/web", `key "pod:/web": want a namespace and a name after pod`},
		{"too much", "pod:shop/web/x", `key "pod:shop/web/x": want a namespace and a name after pod`},
		{"empty", "", `key "": want budget:namespace/name or pod:namespace/name`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ParseKey(tc.key)
			require.EqualError(t, err, tc.err)
		})
	}
}
