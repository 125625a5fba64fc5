package main

import (
	"bufio"
	"cmp"
	stdjson "encoding/json"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
)

func registerDiff(inv *invocation, flags *flag.FlagSet) {
	registerUpstream(inv, flags, "upstream", "compare with kube-controller-manager of this `release` (default the newest): ")
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
	// Divergence are the D-numbers of docs/divergences.md that the difference is one of.
	Divergence string   `json:"divergence"`
	Default    []string `json:"default"`
	Upstream   []string `json:"upstream"`
}

// runDiff plans twice, and prints what differs.
func runDiff(inv invocation, sys system) int {
	release := cmp.Or(inv.matchUpstream, purekube.Upstream(releases[len(releases)-1]))
	objects := inv.load(sys)
	inv.matchUpstream = ""
	ours := inv.report(objects)
	inv.matchUpstream = release
	theirs := inv.report(objects)
	for _, p := range theirs.problems {
		ours.addProblem(p)
	}
	for _, p := range ours.problems {
		sys.say(p)
	}
	found := differences(ours, theirs)
	var err error
	if inv.output == outputJSON {
		err = encode(&visibleWriter{w: sys.stdout}, struct {
			FormatVersion string            `json:"formatVersion"`
			Now           time.Time         `json:"now"`
			Upstream      purekube.Upstream `json:"upstream"`
			Differences   []difference      `json:"differences"`
			Errors        []jsonProblem     `json:"errors,omitempty"`
		}{formatVersion, inv.now, release, append([]difference{}, found...), ours.errors()})
	} else if len(ours.Sections) > 0 {
		err = writeDifferences(sys.stdout, palette(sys.colour), release, found)
	}
	return inv.end(ours, err, sys)
}

// differences compares two reports of the same cores.
func differences(ours, theirs *report) []difference {
	var found []difference
	for _, s := range ours.Sections {
		i := slices.IndexFunc(theirs.Sections, func(t section) bool { return t.Core == s.Core })
		if i < 0 {
			continue
		}
		mine, other := done(s), done(theirs.Sections[i])
		keys := slices.Sorted(func(yield func(string) bool) {
			for k := range mine {
				if !yield(k) {
					return
				}
			}
			for k := range other {
				if _, both := mine[k]; !both && !yield(k) {
					return
				}
			}
		})
		for _, k := range keys {
			a, b := mine[k], other[k]
			if slices.Equal(a.requests, b.requests) {
				continue
			}
			of := slices.IndexFunc(cores, func(c core) bool { return c.name == s.Core })
			d := difference{s.Core, cmp.Or(a.object, b.object), "the number is not known", a.texts, b.texts}
			switch listed := cores[of].divergences; {
			case slices.Equal(a.texts, b.texts) && listed == "":
				continue // the UID in the patch of a node is no divergence
			case slices.Equal(a.texts, b.texts):
				d.Divergence = a.sentOtherwise(b)
			case listed != "":
				d.Divergence = "one of " + listed
			}
			found = append(found, d)
		}
	}
	return found
}

// did is what is done for one object: as texts, and as what is sent.
type did struct {
	object          purekube.Key
	texts, requests []string
}

// sentOtherwise are the divergences of requests that do the same, but are sent to whatever object has the name.
func (d did) sentOtherwise(other did) string {
	var numbers []string
	for i, request := range d.requests {
		if request == other.requests[i] {
			continue
		}
		switch kind, _, _ := strings.Cut(d.texts[i], " "); kind {
		case "RemoveFinalizer":
			numbers = append(numbers, "D-3")
		case "DeleteClaim":
			numbers = append(numbers, "D-10")
		case "SetCondition", "SetRules", "SetClaimStatuses":
			numbers = append(numbers, "D-26")
		default:
			return "the number is not known"
		}
	}
	slices.Sort(numbers)
	return strings.Join(slices.Compact(numbers), ", ")
}

func done(s section) map[string]did {
	all := map[string]did{}
	for _, f := range s.Findings {
		d := did{object: f.Object, texts: []string{}}
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
		if len(d.requests) > 0 {
			all[f.Object.String()] = d
		}
	}
	return all
}

func writeDifferences(w io.Writer, p palette, release purekube.Upstream, found []difference) error {
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
	t.line(0, "Diff: ", fmt.Sprintf("kube-controller-manager %s does something else for %s (docs/divergences.md)", release, message.Count(len(found), "object")), plain)
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
