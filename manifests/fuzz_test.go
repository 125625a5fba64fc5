package manifests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/disruption"
)

// Whatever the input is: no panic, an error or a complete set, the same set when it is read again, and pods at full health
// that are bounded.
func FuzzLoad(f *testing.F) {
	corpus, err := filepath.Glob("testdata/malformed/*")
	require.NoError(f, err)
	require.NotEmpty(f, corpus)
	for _, name := range corpus {
		text, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(string(text))
	}
	for _, text := range []string{
		named(nodeAt0, "a"), oneNode("a") + "\n" + oneNode("a"), "items:\n-", "items:\n- a: 1\n-", "--- \n", "a: &a [*a]", "{{", "\x1f\x8b",
		"\ufeff" + oneNode("a"), "# dump\n" + oneNode("a") + oneNode("b"), "a: 1\n... # end\n--- {a: 2}", "\xff\xfea", "a: &a {x: 1}\nb: {<<: *a, x: 2}",
		workloadYAML("apps/v1", "Deployment", "web", "replicas: 2, "+template),
		workloadYAML("apps/v1", "Deployment", "web", template) + scaledObjectYAML("minReplicaCount: 2, idleReplicaCount: 0, scaleTargetRef: {name: web}"),
		`{"kind":"List","apiVersion":"v1","items":[` + oneNode("a") + `]}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, whole := range []int{1 << 20, 0} {
			before := wholeDocument
			wholeDocument = whole
			set, err := Load(Options{Stdin: strings.NewReader(text), MaxUnzipped: 1 << 20}, "-")
			again, errAgain := Load(Options{Stdin: strings.NewReader(text), MaxUnzipped: 1 << 20}, "-")
			wholeDocument = before
			require.True(t, err != nil || set.Complete)
			require.Equal(t, set, again)
			require.Equal(t, err, errAgain)
			for _, e := range Errors(err) {
				require.NotEmpty(t, e.Error())
			}
			full, _ := set.AtFullHealth()
			if len(full.Pods) < 1000 {
				_, _ = disruption.PlanAll(full.Disruption(time.Unix(0, 0)), disruption.Options{})
			}
		}
	})
}

// Each malformed file is an error that names it, whichever way it is read.
func TestMalformed(t *testing.T) {
	corpus, err := filepath.Glob("testdata/malformed/*")
	require.NoError(t, err)
	for _, name := range corpus {
		bothWays(t, filepath.Base(name), func(t *testing.T) {
			_, err := Load(Options{}, name)
			require.ErrorContains(t, err, name)
		})
	}
}
