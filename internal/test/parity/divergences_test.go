package parity

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
)

// divergence is a case in which the default does something else than the real controller,
// on purpose. The cases are the documentation: docs/divergences.md is written from them.
type divergence struct {
	// ID is the number, "D-11"; Title what it is about, in a few words.
	ID, Title string
	// Why says in a sentence or two what is wrong with what upstream does.
	Why string
	// Given is the snapshot, made anew at each call; Setting says what of it the objects do
	// not, for example what time it is. The times of the case are relative to Epoch.
	Given   func() []runtime.Object
	Setting string
	// Run gives the objects to the real controller and to our default, and returns what each
	// of them does; Trace.String and Manifests are good words for it.
	Run func(t *testing.T, given []runtime.Object) (upstream, ours string)
	// Upstream and Ours are what the two have to be, written by hand.
	Upstream, Ours string
	// In are the releases whose controller does that; nil: every supported one. Elsewhere is
	// what the controllers of the others do; empty: they do not know what the case is about.
	In        []purekube.Upstream
	Elsewhere string
}

// upstreamIn is what the controller of a release has to do; empty: the case says nothing of it.
func (d divergence) upstreamIn(r purekube.Upstream) string {
	if d.In == nil || slices.Contains(d.In, r) {
		return d.Upstream
	}
	return d.Elsewhere
}

// supported are the releases whose controllers are compared, the oldest first.
var supported = []purekube.Upstream{purekube.V1_36, purekube.V1_37}

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

// list writes releases out.
func list(releases []purekube.Upstream) string {
	var names []string
	for _, r := range releases {
		names = append(names, string(r))
	}
	return strings.Join(names, " and ")
}

// divergences are those of each package, in the order of the documentation. Each package's
// file holds its own list.
var divergences = []struct {
	pkg   string
	ids   []string // those that the package's documentation lists
	cases *[]divergence
}{
	{"servicecidr", []string{"D-1", "D-2", "D-3", "D-4", "D-25", "D-26"}, &servicecidrDivergences},
	{"resourceclaim", []string{"D-5", "D-6", "D-7", "D-8", "D-9", "D-10", "D-16", "D-17", "D-21", "D-26", "D-27", "D-28", "D-31", "D-32", "D-33", "D-34", "D-36", "D-37", "D-38"}, &resourceclaimDivergences},
	{"ttl", nil, &ttlDivergences},
	{"rbacaggregate", []string{"D-11", "D-20", "D-26", "D-35"}, &rbacaggregateDivergences},
	{"disruption", []string{"D-12", "D-13", "D-14", "D-15", "D-18", "D-19", "D-22", "D-23", "D-24", "D-29"}, &disruptionDivergences},
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
					t.Skipf("%s is about what %s does not have", d.ID, release)
				}
				upstream, ours := d.Run(t, d.Given())
				if diff := cmp.Diff(want, upstream); diff != "" {
					t.Errorf("kube-controller-manager does something else (- written down, + seen):\n%s", diff)
				}
				if diff := cmp.Diff(d.Ours, ours); diff != "" {
					t.Errorf("our default does something else (- written down, + seen):\n%s", diff)
				}
			})
		}
	}
}

// TestDivergencesAreAllThere holds each package to a case for each of its divergences, in order,
// and the numbers to be 1 to 38, without 30, each in one package but for those that two share.
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
	for n := range 38 {
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
	if diff := cmp.Diff(string(written), document); diff != "" {
		t.Errorf("docs/divergences.md is out of date: (cd internal/test/parity && go test -run TestDivergencesDocument . -update)\n%s", diff)
	}
}

func divergencesMarkdown() string {
	var b strings.Builder
	b.WriteString(`<!-- Written by internal/test/parity: go test -run TestDivergencesDocument . -update -->

# Where the default differs from kube-controller-manager

Each package decides like the controllers of kube-controller-manager, except for what is
listed here. Options.MatchUpstream turns off what holds in the release that it names, panics excepted. Where a request
can carry the UID of the object that it was decided for, the default sends it along.

Each entry is a test: the real controller of each supported release, ` + list(supported) + `, is run on the objects shown and does what stands
under "kube-controller-manager", and the default does what stands under "default". A line is a request to
the API server, an event, or an error, which leads to another try. Times are those of a clock that stands at
2000-01-01T00:00:00Z. The numbers are in the order in which the differences were found; D-30 stands for none.

`)
	for _, of := range divergences {
		for _, d := range *of.cases {
			fmt.Fprintf(&b, "- [%s](#%s) %s: %s\n", d.ID, strings.ToLower(d.anchor()), of.pkg, d.Title)
		}
	}
	for _, of := range divergences {
		if len(*of.cases) > 0 {
			fmt.Fprintf(&b, "\n## %s\n", of.pkg)
		}
		for _, d := range *of.cases {
			fmt.Fprintf(&b, "\n### %s %s\n\n%s\n", d.ID, d.Title, d.Why)
			if d.Setting != "" {
				fmt.Fprintf(&b, "\n%s\n", d.Setting)
			}
			in, rest := d.releases()
			fmt.Fprintf(&b, "\nHolds in %s.\n", list(in))
			fmt.Fprintf(&b, "\nkube-controller-manager:\n\n```text\n%s\n```\n", d.Upstream)
			if d.Elsewhere != "" {
				fmt.Fprintf(&b, "\nkube-controller-manager %s:\n\n```text\n%s\n```\n", list(rest), d.Elsewhere)
			}
			fmt.Fprintf(&b, "\ndefault:\n\n```text\n%s\n```\n", d.Ours)
			fmt.Fprintf(&b, "\n<details><summary>objects</summary>\n\n```yaml\n%s```\n\n</details>\n", Manifests(d.Given()))
		}
	}
	return b.String()
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
