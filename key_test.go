package purekube_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

func TestKeyText(t *testing.T) {
	for _, tc := range []struct {
		key  purekube.Key
		want string
	}{
		{purekube.Key{Kind: "Pod", Namespace: "ml", Name: "train-0"}, "Pod/ml/train-0"},
		{purekube.Key{Kind: "ClusterRole", Name: "system:admin"}, "ClusterRole/system:admin"},
	} {
		require.Equal(t, tc.want, tc.key.String())
		got, err := purekube.ParseKey(tc.want)
		require.NoError(t, err)
		require.Equal(t, tc.key, got, "what String writes, ParseKey reads")
		require.Equal(t, types.NamespacedName{Namespace: tc.key.Namespace, Name: tc.key.Name}, got.NamespacedName())
	}
	for _, text := range []string{"", "/", "Pod", "Pod/", "/train-0", "Pod//train-0", "Pod/ml/", "Pod/ml/train-0/log", "Pod/ml/train-0/"} {
		got, err := purekube.ParseKey(text)
		require.ErrorContains(t, err, "want Kind/name or Kind/namespace/name", text)
		require.Empty(t, got, text)
	}
}

func TestKeyJSON(t *testing.T) {
	type named struct {
		Key    purekube.Key            `json:"key"`
		Object purekube.Key            `json:"object,omitzero"`
		By     map[purekube.Key]string `json:"by"`
	}
	pod := purekube.Key{Kind: "Pod", Namespace: "ml", Name: "train-0"}
	want := named{Key: pod, By: map[purekube.Key]string{pod: "x"}}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	require.Equal(t, `{"key":"Pod/ml/train-0","by":{"Pod/ml/train-0":"x"}}`, string(text))
	var got named
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, want, got)

	text, err = json.Marshal(purekube.Key{})
	require.NoError(t, err)
	require.Equal(t, `""`, string(text), "the zero Key names nothing")
	require.NoError(t, json.Unmarshal(text, &pod))
	require.Empty(t, pod)
	require.ErrorContains(t, json.Unmarshal([]byte(`"Pod"`), &pod), "want Kind/name or Kind/namespace/name")
}

func TestKeysSortByKindNamespaceAndName(t *testing.T) {
	want := []purekube.Key{
		{}, {Kind: "Pod", Namespace: "a", Name: "z"}, {Kind: "Pod", Namespace: "b", Name: "a"}, {Kind: "Pod", Namespace: "b", Name: "b"},
		{Kind: "PodDisruptionBudget", Namespace: "a", Name: "a"},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, purekube.Key.Compare)
	require.Equal(t, want, got)
}
