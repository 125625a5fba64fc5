package manifests_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/manifests"
)

// A template that is not rendered gets the same advice wherever its first expression is.
func TestTemplateThatIsNotRendered(t *testing.T) {
	for _, text := range []string{
		"{{- if .Values.budget }}\nkind: PodDisruptionBudget\n{{- end }}\n", "\n {{ include \"web\" . }}\n", "kind: {{ .Values.kind }\n",
	} {
		_, err := manifests.Load(manifests.Options{Stdin: strings.NewReader(text)}, "-")
		require.ErrorContains(t, err, "Render a Helm chart first, with helm template", text)
	}
}

// The decoder would replace what is no UTF-8, and read another name than the one that is written.
func TestJSONThatIsNotUTF8(t *testing.T) {
	const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"app":"` + "\xff" + `"}}}`
	for _, text := range []string{pod, `{"apiVersion":"v1","kind":"List","items":[` + pod + `]}`} {
		set, err := manifests.Load(manifests.Options{Stdin: strings.NewReader(text)}, "-")
		require.ErrorContains(t, err, "not UTF-8")
		require.Empty(t, set.Pods)
	}
}

// The path "-" is the standard input of the process if the caller names no other.
func TestStandardInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pod.yaml")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"), 0o600))
	in, err := os.Open(file)
	require.NoError(t, err)
	defer in.Close()
	was := os.Stdin
	defer func() { os.Stdin = was }()
	os.Stdin = in
	set, err := manifests.Load(manifests.Options{}, "-")
	require.NoError(t, err)
	require.Len(t, set.Pods, 1)
}

// What is behind a link to a directory may be the budget that forbids a drain.
func TestLinkToADirectory(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "chart"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "shared"), 0o700))
	pod := []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "chart", "pod.yaml"), pod, 0o600))
	require.NoError(t, os.Symlink(filepath.Join(dir, "shared"), filepath.Join(dir, "chart", "shared")))
	set, err := manifests.Load(manifests.Options{}, filepath.Join(dir, "chart"))
	require.ErrorContains(t, err, "a link to a directory is not followed")
	require.Len(t, set.Pods, 1)
	require.False(t, set.Complete)
}

// A file of a directory that cannot be opened is named, and the others are read.
func TestFileThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink("/nonexistent", filepath.Join(dir, "a.yaml")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.yaml"), []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"), 0o600))
	set, err := manifests.Load(manifests.Options{}, dir)
	require.EqualError(t, err, filepath.Join(dir, "a.yaml")+": no such file or directory")
	require.Len(t, set.Pods, 1)
	require.False(t, set.Complete)
}
