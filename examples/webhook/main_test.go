package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file that protects nothing, has a field which no rule has, or has a second document, is a mistake.
func TestReadProtected(t *testing.T) {
	for _, bad := range []string{"", "{}", "view: {}", "view: [{verb: [get]}]", ":", "view: []\n---\nedit: []"} {
		_, err := readProtected([]byte(bad))
		require.Error(t, err, bad)
	}
	allowed, err := readProtected([]byte(`view: [{apiGroups: ["*"], resources: [pods], verbs: [get]}]`))
	require.NoError(t, err)
	require.Equal(t, []string{"pods"}, allowed["view"][0].Resources)

	file := filepath.Join(t.TempDir(), "protected.yaml")
	require.ErrorIs(t, addWebhook(nil, file, false), os.ErrNotExist)
	require.NoError(t, os.WriteFile(file, []byte("{}"), 0o600))
	require.ErrorContains(t, addWebhook(nil, file, false), "protected.yaml: no ClusterRole in it")
}
