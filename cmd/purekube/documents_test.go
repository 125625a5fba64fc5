package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// A dump of a few thousand objects, each kind of input, is the same cluster.
func TestDump(t *testing.T) {
	var list, documents strings.Builder
	list.WriteString("apiVersion: v1\nitems:\n")
	for i := range 5000 {
		object := named(nodeWithout, fmt.Sprintf("n%04d", i))
		list.WriteString("- " + strings.ReplaceAll(strings.TrimSuffix(object, "\n"), "\n", "\n  ") + "\n")
		documents.WriteString(object + "---\n")
	}
	list.WriteString("kind: List\nmetadata:\n  resourceVersion: \"\"\n")
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	_, err := w.Write([]byte(list.String()))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	files := fstest.MapFS{
		"list.yaml": {Data: []byte(list.String())}, "documents.yaml": {Data: []byte(documents.String())},
		"folder/list.yaml.gz": {Data: compressed.Bytes()},
	}
	want := plan(t, files, "", "--core", "ttl", "documents.yaml").stdout
	require.Contains(t, want, "Plan: 5000 actions")
	for _, name := range []string{"list.yaml", "folder"} {
		got := plan(t, files, "", "--core", "ttl", name)
		require.Empty(t, got.stderr)
		require.Equal(t, want, got.stdout)
	}
	cut := plan(t, nil, compressed.String()[:2000], "--core", "ttl", "-")
	require.Equal(t, exitInput, cut.status)
	require.Contains(t, cut.stderr, "unexpected EOF")
}
