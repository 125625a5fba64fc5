package architecture

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// A tag of an action can be moved. A commit cannot, and the tag behind it says what it is.
func TestActionsArePinned(t *testing.T) {
	pinned := regexp.MustCompile(`^[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	workflows, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	require.NoError(t, err)
	require.NotEmpty(t, workflows)
	for _, workflow := range workflows {
		text, err := os.ReadFile(workflow)
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(text, &map[string]any{}), workflow)
		for line := range strings.Lines(string(text)) {
			if _, action, uses := strings.Cut(strings.TrimSpace(line), "uses: "); uses {
				require.Regexp(t, pinned, action, workflow)
			}
		}
	}
}

// The workflow tests with each supported minor.
func TestWorkflowHasEachMinor(t *testing.T) {
	var workflow struct {
		Jobs struct {
			Minors struct {
				Strategy struct{ Matrix struct{ Minor []string } }
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, ".github/workflows/check.yml")), &workflow))
	var want []string
	for _, r := range supportedReleases(t) {
		want = append(want, strings.TrimPrefix(r.minor, "1."))
	}
	require.Equal(t, want, workflow.Jobs.Minors.Strategy.Matrix.Minor)
}

// Each module is updated.
func TestDependabotKnowsEachModule(t *testing.T) {
	var config struct {
		Updates []struct {
			Ecosystem   string `json:"package-ecosystem"`
			Directories []string
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, ".github/dependabot.yml")), &config))
	var want []string
	require.NoError(t, filepath.WalkDir(root, func(at string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "bin" {
			return filepath.SkipDir // what the tests of e2e build, a copy of Kubernetes among it
		}
		if err == nil && entry.Name() == "go.mod" {
			folder, relative := filepath.Rel(root, filepath.Dir(at))
			require.NoError(t, relative)
			want = append(want, path.Join("/", filepath.ToSlash(folder)))
		}
		return err
	}))
	slices.Sort(want)
	for _, u := range config.Updates {
		if u.Ecosystem == "gomod" {
			require.Equal(t, want, u.Directories)
			return
		}
	}
	t.Fatal("no updates of Go modules")
}
