package architecture

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube"
)

// supported is a line of .ci/kubernetes.
type supported struct{ minor, controllers, runtime string }

func supportedReleases(t *testing.T) []supported {
	t.Helper()
	var all []supported
	for line := range strings.Lines(read(t, ".ci/kubernetes")) {
		if fields := strings.Fields(line); len(fields) > 0 && !strings.HasPrefix(line, "#") {
			require.Len(t, fields, 3, line)
			all = append(all, supported{fields[0], fields[1], fields[2]})
		}
	}
	require.NotEmpty(t, all)
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	return string(content)
}

// .ci/kubernetes says which minors are supported. What else says so has to say the same.
func TestSupportedReleases(t *testing.T) {
	releases := supportedReleases(t)
	oldest := "v0." + strings.TrimPrefix(releases[0].minor, "1.") + ".0"

	t.Run("go.mod requires the oldest, and nothing newer", func(t *testing.T) {
		for _, module := range []string{"k8s.io/api", "k8s.io/apimachinery"} {
			require.Regexp(t, `(?m)^\t`+regexp.QuoteMeta(module+" "+oldest)+`$`, read(t, "go.mod"))
		}
	})

	t.Run("go.mod asks for no newer Go than the oldest does", func(t *testing.T) {
		require.Regexp(t, `(?m)^go 1\.25\.0$`, read(t, "go.mod"), "as in the go.mod of k8s.io/api "+oldest)
	})

	t.Run("a Release for each whose controllers are compared", func(t *testing.T) {
		var compared []purekube.Upstream
		for _, r := range releases {
			if r.controllers != "-" {
				compared = append(compared, purekube.Upstream("v"+r.minor))
			}
		}
		require.Equal(t, compared, []purekube.Upstream{purekube.V1_36, purekube.V1_37})
	})

	// A module's go.mod has the first release whose controllers are compared. Each other release has a file of its own.
	own := releases[slices.IndexFunc(releases, func(r supported) bool { return r.controllers != "-" })]
	fileOf := func(module string, r supported) string {
		if r == own {
			return module + "go.mod"
		}
		return module + "v" + r.minor + ".mod"
	}

	t.Run("the comparisons build those controllers, and Kubernetes' own tests are theirs", func(t *testing.T) {
		for _, module := range []string{"internal/test/upstream/", "internal/test/e2e/suites/"} {
			for _, r := range releases {
				if r.controllers != "-" {
					file := fileOf(module, r)
					require.Contains(t, read(t, file), "\tk8s.io/kubernetes "+r.controllers+"\n", file)
				}
			}
		}
	})

	t.Run("the tests on a real API server have one of each", func(t *testing.T) {
		for _, r := range releases {
			version := "v" + r.minor + "."
			if r.controllers != "-" {
				version = r.controllers + " "
			}
			file := fileOf("internal/test/e2e/bins/", r)
			require.Contains(t, read(t, file), "\tk8s.io/kubernetes "+version, file)
		}
	})

	t.Run("the README and VERSIONING.md", func(t *testing.T) {
		var minors, compared []string
		for _, r := range releases {
			minors = append(minors, r.minor)
			if r.controllers != "-" {
				compared = append(compared, r.controllers)
			}
		}
		readme := strings.Join(strings.Fields(read(t, "README.md")), " ")
		require.Contains(t, readme, fmt.Sprintf("the libraries of Kubernetes %s", enumerate(minors)))
		versioning := strings.Join(strings.Fields(read(t, "VERSIONING.md")), " ")
		require.Contains(t, versioning, fmt.Sprintf("the libraries of Kubernetes %s", enumerate(minors)))
		require.Contains(t, readme, fmt.Sprintf("the controllers of %s", enumerate(compared)))
	})
}

// enumerate writes a list out: "a, b and c".
func enumerate(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
