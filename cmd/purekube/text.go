package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
)

// width is how many columns the text has. What cannot be broken (a long name) runs over.
const width = 100

// printer writes lines that fit the width.
type printer struct {
	w io.Writer
	p palette
}

// hang is how much further the second and later lines of a paragraph are indented.
const hang = 4

// line writes one paragraph behind an indent and a mark.
func (t printer) line(indent int, mark, text string, paint func(string) string) {
	text = visible(text)
	first := strings.Repeat(" ", indent) + mark
	next := strings.Repeat(" ", indent+hang)
	for i, part := range wrap(text, width-utf8.RuneCountInString(first), width-len(next)) {
		part = visibleLine(part)
		if i == 0 {
			fmt.Fprintln(t.w, first+paint(part))
		} else {
			fmt.Fprintln(t.w, next+paint(part))
		}
	}
}

// wrap breaks text at spaces, into a line of at most first characters and others of at most rest.
func wrap(text string, first, rest int) []string {
	var lines []string
	line, most := "", first
	for word := range strings.SplitSeq(text, " ") {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= most:
			line += " " + word
		default:
			lines = append(lines, line)
			line, most = word, rest
		}
	}
	return append(lines, line)
}

func plain(s string) string { return s }

// writeText prints the report for people.
func (r *report) writeText(w io.Writer, p palette) error {
	out := bufio.NewWriter(w)
	t := printer{out, p}
	var quiet, absent []string
	for _, s := range r.Sections {
		switch {
		case s.NoObjects:
			absent = append(absent, s.Core)
		case len(s.Findings)+len(s.Explanation) == 0:
			quiet = append(quiet, s.Core+" ("+s.Headline+")")
		case s.Brief != "" && len(r.Sections) > 1:
			t.line(0, t.p.core(s.Core)+": ", s.Headline+"; "+s.Brief, plain)
			fmt.Fprintln(t.w)
		default:
			t.section(s)
		}
	}
	if len(quiet) > 0 {
		t.line(0, "Nothing to do: ", strings.Join(quiet, "; "), plain)
	}
	if len(absent) > 0 {
		t.line(0, "Nothing in the input for: ", strings.Join(absent, ", "), plain)
	}
	t.notes(r.Notes)
	if len(r.Sections) > 0 {
		t.closing(r)
	}
	return out.Flush()
}

func (t printer) notes(notes []string) {
	for _, note := range notes {
		t.line(0, "", note, t.p.notice)
	}
}

func (t printer) section(s section) {
	t.line(0, t.p.core(s.Core)+": ", s.Headline, plain)
	t.explanation(2, s.Explanation)
	for _, f := range s.Findings {
		t.finding(f)
	}
	fmt.Fprintln(t.w)
}

func (t printer) finding(f finding) {
	t.line(2, "", titleOf(f.Object), t.p.object)
	for _, a := range f.Actions {
		t.action(a)
	}
	for _, e := range f.Events {
		t.line(4, "", fmt.Sprintf("event %s %s on %s: %s", e.Type, e.Reason, regarding(e), e.Message), t.p.notice)
	}
	for _, n := range f.Needs {
		t.line(4, "", "needs "+needText(n), t.p.notice)
	}
	if f.Never {
		t.line(4, "", "never allows a disruption, even with all of its pods healthy", t.p.notice)
	}
	if !f.RecheckAt.IsZero() {
		t.line(4, "", "plan again at "+f.RecheckAt.UTC().Format(time.RFC3339Nano), t.p.notice)
	}
	t.explanation(4, f.Explanation)
}

// action writes the action and what called for it: on one line where that fits.
func (t printer) action(a action) {
	const indent, sep = 4, "  # "
	a.Text, a.Why = visible(a.Text), visible(a.Why)
	switch {
	case a.Why == "":
		t.line(indent, "", a.Text, t.p.action)
	case indent+utf8.RuneCountInString(a.Text+sep+a.Why) <= width:
		fmt.Fprintln(t.w, strings.Repeat(" ", indent)+t.p.action(a.Text)+t.p.faint(sep+a.Why))
	default:
		t.line(indent, "", a.Text, t.p.action)
		t.line(indent+2, "# ", a.Why, t.p.faint)
	}
}

// explanation writes lines that may begin with spaces, to indent them further.
func (t printer) explanation(indent int, lines []string) {
	for _, line := range lines {
		text := strings.TrimLeft(line, " ")
		t.line(indent+len(line)-len(text), "", text, t.p.faint)
	}
}

func regarding(e purekube.Event) string {
	return message.Object(e.Regarding.Kind, e.Regarding.Namespace, e.Regarding.Name)
}

func needText(n purekube.Need) string {
	of := message.Object(n.Kind, n.Namespace, n.Name)
	if n.Subresource != "" {
		of = "the " + n.Subresource + " of " + of
	}
	return of + " (" + n.APIVersion + "), which is not in the input" + howToAdd(n)
}

// howToAdd says how kubectl prints the object that the lookup is about. It is empty for names that no API server takes:
// nobody should copy these into a shell.
func howToAdd(n purekube.Need) string {
	group := schema.FromAPIVersionAndKind(n.APIVersion, n.Kind).Group
	words := []string{n.Kind, n.Name, cmp.Or(n.Namespace, "x"), cmp.Or(group, "x")}
	if slices.ContainsFunc(words, func(word string) bool {
		return len(validation.IsDNS1123Subdomain(strings.ToLower(word))) > 0
	}) {
		return ""
	}
	resource := strings.ToLower(n.Kind)
	if group != "" {
		resource += "." + group
	}
	text := "kubectl get " + resource + " " + n.Name
	if n.Namespace != "" {
		text += " -n " + n.Namespace
	}
	object := "prints it"
	if n.Subresource != "" {
		object = "prints the object, whose spec.replicas is used"
	}
	return fmt.Sprintf(" (%s -o json %s)", text, object)
}

// closing sums up.
func (t printer) closing(r *report) {
	actions, events, needs := r.counts()
	total := 0
	parts := []string{}
	for _, name := range sortedKeys(actions) {
		total += actions[name]
		parts = append(parts, fmt.Sprintf("%d %s", actions[name], name))
	}
	text := message.Count(total, "action")
	if total > 0 {
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	text += fmt.Sprintf(", %s, %s", message.Count(events, "event"), message.Count(needs, "lookup"))
	if n := len(r.problems); n > 0 {
		text += ", " + message.Count(n, "error")
	}
	t.line(0, "Plan: ", text, plain)
	if len(r.Skipped) > 0 {
		skipped := []string{}
		for _, kind := range sortedKeys(r.Skipped) {
			skipped = append(skipped, fmt.Sprintf("%d %s", r.Skipped[kind], kind))
		}
		t.line(0, "", "Ignored, since purekube does not use these kinds: "+strings.Join(skipped, ", "), plain)
	}
}

// list is "a, b, c", cut after so many with the number of those left out.
func list(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(slices.Clone(names[:most]), ", "), len(names)-most)
}
