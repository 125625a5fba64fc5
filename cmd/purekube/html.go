package main

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
)

//go:embed html*.tmpl
var pageTemplates embed.FS

//go:embed html.css
var pageStyle string

// htmlPage is the template of -o html. html/template escapes what comes from the input.
var htmlPage = template.Must(template.ParseFS(pageTemplates, "html.tmpl", "html*.tmpl"))

// The page as the template takes it.
type (
	page struct {
		// Style is the style sheet; Policy allows that one and nothing else, so that the page loads nothing.
		Style    template.CSS
		Policy   string
		Now      string
		Summary  string
		Skipped  string
		NotSeen  []string
		Problems []string
		Cores    []pageCore
		Waves    *wavePicture
	}
	pageCore struct {
		Name, Headline string
		Notes          []string
		// Count is how many objects have something to do: the objects in ToDo and More. Rest are as they should be.
		Count            int
		ToDo, More, Rest []pageObject
		// The pictures; a core has its own pictures only.
		Ranges  []rangeGroup
		Roles   *rolePicture
		Budgets []budgetBar
		Drains  *drainTable
		Claims  []claimRow
	}
	pageObject struct {
		ID, Kind, Name string
		Badges         []badge
		Actions        []pageAction
		Events, Needs  []string
		Recheck        string
		Never, Open    bool
		Reasons        []pageReason
		Explanation    string
		// Long: the explanation is shown on demand.
		Long bool
	}
	pageAction struct{ Type, Text, Why string }
	pageReason struct{ Code, Field, Message string }
	// badge is a word beside a name. Class is one of ok, note, bad and plain.
	badge struct{ Class, Text string }
)

// writeHTML prints one page that needs nothing but itself.
func (r *report) writeHTML(w io.Writer, c *cluster, inv invocation, drains *drainTable) error {
	sum := sha256.Sum256([]byte(pageStyle))
	p := page{
		Style:   template.CSS(pageStyle), // #nosec G203: the file above
		Policy:  "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'",
		Now:     r.Now.UTC().Format(time.RFC3339),
		Summary: r.summary(),
		Skipped: r.skipped(),
		NotSeen: r.Notes,
		Waves:   r.waves,
	}
	for _, problem := range r.problems {
		p.Problems = append(p.Problems, problem.String())
	}
	links := r.links()
	for _, s := range r.Sections {
		core := newPageCore(s, links)
		switch s.Core {
		case "servicecidr":
			core.Ranges = newRangeGroups(c, inv.settings, links)
		case "rbacaggregate":
			core.Roles = newRolePicture(newRoleGraph(c, inv.settings), links)
		case "resourceclaim":
			core.Claims = newClaimRows(newClaimGraph(c, inv.settings), links)
		case "disruption":
			core.Budgets = newBudgetBars(c, inv.settings, links)
			core.Drains = drains
		}
		p.Cores = append(p.Cores, core)
	}
	out := bufio.NewWriter(w)
	if err := htmlPage.Execute(out, p); err != nil {
		return err
	}
	return out.Flush()
}

// links are the anchors of the objects that are on the page.
type links map[purekube.Key]string

func (r *report) links() links {
	all := links{}
	for _, s := range r.Sections {
		for _, f := range s.Findings {
			if _, twice := all[f.Object]; !twice {
				all[f.Object] = fmt.Sprintf("object-%d", len(all))
			}
		}
	}
	return all
}

// to is the anchor of an object, or empty.
func (l links) to(kind, namespace, name string) string {
	return l[purekube.Key{Kind: kind, Namespace: namespace, Name: name}]
}

// shownAtMost is how many objects of a core with something to do are shown with all that is known of them. Of more
// than that only the first are shown, with a line each.
const shownAtMost = 20

