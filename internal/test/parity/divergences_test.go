package parity

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
)

// divergence is a case in which the default deliberately does something else than the real
// controller. The cases are the documentation: docs/divergences.md is written from them.
type divergence struct {
	// ID is the number, such as "D-11". Title says what the case is about, in a few words.
	ID, Title string
	// Harm says in one line what goes wrong in a real cluster, in the words of the API, without a full stop.
	Harm string
	// Since is the first release whose controller does it, such as "v1.28": read from the source of older
	// releases, which sourcesRead lists. "at least" in front of it says that no older one was read.
	Since string
	// Why says what the controller does, what follows from it, and what the default does instead.
	Why string
	// Given returns new objects of the snapshot at each call. Setting says what the objects do not
	// say, for example what time it is. The times of a case are relative to Epoch.
	Given   func() []runtime.Object
	Setting string
	// Run gives the objects to the real controller and to our default, and returns what each of
	// them does, usually by Trace.String or Manifests. It is nil for a case that another module runs, see RunBy.
	Run func(t *testing.T, given []runtime.Object) (upstream, ours string)
	// RunBy is the module with the test of a case without Run, and Component what it runs there in place of
	// kube-controller-manager.
	RunBy, Component string
	// Upstream and Ours are the expected results, written by hand.
	Upstream, Ours string
	// In are the releases whose controller does that; nil means every supported one. Elsewhere is
	// what the controllers of the other releases do. It is empty if the case does not exist there.
	In        []purekube.Upstream
	Elsewhere string
}

// upstreamIn is what the controller of a release has to do, or empty if the case says nothing about the release.
func (d divergence) upstreamIn(r purekube.Upstream) string {
	if d.In == nil || slices.Contains(d.In, r) {
		return d.Upstream
	}
	return d.Elsewhere
}

// supported are the releases whose controllers are compared, the oldest first.
var supported = []purekube.Upstream{purekube.V1_36, purekube.V1_37}

// sourcesRead says which source the fields Since were read from.
var sourcesRead = []string{
	"servicecidr: `pkg/controller/servicecidrs` of v1.29.0, which introduced it (alpha), to v1.37.0; for D-4 also " +
		"`pkg/apis/networking/validation` of v1.32.0 to v1.34.0.",
	"resourceclaim: `pkg/controller/resourceclaim` of v1.26.0, which introduced it (alpha), to v1.37.0. Claims of PodGroups " +
		"are an alpha feature of v1.36; their divergences are shown with v1.37, the first release with scheduling.k8s.io/v1beta1.",
	"rbacaggregate: `pkg/controller/clusterroleaggregation` of v1.9.0, v1.12.0, v1.14.0, v1.15.0, v1.20.0, v1.21.0 and " +
		"v1.26.0 to v1.37.0. v1.8.0 does not have it.",
	"disruption: `pkg/controller/disruption` of v1.4.0 to v1.9.0, v1.12.0, v1.14.0, v1.15.0, v1.20.0, v1.21.0 and " +
		"v1.26.0 to v1.37.0.",
	"disruption/drain: `filterPodsWithPDBViolation` of v1.36.3, and `FilterVictimsWithPDBViolation` of v1.37.2.",
}

// since says from which release on, and up to which one if a later supported release no longer does it.
func (d divergence) since() string {
	in, _ := d.releases()
	last := in[len(in)-1]
	if last == supported[len(supported)-1] || d.Since == string(last) {
		return d.Since
	}
	return d.Since + " to " + string(last)
}

// releases are those in which the controller does what Upstream says, and the others.
func (d divergence) releases() (in, others []purekube.Upstream) {
	for _, r := range supported {
		if d.In == nil || slices.Contains(d.In, r) {
			in = append(in, r)
		} else {
			others = append(others, r)
		}
	}
	return in, others
}

// list joins the names of releases.
func list(releases []purekube.Upstream) string {
	var names []string
	for _, r := range releases {
		names = append(names, string(r))
	}
	return strings.Join(names, " and ")
}

