package clientgo

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube"
)

// asked remembers what was looked up.
type asked struct{ needs []purekube.Need }

func (a *asked) Lookup(_ context.Context, n purekube.Need) (purekube.Answer, error) {
	a.needs = append(a.needs, n)
	return purekube.Answer{}, nil
}

// PodGroups are looked up in the version of the informer, whatever version the plan names, and other kinds in their own.
func TestPodGroupsAreLookedUpInTheirVersion(t *testing.T) {
	a := &asked{}
	for _, n := range []purekube.Need{
		{APIVersion: "scheduling.k8s.io/v1beta1", Kind: "PodGroup", Namespace: "ml", Name: "train"},
		{APIVersion: "v1", Kind: "Pod", Namespace: "ml", Name: "train"},
	} {
		_, err := podGroupLookup{a, "v1alpha2"}.Lookup(t.Context(), n)
		require.NoError(t, err)
	}
	require.Equal(t, []purekube.Need{
		{APIVersion: "scheduling.k8s.io/v1alpha2", Kind: "PodGroup", Namespace: "ml", Name: "train"},
		{APIVersion: "v1", Kind: "Pod", Namespace: "ml", Name: "train"},
	}, a.needs)
}