func newPageCore(s section, links links) pageCore {
	core := pageCore{Name: s.Core, Headline: s.Headline}
	for _, line := range s.Explanation {
		core.Notes = append(core.Notes, strings.TrimLeft(line, " "))
	}
	used := map[string]bool{}
	for _, f := range s.Findings {
		o := newPageObject(f)
		// An object may have a finding in two cores: the first has the anchor.
		if id := links[f.Object]; !used[id] {
			o.ID = id
			used[id] = true
		}
		if f.calm() {
			core.Rest = append(core.Rest, o)
		} else {
			core.ToDo = append(core.ToDo, o)
		}
	}
	core.Count = len(core.ToDo)
	if core.Count > shownAtMost {
		core.ToDo, core.More = core.ToDo[:shownAtMost], core.ToDo[shownAtMost:]
		return core
	}
	for i := range core.ToDo {
		core.ToDo[i].Open = true
	}
	return core
}

// calm: nothing is to be done for the object and nothing is wrong with it.
func (f finding) calm() bool {
	return len(f.Actions)+len(f.Events)+len(f.Needs) == 0 && f.RecheckAt.IsZero() && !f.Never && f.Err == nil
}

func newPageObject(f finding) pageObject {
	o := pageObject{Kind: f.Object.Kind, Name: nameOf(f.Object), Never: f.Never}
	for _, a := range f.Actions {
		o.Actions = append(o.Actions, pageAction{a.typeName(), strings.TrimPrefix(a.Text, a.typeName()+" "), a.Why})
	}
	for _, e := range f.Events {
		o.Events = append(o.Events, fmt.Sprintf("%s %s on %s: %s", e.Type, e.Reason, regarding(e), e.Message))
	}
	for _, n := range f.Needs {
		o.Needs = append(o.Needs, needText(n))
	}
	if !f.RecheckAt.IsZero() {
		o.Recheck = f.RecheckAt.UTC().Format(time.RFC3339Nano)
	}
	for _, r := range f.Reasons {
		o.Reasons = append(o.Reasons, pageReason{r.code, r.field, r.message})
	}
	said := map[string]bool{}
	for _, r := range f.Reasons {
		said[r.message] = true
	}
	var lines []string
	for _, line := range f.Explanation {
		// As it is, or behind the field or the range that it is about.
		text := strings.TrimLeft(line, " ")
		_, behind, _ := strings.Cut(text, ": ")
		if !said[text] && !said[behind] {
			lines = append(lines, line)
		}
	}
	o.Explanation, o.Long = strings.Join(lines, "\n"), len(lines) > 8
	o.Badges = badgesOf(f)
	return o
}

func badgesOf(f finding) []badge {
	var badges []badge
	if n := len(f.Actions); n > 0 {
		badges = append(badges, badge{"note", message.Count(n, "action")})
	}
	if n := len(f.Events); n > 0 {
		badges = append(badges, badge{"note", message.Count(n, "event")})
	}
	if n := len(f.Needs); n > 0 {
		badges = append(badges, badge{"note", message.Count(n, "lookup")})
	}
	if !f.RecheckAt.IsZero() {
		badges = append(badges, badge{"plain", "plan again later"})
	}
	if f.Never {
		badges = append(badges, badge{"bad", "never allows a disruption"})
	}
	if f.Err != nil {
		badges = append(badges, badge{"bad", "error"})
	}
	return badges
}

func nameOf(r purekube.Key) string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}

// summary counts what the plan has.
func (r *report) summary() string {
	actions, events, needs := r.counts()
	total := 0
	for _, n := range actions {
		total += n
	}
	text := fmt.Sprintf("%s, %s, %s", message.Count(total, "action"), message.Count(events, "event"), message.Count(needs, "lookup"))
	if n := len(r.problems); n > 0 {
		text += ", " + message.Count(n, "error")
	}
	return text
}

// skipped names the kinds that no core plans with.
func (r *report) skipped() string {
	var parts []string
	for _, kind := range sortedKeys(r.Skipped) {
		parts = append(parts, fmt.Sprintf("%d %s", r.Skipped[kind], kind))
	}
	return strings.Join(parts, ", ")
}

// percent is a share of a whole as SVG takes it.
func percent(part, whole float64) string {
	if whole <= 0 {
		return "0%"
	}
	return fmt.Sprintf("%.2f%%", 100*part/whole)
}
