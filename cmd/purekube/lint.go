package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/manifests/lint"
)

// lintPages is where the page of each code is.
const lintPages = "https://github.com/purekube/purekube/blob/main/docs/lint/"

func registerLint(inv *invocation, flags *pflag.FlagSet) {
	inv.lintFailOn = lint.Warning
	flags.Func("fail-on",
		"exit with status 5 for a finding of this `severity` or a worse one: error, warning, info, none (default warning)",
		func(text string) error {
			switch s := lint.Severity(text); s {
			case lint.Error, lint.Warning, lint.Info:
				inv.lintFailOn = s
			case failOnNone:
				inv.lintFailOn = lint.NoSeverity
			default:
				return fmt.Errorf("%q: there is error, warning, info, none", text)
			}
			return nil
		})
}

// linted is what lint prints.
type linted struct {
	lint.Result
	report  *report
	objects int
}

// runLint judges manifests.
func runLint(inv invocation, sys system) int {
	objects := inv.load(sys)
	objects.problems = slices.DeleteFunc(objects.problems, func(p problem) bool { return lint.Finds(p.refs) })
	l := linted{Result: lint.Check(objects.Set), objects: objects.Len()}
	if objects.live {
		for _, found := range [][]lint.Finding{l.Findings, l.Suppressed} {
			for i := range found {
				found[i].At = manifests.Ref{} // a line in a list that nobody sees
			}
		}
	}
	if objects.Len() == len(objects.Ignored) && len(objects.problems) == 0 && len(l.Findings)+len(l.Suppressed) == 0 {
		objects.problems = append(objects.problems, problem{what: objects.noneIs() + " of a kind that purekube reads"})
	}
	l.report = newReport(inv.settings, objects)
	sys.sayAll(l.report.problems)
	if err := l.write(inv.output, sys); err != nil {
		sys.say(err)
		return exitInput
	}
	if len(l.report.problems) > 0 {
		return exitInput
	}
	for _, f := range l.Findings {
		if inv.lintFailOn != lint.NoSeverity && f.Severity.AtLeast(inv.lintFailOn) {
			return exitFound
		}
	}
	return exitPlanned
}

func (l linted) write(output string, sys system) error {
	switch output {
	case outputJSON:
		return l.writeJSON(&visibleWriter{w: sys.stdout})
	case outputSARIF:
		return l.writeSARIF(&visibleWriter{w: sys.stdout})
	case outputGitHub:
		return l.writeGitHub(sys.stdout)
	}
	return l.writeText(sys.stdout, palette(sys.colour))
}

// writeText prints a line for each finding, as compilers do, and how many there are.
func (l linted) writeText(w io.Writer, p palette) error {
	out := bufio.NewWriter(w)
	paint := map[lint.Severity]func(string) string{lint.Error: p.failure, lint.Warning: p.notice, lint.Info: p.faint}
	seen, codes := map[lint.Code]bool{}, []string{}
	for _, f := range l.Findings {
		where := ""
		if at := placeOf(f.At); at != "" {
			where = visible(at) + ": "
		}
		text := visible(titleOf(f.Object) + ": " + messageOf(f))
		fmt.Fprintf(out, "%s%s %s: %s\n", visibleLine(where), paint[f.Severity](string(f.Severity)), p.object(string(f.Code)),
			text)
		if !seen[f.Code] {
			seen[f.Code] = true
			codes = append(codes, string(f.Code))
		}
	}
	t := printer{out, p}
	t.line(0, "Lint: ", l.summary(), plain)
	if len(codes) > 0 {
		t.line(0, "Explained in: ", lintPages+"CODE.md, for example "+codes[0]+".md", plain)
	}
	return out.Flush()
}

// summary counts what was found.
func (l linted) summary() string {
	counts := map[lint.Severity]int{}
	for _, f := range l.Findings {
		counts[f.Severity]++
	}
	parts := []string{message.Count(l.objects, "object"), message.Count(counts[lint.Error], "error"),
		message.Count(counts[lint.Warning], "warning"), fmt.Sprintf("%d info", counts[lint.Info])}
	if n := len(l.Suppressed); n > 0 {
		parts = append(parts, fmt.Sprintf("%d suppressed", n))
	}
	if n := len(l.report.problems); n > 0 {
		parts = append(parts, message.Count(n, "error")+" in the input")
	}
	return strings.Join(parts, ", ")
}

// placeOf is "file:line".
func placeOf(at manifests.Ref) string {
	if at.Line == 0 {
		return at.File
	}
	return fmt.Sprintf("%s:%d", at.File, at.Line)
}

// messageOf is the field and what is wrong with it.
func messageOf(f lint.Finding) string {
	if f.Field == "" {
		return f.Message
	}
	return f.Field + ": " + f.Message
}

// writeGitHub prints the workflow commands that GitHub shows at the lines of a pull request.
func (l linted) writeGitHub(w io.Writer) error {
	out := bufio.NewWriter(w)
	level := map[lint.Severity]string{lint.Error: "error", lint.Warning: "warning", lint.Info: "notice"}
	for _, p := range l.report.problems {
		var at manifests.Ref
		if len(p.refs) > 0 {
			at = p.refs[0]
		}
		annotate(out, "error", at, "purekube", p.String())
	}
	for _, f := range l.Findings {
		annotate(out, level[f.Severity], f.At, string(f.Code),
			fmt.Sprintf("%s: %s (%s%s.md)", titleOf(f.Object), messageOf(f), lintPages, f.Code))
	}
	return out.Flush()
}

var (
	inCommand  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	inProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func annotate(w io.Writer, level string, at manifests.Ref, titled, message string) {
	properties := ""
	if at.File != "" {
		properties = "file=" + inProperty.Replace(visible(at.File)) + ","
		if at.Line > 0 {
			properties += fmt.Sprintf("line=%d,", at.Line)
		}
	}
	fmt.Fprintf(w, "::%s %stitle=%s::%s\n", level, properties, inProperty.Replace(titled),
		inCommand.Replace(visible(message)))
}
