package conformance_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/conformance"
	"github.com/purekube/purekube/internal/scenario"
)

var update = flag.Bool("update", false, "write docs/divergences.md instead of comparing it")

const divergencesPage = "../docs/divergences.md"

// sourcesRead says which source the fields since were read from.
const sourcesRead = `- servicecidr: ` + "`pkg/controller/servicecidrs`" + ` of v1.29.0, which introduced it (alpha), to v1.37.0; for D-4 also
  ` + "`pkg/apis/networking/validation`" + ` of v1.32.0 to v1.34.0.
- resourceclaim: ` + "`pkg/controller/resourceclaim`" + ` of v1.26.0, which introduced it (alpha), to v1.37.0. Claims of PodGroups
  are an alpha feature of v1.36; their divergences are shown with v1.37, the first release with scheduling.k8s.io/v1beta1.
- rbacaggregate: ` + "`pkg/controller/clusterroleaggregation`" + ` of v1.9.0, v1.12.0, v1.14.0, v1.15.0, v1.20.0, v1.21.0 and
  v1.26.0 to v1.37.0. v1.8.0 does not have it.
- disruption: ` + "`pkg/controller/disruption`" + ` of v1.4.0 to v1.9.0, v1.12.0, v1.14.0, v1.15.0, v1.20.0, v1.21.0 and
  v1.26.0 to v1.37.0.
- D-40: ` + "`filterPodsWithPDBViolation`" + ` of v1.36.3, and ` + "`FilterVictimsWithPDBViolation`" + ` of v1.37.2.
`

// A divergence says what goes wrong and since when: not later than the oldest release in which the file shows it. A rule says
// nothing of that. In some supported release the controller does something else than the file wants.
func TestDivergencesSayTheHarm(t *testing.T) {
	for _, name := range filesOf(t, conformance.Files) {
		s := read(t, name)
		for _, report := range s.Reports {
			require.Regexp(t, `^[a-z-]+/[a-z-]+#\d+$`, report, name)
		}
		if !isDivergence(s) {
			require.Empty(t, s.Harm+s.Since, name)
			continue
		}
		require.Regexp(t, `^[^|\n]*\.$`, s.Harm, name)
		since := regexp.MustCompile(`^(?:at least )?v1\.(\d+)(?: \(.*\))?$`).FindStringSubmatch(s.Since)
		require.NotNil(t, since, "%s: since: %q", name, s.Since)
		if len(s.Preempt) > 0 { // not a question to kube-controller-manager
			continue
		}
		introduced, err := strconv.Atoi(since[1])
		require.NoError(t, err)
		shown := 0
		for release, minor := range map[purekube.Upstream]int{purekube.V1_36: 36, purekube.V1_37: 37} {
			if _, other := s.Upstream[release]; other {
				require.LessOrEqual(t, introduced, minor, name)
				shown++
			}
		}
		require.NotZero(t, shown, "%s: kube-controller-manager does what the file wants", name)
	}
}

func isDivergence(s *scenario.Scenario) bool { return strings.HasPrefix(s.Rule, "D-") }

// docs/divergences.md has a row for each file of a divergence.
func TestDivergencesPage(t *testing.T) {
	page := divergences(t)
	if *update {
		require.NoError(t, os.WriteFile(divergencesPage, []byte(page), 0o644))
		return
	}
	written, err := os.ReadFile(divergencesPage)
	require.NoError(t, err)
	if diff := gocmp.Diff(string(written), page); diff != "" {
		t.Errorf("docs/divergences.md is out of date: go test ./conformance -run TestDivergencesPage -update\n%s", diff)
	}
}