// divergences are those of each package, in the order of the documentation. Each package has a
// file with its own list.
var divergences = []struct {
	pkg   string
	ids   []string // the numbers that the package's documentation lists
	cases *[]divergence
}{
	{"servicecidr", []string{"D-1", "D-2", "D-3", "D-4", "D-25", "D-26"}, &servicecidrDivergences},
	{"resourceclaim", []string{"D-5", "D-6", "D-7", "D-8", "D-9", "D-10", "D-16", "D-17", "D-21", "D-26", "D-27", "D-28", "D-31", "D-32", "D-33", "D-34", "D-36", "D-37", "D-38"}, &resourceclaimDivergences},
	{"ttl", nil, &ttlDivergences},
	{"rbacaggregate", []string{"D-11", "D-20", "D-26", "D-35"}, &rbacaggregateDivergences},
	{"disruption", []string{"D-12", "D-13", "D-14", "D-15", "D-18", "D-19", "D-22", "D-23", "D-24", "D-29", "D-39"}, &disruptionDivergences},
	{"disruption/drain", []string{"D-40"}, &drainDivergences},
}

var update = flag.Bool("update", false, "write docs/divergences.md instead of comparing it")

const divergencesDocument = "../../../docs/divergences.md"

func TestDivergences(t *testing.T) {
	for _, of := range divergences {
		for _, d := range *of.cases {
			t.Run(d.ID, func(t *testing.T) {
				require.NotEqual(t, d.Upstream, d.Ours, "a divergence has two sides")
				want := d.upstreamIn(release)
				if want == "" {
					t.Skipf("%s is about a feature that %s does not have", d.ID, release)
				}
				if d.Run == nil {
					t.Skipf("%s is run by %s", d.ID, d.RunBy)
				}
				upstream, ours := d.Run(t, d.Given())
				if diff := gocmp.Diff(want, upstream); diff != "" {
					t.Errorf("kube-controller-manager does something else (- written down, + seen):\n%s", diff)
				}
				if diff := gocmp.Diff(d.Ours, ours); diff != "" {
					t.Errorf("our default does something else (- written down, + seen):\n%s", diff)
				}
			})
		}
	}
}

// Each package has a case for each of its divergences, in order. The numbers are 1 to 40 without 30, and each is
// in one package, except for D-26. Each case says what goes wrong, in one line, and since when: not later than the
// oldest release in which the test shows it.
func TestDivergencesAreAllThere(t *testing.T) {
	numbered := map[string]string{}
	shared := []string{"D-26"}
	for _, of := range divergences {
		for _, id := range of.ids {
			if !slices.Contains(shared, id) {
				require.Empty(t, numbered[id], "%s is in two packages", id)
			}
			numbered[id] = of.pkg
		}
	}
	for n := range 40 {
		if id := fmt.Sprintf("D-%d", n+1); id != "D-30" { // there is none
			require.Contains(t, numbered, id)
		}
	}
	for _, of := range divergences {
		t.Run(of.pkg, func(t *testing.T) {
			var ids []string
			for _, d := range *of.cases {
				ids = append(ids, d.ID)
				require.NotEmpty(t, d.Title, d.ID)
				require.NotEmpty(t, d.Why, d.ID)
				require.NotEmpty(t, d.Harm, d.ID)
				require.True(t, d.Run == nil == (d.RunBy != "") && d.Run == nil == (d.Component != ""), d.ID)
				require.NotRegexp(t, `\n|\||\.$`, d.Harm, d.ID)
				since := regexp.MustCompile(`^(?:at least )?v1\.(\d+)(?: \(.*\))?$`).FindStringSubmatch(d.Since)
				require.NotNil(t, since, "%s: Since %q", d.ID, d.Since)
				in, _ := d.releases()
				first, err := strconv.Atoi(strings.TrimPrefix(string(in[0]), "v1."))
				require.NoError(t, err)
				introduced, err := strconv.Atoi(since[1])
				require.NoError(t, err)
				require.LessOrEqual(t, introduced, first, d.ID)
			}
			require.Equal(t, of.ids, slices.Compact(ids))
		})
	}
}

func TestDivergencesDocument(t *testing.T) {
	document := divergencesMarkdown()
	if *update {
		require.NoError(t, os.MkdirAll("../../../docs", 0o755))
		require.NoError(t, os.WriteFile(divergencesDocument, []byte(document), 0o644))
		return
	}
	written, err := os.ReadFile(divergencesDocument)
	require.NoError(t, err)
	if diff := gocmp.Diff(string(written), document); diff != "" {
		t.Errorf("docs/divergences.md is out of date: (cd internal/test/parity && go test -run TestDivergencesDocument . -update)\n%s", diff)
	}
}

