package conformance_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/conformance"
	"github.com/purekube/purekube/internal/scenario"
)

// Each rule and each divergence is decided as its files say.
func TestRules(t *testing.T) { conformance.Run(t, conformance.Files) }

// A file is a scenario by either name that YAML files have.
func TestYML(t *testing.T) {
	data, err := os.ReadFile("testdata/policy/checkout.yaml")
	require.NoError(t, err)
	conformance.Run(t, fstest.MapFS{"a.yml": {Data: data}})
}

// withoutFile are the rules that objects in YAML cannot say, and where their test is.
var withoutFile = map[string]string{
	"BR-30-09": "resourceclaim/memory/memory_test.go", // how many UIDs are remembered
	"BR-31-04": "clientgo/servicecidr_test.go",        // how often a failure is tried again
}

// Each number of the table in docs/architecture.md has a file in the folder of its package, whose rule is the number. No
// file is about another one.
func TestEveryRuleHasAFile(t *testing.T) {
	table := rulesOf(t)
	seen := map[string]bool{}
	for _, name := range filesOf(t, conformance.Files) {
		folder, number := path.Dir(name), read(t, name).Rule
		require.Contains(t, table[folder], number, "%s: no rule of %s", name, folder)
		require.True(t, strings.HasPrefix(path.Base(name), number+"-"), "%s: rule: is %s", name, number)
		seen[folder+" "+number] = true
	}
	for folder, numbers := range table {
		for _, number := range numbers {
			if test, other := withoutFile[number]; other {
				source, err := os.ReadFile(filepath.Join("..", test))
				require.NoError(t, err)
				require.Contains(t, string(source), number, test)
				continue
			}
			require.True(t, seen[folder+" "+number], "conformance/%s has no file for %s", folder, number)
		}
	}
}

// Every file of the folders is one of Files. It fits on a screen, says why, and decides at the time at which a scenario
// takes place that names none.
func TestFilesAreShort(t *testing.T) {
	require.Equal(t, filesOf(t, os.DirFS(".")), filesOf(t, conformance.Files))
	titles := map[string]string{}
	for _, name := range filesOf(t, conformance.Files) {
		data, err := fs.ReadFile(conformance.Files, name)
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
		require.LessOrEqual(t, len(lines), 60, name)
		for i, line := range lines {
			require.LessOrEqual(t, len(line), 160, "%s:%d", name, i+1)
		}
		s := read(t, name)
		require.Equal(t, path.Base(s.Package), strings.Split(name, "/")[0], name)
		require.NotEmpty(t, s.Why, name)
		require.Empty(t, titles[s.Title], "%s and %s have one title", name, titles[s.Title])
		titles[s.Title] = name
		require.Equal(t, scenario.Epoch, s.Now.Format("2006-01-02T15:04:05Z07:00"), name)
	}
}

// parsed are the scenarios that a test has read: several tests look at all of them.
var parsed = map[string]*scenario.Scenario{}

func read(t *testing.T, name string) *scenario.Scenario {
	t.Helper()
	if s := parsed[name]; s != nil {
		return s
	}
	data, err := fs.ReadFile(conformance.Files, name)
	require.NoError(t, err)
	s, err := scenario.Parse(name, data)
	require.NoError(t, err)
	parsed[name] = s
	return s
}

func filesOf(t *testing.T, files fs.FS) (names []string) {
	t.Helper()
	require.NoError(t, fs.WalkDir(files, ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".yaml" && !strings.HasPrefix(name, "testdata/") {
			names = append(names, name)
		}
		return err
	}))
	slices.Sort(names)
	return names
}

// rulesOf are the numbers of the table of docs/architecture.md, by folder.
func rulesOf(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../docs/architecture.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "<!-- rules:begin -->")
	require.True(t, found)
	numbers := map[string][]string{}
	row := regexp.MustCompile("^\\| `([^`]+)` \\|")
	for line := range strings.Lines(table) {
		if folder := row.FindStringSubmatch(line); folder != nil {
			numbers[folder[1]] = regexp.MustCompile(`\b(?:BR-\d+-\d+|D-\d+)\b`).FindAllString(line, -1)
		}
	}
	require.Greater(t, len(numbers), 5)
	return numbers
}

// notComparable are scenarios in which MatchUpstream does something else than the controller, and why.
var notComparable = map[string]string{
	"disruption/BR-25-02-workload-is-scaled.yaml v1.36":     "With names the budget, whose plan differs; this controller has no handler for workloads",
	"disruption/BR-25-02-workload-is-scaled.yaml v1.37":     "With names the budget, whose plan differs; this controller has no handler for workloads",
	"resourceclaim/D-27-pod-groups-are-off.yaml v1.37":      "without PodGroupOf no package reads spec.schedulingGroup, which this controller does",
	"resourceclaim/D-34-group-has-another-claim.yaml v1.37": "With and Without name the pods, whose plans differ; this controller does not look at them",
}

// requests are the lines that MatchUpstream matches: an error of kube-controller-manager is its way to try again, and it writes
// to its cache.
func requests(s *scenario.Scenario, lines []scenario.Line) []scenario.Line {
	return slices.DeleteFunc(s.Compared(lines), func(l scenario.Line) bool { return l.Verb() == "cache" || l.Verb() == "error" })
}

// With MatchUpstream, a package does what the file says about kube-controller-manager. That it says the truth is shown by
// internal/test/upstream/parity, with the real controllers.
func TestMatchUpstream(t *testing.T) {
	for _, name := range filesOf(t, conformance.Files) {
		s := read(t, name)
		// ttl has no such option. Evictions, drains and what a controller remembers of its writes are no questions to a file.
		if s.Package == scenario.TTL || s.EvictsPods() || s.HasAssumed() {
			continue
		}
		for _, release := range []purekube.Upstream{purekube.V1_36, purekube.V1_37} {
			if s.Options.PodGroups && release == purekube.V1_36 {
				continue
			}
			if why, other := notComparable[name+" "+string(release)]; other {
				t.Log(name, release, why)
				continue
			}
			t.Run(name+" "+string(release), func(t *testing.T) {
				want := s.UpstreamWant(release)
				if len(want) == 1 && want[0].Verb() == "panic" { // MatchUpstream does not
					want = s.Want
				}
				if len(s.Plan) > 0 {
					s.Plan = []string{scenario.All} // as a controller does
				}
				lines, err := s.Ask(release)
				require.NoError(t, err)
				require.Empty(t, scenario.Diff(requests(s, want), requests(s, lines)), s.Title)
			})
		}
	}
}