func divergences(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`<!-- Written by conformance: go test ./conformance -run TestDivergencesPage -update -->

# Where the default differs from kube-controller-manager

A divergence is a case in which purekube, by default, deliberately does something other than the controller of
kube-controller-manager, because that controller has a defect there. With Options.MatchUpstream, purekube sends the
requests of the release that you name, including its defects; it never panics where the controller panics (D-12) and
never writes to an object in a cache (D-6). Everything else is the same, except that by default a request carries the
UID of the object that it was decided for, if the kind of request allows one. Where kube-controller-manager updates a
ResourceClaim, or the status of a PodDisruptionBudget or a Pod, purekube always sends a patch with the same result. D-40
is about kube-scheduler instead.

One difference is about events and has no number. An event of a pod affects every PodDisruptionBudget that selects the
pod. kube-controller-manager plans only one of them, the first in an arbitrary order (getPdbForPod in disruption.go). The
others keep their status until something else affects them ([report](upstream/tenant-budgets.md)). In purekube, many
PodDisruptionBudgets over one pod therefore cause many writes. This is why the controllers of clientgo plan namespaces in
rotation.

For some divergences, a [report to Kubernetes](upstream/README.md), with a test, is ready to be sent. The column
"reports" links to it, and to existing reports.

Each number links to a [scenario file](conformance.md): the objects, what purekube does, and what kube-controller-manager of
each supported release does, as recorded from a run of the real controllers.
`)
	folder := ""
	files := filesOf(t, conformance.Files)
	slices.SortStableFunc(files, func(a, b string) int {
		return cmp.Or(strings.Compare(path.Dir(a), path.Dir(b)), number(a)-number(b))
	})
	for _, name := range files {
		s := read(t, name)
		if !isDivergence(s) {
			continue
		}
		if path.Dir(name) != folder {
			folder = path.Dir(name)
			fmt.Fprintf(&b, "\n## %s\n\n| number | what purekube does | what goes wrong otherwise | since | reports |\n|---|---|---|---|---|\n", folder)
		}
		fmt.Fprintf(&b, "| [%s](../conformance/%s) | %s. | %s | %s | %s |\n", s.Rule, name, s.Title, s.Harm, since(s), reports(s))
	}
	b.WriteString("\n## Reported by others, and fixed in the supported releases\n\n| rule | what purekube does | reports |\n|---|---|---|\n")
	for _, name := range files {
		if s := read(t, name); !isDivergence(s) && len(s.Reports) > 0 {
			fmt.Fprintf(&b, "| [%s](../conformance/%s) | %s. | %s |\n", s.Rule, name, s.Title, reports(s))
		}
	}
	b.WriteString(`
One report is about something that no controller can prevent: an apply of a ClusterRole with an aggregationRule and an empty
list of rules removes its rules until the controller has written them again
([kubernetes#118648](https://github.com/kubernetes/kubernetes/issues/118648)). Leave the field rules out of the manifest.

Three more reports are related:

- [kubernetes#119731](https://github.com/kubernetes/kubernetes/issues/119731) is about a budget with an empty selector. It
  selects every pod of its namespace in policy/v1: in purekube, in kube-controller-manager and in the eviction handler.
  kube-scheduler differs (D-40).
- [kubernetes#141290](https://github.com/kubernetes/kubernetes/issues/141290): the controller that evicts pods from tainted
  devices overlooks claims of status.extendedResourceClaimStatus. purekube has no such controller; resourceclaim reads the
  field.
- [autoscaler#7907](https://github.com/kubernetes/autoscaler/issues/7907): cluster-autoscaler names a pod of another node as
  the reason why a node stays. drain.Node names only pods of the node itself.

## Since which release

"Since" is the first release whose controller does it, as read from the source. The numbers are in the order in
which the divergences were found. D-30 does not exist. These sources were read:

` + sourcesRead)
	return b.String()
}

// reports are links to the issues about it, and to the page that can become one.
func reports(s *scenario.Scenario) string {
	var links []string
	for _, r := range s.Reports {
		repository, issue, _ := strings.Cut(r, "#")
		links = append(links, fmt.Sprintf("[%s](https://github.com/%s/issues/%s)", path.Base(r), repository, issue))
	}
	if page := "upstream/" + s.Rule + ".md"; fileExists(filepath.Join(filepath.Dir(divergencesPage), page)) {
		links = append(links, "[to send]("+page+")")
	}
	return strings.Join(links, ", ")
}

// number is the number of a divergence in the name of its file; 0: it is a rule.
func number(name string) (n int) {
	if found := regexp.MustCompile(`^D-(\d+)-`).FindStringSubmatch(path.Base(name)); found != nil {
		n, _ = strconv.Atoi(found[1])
	}
	return n
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// since says from which release on, and up to which one if a later supported release no longer does it.
func since(s *scenario.Scenario) string {
	_, still := s.Upstream[purekube.V1_37]
	if still || len(s.Preempt) > 0 || s.Since == string(purekube.V1_36) {
		return s.Since
	}
	return s.Since + " to " + string(purekube.V1_36)
}