func divergencesMarkdown() string {
	var b strings.Builder
	b.WriteString(`<!-- Written by internal/test/parity: go test -run TestDivergencesDocument . -update -->

# Where the default differs from kube-controller-manager

A divergence is a case in which purekube, by default, deliberately does something else than the controller of
kube-controller-manager, because that controller has a defect there. With Options.MatchUpstream, purekube sends the
requests of the release that you name, including its defects; it never panics where the controller panics (D-12) and
never writes to an object in a cache (D-6). Everything else is the same, except that by default a request carries the
UID of the object that it was decided for, if the kind of request allows one. D-40 is about kube-scheduler instead.

One difference is about events and has no number. An event of a pod affects every PodDisruptionBudget that selects the
pod. kube-controller-manager plans only one of them, the first in an arbitrary order (getPdbForPod in disruption.go). The
others keep their status until something else affects them. Many PodDisruptionBudgets over one pod therefore cause many
writes here, which is why controllers of clientgo plan namespaces in turns.

| number | package | what goes wrong in a real cluster | since |
|---|---|---|---|
`)
	for _, of := range divergences {
		for _, d := range *of.cases {
			fmt.Fprintf(&b, "| [%s](#%s) | %s | %s. | %s |\n", d.ID, strings.ToLower(d.anchor()), of.pkg, d.Harm, d.since())
		}
	}
	b.WriteString(`
## How to read the details

- Each divergence is a test. It runs the real controllers of ` + list(supported) + ` on the objects shown, and the controller must
  do what is below "kube-controller-manager". purekube must do what is below "purekube by default". D-40 runs
  kube-scheduler's own function, in ` + "`internal/test/eviction`" + `.
- A line is a request to the API server, an event, or an error. An error leads to a retry.
- The clock stops at 2000-01-01T00:00:00Z.
- The numbers are in the order in which the divergences were found. D-30 does not exist.
- "Since" is the first release whose controller does it. It was read from the source, not run:
`)
	for _, read := range sourcesRead {
		b.WriteString(wrapped("  - "+read, 120, "    "))
	}
	for _, of := range divergences {
		if len(*of.cases) > 0 {
			fmt.Fprintf(&b, "\n## %s\n", of.pkg)
		}
		for _, d := range *of.cases {
			fmt.Fprintf(&b, "\n### %s %s\n\n%s", d.ID, d.Title, wrapped(d.Why, 120, ""))
			if d.Setting != "" {
				fmt.Fprintf(&b, "\n%s", wrapped(d.Setting, 120, ""))
			}
			in, rest := d.releases()
			from := "Since"
			if strings.Contains(d.since(), " to ") {
				from = "From"
			}
			fmt.Fprintf(&b, "\n%s %s. Shown with %s.\n", from, d.since(), list(in))
			component := cmp.Or(d.Component, "kube-controller-manager")
			fmt.Fprintf(&b, "\n%s:\n\n```text\n%s\n```\n", component, d.Upstream)
			if d.Elsewhere != "" {
				fmt.Fprintf(&b, "\n%s %s:\n\n```text\n%s\n```\n", component, list(rest), d.Elsewhere)
			}
			fmt.Fprintf(&b, "\npurekube by default:\n\n```text\n%s\n```\n", d.Ours)
			fmt.Fprintf(&b, "\n<details><summary>objects</summary>\n\n```yaml\n%s```\n\n</details>\n", Manifests(d.Given()))
		}
	}
	return b.String()
}

// wrapped breaks a paragraph into lines of at most so many characters, all but the first with an indent.
func wrapped(paragraph string, width int, indent string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Split(paragraph, " ") {
		switch {
		case i == 0:
		case column+1+len(word) > width:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String() + "\n"
}

// anchor is how a heading is linked to: its letters and digits, with hyphens for spaces.
func (d divergence) anchor() string {
	var b strings.Builder
	for _, r := range d.ID + " " + d.Title {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			b.WriteRune(r)
		}
	}
	return b.String()
}
