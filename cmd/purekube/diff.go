package main

import (
	"bufio"
	"cmp"
	stdjson "encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
)

func registerDiff(inv *invocation, flags *pflag.FlagSet) {
	registerUpstream(inv, flags, "upstream",
		"compare with kube-controller-manager of this `release` (default the newest): ")
	registerState(inv, flags)
	flags.Func("core", "compare only this `core`; may be given again", func(name string) error {
		inv.names = append(inv.names, name)
		return nil
	})
}

// difference is an object for which kube-controller-manager does something else.
type difference struct {
	Core   string       `json:"core"`
	Object purekube.Key `json:"object"`
	// Divergence are the D-numbers of docs/divergences.md that cause the difference.
	Divergence string   `json:"divergence"`
	Default    []string `json:"default"`
	Upstream   []string `json:"upstream"`
}

// runDiff plans twice, and prints what differs.
func runDiff(inv invocation, sys system) int {
	release := cmp.Or(inv.matchUpstream, purekube.Upstream(releases[len(releases)-1]))
	objects := inv.load(sys)
	inv.matchUpstream, inv.explain = "", true // the reasons tell which divergence a difference is
	ours := inv.report(objects)
	inv.matchUpstream, inv.explain = release, false
	theirs := inv.report(objects)
	for _, p := range theirs.problems {
		ours.addProblem(p)
	}
	sys.sayAll(ours.problems)
	found := differences(ours, theirs, objects, inv.settings)
	var err error
	if inv.output == outputJSON {
		err = encode(&visibleWriter{w: sys.stdout}, struct {
			FormatVersion string            `json:"formatVersion"`
			Now           time.Time         `json:"now"`
			NowFrom       string            `json:"nowFrom"`
			Upstream      purekube.Upstream `json:"upstream"`
			Differences   []difference      `json:"differences"`
			Notes         []string          `json:"notes,omitempty"`
			Errors        []jsonProblem     `json:"errors,omitempty"`
		}{formatVersion, inv.now, inv.nowFrom, release, append([]difference{}, found...), ours.Notes, ours.errors()})
	} else if len(ours.Sections) > 0 {
		err = writeDifferences(sys.stdout, palette(sys.colour), release, found, ours.Notes)
	}
	return inv.end(ours, err, sys)
}

// differences compares two reports of the same cores.
func differences(ours, theirs *report, objects *cluster, set settings) []difference {
	var found []difference
	for _, s := range ours.Sections {
		i := slices.IndexFunc(theirs.Sections, func(t section) bool { return t.Core == s.Core })
		if i < 0 {
			continue
		}
		mine, other := done(s), done(theirs.Sections[i])
		keys := slices.Concat(slices.Collect(maps.Keys(mine)), slices.Collect(maps.Keys(other)))
		slices.SortFunc(keys, purekube.Key.Compare)
		for _, k := range slices.Compact(keys) {
			a, b := mine[k], other[k]
			if slices.Equal(a.requests, b.requests) {
				continue
			}
			sent := slices.Equal(a.texts, b.texts)
			of := slices.IndexFunc(cores, func(c core) bool { return c.name == s.Core })
			listed := cores[of].divergences
			if sent && listed == "" {
				continue // the UID in the patch of a node is no divergence
			}
			a.finding.Object = k
			number := compared{a.finding, b.finding, sent}.numbersOf(s.Core, objects, set)
			if number == "" && listed != "" {
				number = "one of " + listed
			}
			found = append(found, difference{s.Core, k, cmp.Or(number, "the number is not known"),
				append([]string{}, a.texts...), append([]string{}, b.texts...)})
		}
	}
	return found
}

// did is what is done for one object: as texts, and as what is sent.
type did struct {
	finding         finding
	texts, requests []string
}

func done(s section) map[purekube.Key]did {
	all := map[purekube.Key]did{}
	for _, f := range s.Findings {
		d := did{finding: f}
		requests, _ := requestsOf(f.Actions)
		for i, a := range f.Actions {
			d.texts = append(d.texts, a.Text)
			text, err := stdjson.Marshal(newJSONRequest(requests[i]))
			if err != nil {
				text = []byte(a.Text) // API objects always marshal
			}
			d.requests = append(d.requests, string(text))
		}
		for _, n := range f.Needs {
			d.texts = append(d.texts, "needs "+needText(n))
			d.requests = append(d.requests, n.String())
		}
		for _, e := range f.Events {
			text := fmt.Sprintf("event %s %s on %s: %s", e.Type, e.Reason, regarding(e), e.Message)
			d.texts, d.requests = append(d.texts, text), append(d.requests, text)
		}
		all[f.Object] = d
	}
	return all
}

func writeDifferences(w io.Writer, p palette, release purekube.Upstream, found []difference, notes []string) error {
	out := bufio.NewWriter(w)
	t := printer{out, p}
	for _, d := range found {
		t.line(0, "", fmt.Sprintf("%s: %s differs (%s)", d.Core, titleOf(d.Object), d.Divergence), t.p.object)
		if slices.Equal(d.Default, d.Upstream) {
			t.line(2, "", "the same writes, sent with other preconditions: "+strings.Join(d.Default, "; "), t.p.faint)
			continue
		}
		t.does("purekube", d.Default)
		t.does("kube-controller-manager "+string(release), d.Upstream)
	}
	for _, note := range notes {
		t.line(0, "", note, t.p.notice)
	}
	t.line(0, "Diff: ", fmt.Sprintf("kube-controller-manager %s does something else for %s (docs/divergences.md)", release,
		message.Count(len(found), "object")), plain)
	return out.Flush()
}

// does prints what one of the two does.
func (t printer) does(who string, texts []string) {
	if len(texts) == 0 {
		t.line(2, "", who+": nothing", t.p.faint)
		return
	}
	for _, text := range texts {
		t.line(2, "", who+": "+text, t.p.action)
	}
}
