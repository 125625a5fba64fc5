package main

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/message"
)

//go:embed html*.tmpl
var pageTemplates embed.FS

//go:embed html.css
var pageStyle string

//go:embed html.js
var pageScript string

// htmlPage is the template of -o html. html/template escapes what comes from the input. A part of the page that has a
// file of its own defines the template that html.tmpl has as a block.
var htmlPage = template.Must(template.ParseFS(pageTemplates, "html.tmpl", "html*.tmpl"))

// The page as the template takes it.
type (
	page struct {
		// Style is the style sheet, Script the filter; Policy allows these two and nothing else, so that the page loads
		// nothing.
		Style  template.CSS
		Script template.JS
		Policy string
		Now    string
		// Sentence says what stops drains now, or else what the plan has.
		Sentence string
		// Dump: Now is the newest time that the input has.
		Dump     bool
		Summary  string
		Skipped  string
		NotSeen  []string
		Problems []string
		Nodes    *nodePicture
		Waves    *wavePicture
		// Cores have something to show, the worst first; Quiet ones have objects and nothing to do; of Absent ones the input
		// has no object.
		Cores, Quiet []pageCore
		Absent       []string
	}
	pageCore struct {
		Name, Headline, Actions string
		// Notes and MoreNotes are about no object in particular.
		Notes, MoreNotes []string
		// Worst is the class of the badge in the list of controllers.
		Worst string
		// ToDo and More are the objects with something to do or something wrong, the worst first. Left is how many more of
		// them there are. Rest are as they should be: Counted is how many of them there are where they are too many to be
		// shown.
		ToDo, More, Rest []pageObject
		Left, Counted    int
		// The pictures; a core has its own pictures only.
		Ranges  []rangeGroup
		Roles   *rolePicture
		Budgets *budgetList
		Claims  *claimList
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
		// Lines is how many lines about the object are left out.
		Lines int
	}
	pageAction struct{ Type, Text, Why string }
	pageReason struct{ Code, Field, Message string }
	// badge is a word beside a name. Class is one of ok, note, bad and plain.
	badge struct{ Class, Text string }
)

// writeHTML prints one page that needs nothing but itself.
func (r *report) writeHTML(w io.Writer, c *cluster, inv invocation, nodes *nodePicture) error {
	p := page{
		Style:   template.CSS(pageStyle), // #nosec G203: the files above
		Script:  template.JS(pageScript), // #nosec G203
		Policy:  "default-src 'none'; style-src " + sourceOf(pageStyle) + "; script-src " + sourceOf(pageScript),
		Now:     r.Now.UTC().Format(time.RFC3339),
		Dump:    r.NowFrom == nowFromInput,
		Summary: r.summary(),
		Skipped: r.skipped(),
		NotSeen: r.Notes,
		Nodes:   nodes,
		Waves:   r.waves,
	}
	for _, problem := range r.problems {
		p.Problems = append(p.Problems, problem.String())
	}
	shown := make([]shownObjects, len(r.Sections))
	for i, s := range r.Sections {
		shown[i] = s.onPage()
	}
	links := linksTo(shown)
	p.Sentence = p.Summary
	if nodes != nil {
		p.Sentence = nodes.Sentence
		nodes.register(links)
	} else if r.drainsRefused {
		p.Sentence = "Whether nodes drain is not answered: see the errors."
	}
	used := map[string]bool{}
	for i, s := range r.Sections {
		if s.NoObjects {
			p.Absent = append(p.Absent, s.Core)
			continue
		}
		if nodes != nil && s.Core == "disruption" {
			s.Explanation = nil // what stops each node is in its cell
		}
		core := newPageCore(s, shown[i], links, used)
		switch s.Core {
		case "servicecidr":
			core.Ranges = newRangeGroups(c, inv.settings, links)
		case "rbacaggregate":
			core.Roles = newRolePicture(newRoleGraph(c, inv.settings), links)
		case "resourceclaim":
			core.Claims = newClaimList(newClaimGraph(c, inv.settings), links)
		case "disruption":
			core.Budgets = newBudgetList(c, inv.settings, links)
		}
		if len(core.ToDo) == 0 && s.Err == nil {
			p.Quiet = append(p.Quiet, core)
		} else {
			p.Cores = append(p.Cores, core)
		}
	}
	if nodes != nil {
		nodes.resolve(links)
	}
	if p.Waves != nil {
		p.Waves.resolve(links)
	}
	slices.SortStableFunc(p.Cores, func(a, b pageCore) int { return cmp.Compare(rank(a.Worst), rank(b.Worst)) })
	out := bufio.NewWriter(w)
	if err := htmlPage.Execute(out, p); err != nil {
		return err
	}
	return out.Flush()
}

// sourceOf allows this text, and nothing else, in a Content-Security-Policy.
func sourceOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// rank sorts the classes of badges, the worst first.
func rank(class string) int {
	return slices.Index([]string{classBad, classNote, classOK, classPlain}, class)
}

// The classes of badges.
const (
	classBad   = "bad"
	classNote  = "note"
	classOK    = "ok"
	classPlain = "plain"
)

// links are the anchors of the objects that are on the page, and of their pictures.
type links map[purekube.Key]string

func linksTo(shown []shownObjects) links {
	all := links{}
	for _, on := range shown {
		for _, f := range on.findings() {
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

// pictured is the key of the picture of an object, which a finding about the object may be on the page beside.
func pictured(k purekube.Key) purekube.Key {
	k.Kind = "picture of " + k.Kind
	return k
}

// picture is a link to the picture of the object, or its name only.
func (l links) picture(k purekube.Key) textLink { return textLink{nameOf(k), l[pictured(k)]} }

const (
	// shownAtMost is how many objects or budgets of a list are shown with all that is known of them. Of more than that
	// only the first are, and the others have a line each: the worst come first.
	shownAtMost = 20
	// linesAtMost is how many lines about a core are shown; the others are one click away.
	linesAtMost = 3
	// linesOfObject is how many lines of each kind an object, a node, a claim or an arrow of the page has: a claim may
	// have thousands of consumers, and n budgets over a pod of each of n nodes are n lines for each node.
	linesOfObject = 30
	// restAtMost is how many objects with something to do a controller shows on the page, and how many with nothing to do.
	// It counts the others.
	restAtMost = 200
)

// newPageCore is the part of a controller, with these of its objects. used are the anchors of the parts before.
func newPageCore(s section, on shownObjects, links links, used map[string]bool) pageCore {
	core := pageCore{Name: s.Core, Headline: s.Headline, Worst: classOK}
	for _, line := range s.Explanation {
		core.Notes = append(core.Notes, strings.TrimLeft(line, " "))
	}
	if len(core.Notes) > linesAtMost {
		core.Notes, core.MoreNotes = core.Notes[:linesAtMost], core.Notes[linesAtMost:]
	}
	actions := 0
	for _, f := range s.Findings {
		actions += len(f.Actions)
	}
	core.Left, core.Counted = on.left, on.counted
	for _, f := range on.findings() {
		o := newPageObject(f)
		// An object may have a finding in two cores: the first has the anchor.
		if id := links[f.Object]; id != "" && !used[id] {
			o.ID = id
			used[id] = true
		}
		if f.calm() {
			core.Rest = append(core.Rest, o)
		} else {
			core.ToDo = append(core.ToDo, o)
		}
	}
	core.Actions = message.Count(actions, "action")
	if len(core.ToDo) > 0 {
		core.Worst = worst(core.ToDo[0].Badges)
	}
	if s.Err != nil {
		core.Worst = classBad
	}
	if len(core.ToDo) > shownAtMost {
		core.ToDo, core.More = core.ToDo[:shownAtMost], core.ToDo[shownAtMost:]
		return core
	}
	for i := range core.ToDo {
		core.ToDo[i].Open = true
	}
	return core
}

// worst is the worst class of the badges.
func worst(badges []badge) string {
	class := classPlain
	for _, b := range badges {
		if rank(b.Class) < rank(class) {
			class = b.Class
		}
	}
	return class
}

// calm: nothing is to be done for the object and nothing is wrong with it.
func (f finding) calm() bool {
	return len(f.Actions)+len(f.Events)+len(f.Needs) == 0 && f.RecheckAt.IsZero() && !f.Never && f.Err == nil
}

// shownObjects are the objects of a section that a page shows: with something to do the worst, and with nothing to do
// all or none. left and counted are how many others there are.
type shownObjects struct {
	toDo, calm    []finding
	left, counted int
}

func (s section) onPage() shownObjects {
	var on shownObjects
	byRank := make([][]finding, 1+rank(classPlain))
	for _, f := range s.Findings {
		if f.calm() {
			on.calm = append(on.calm, f)
			continue
		}
		r := rank(worst(badgesOf(f)))
		byRank[r] = append(byRank[r], f)
	}
	on.toDo = slices.Concat(byRank...)
	on.left = max(0, len(on.toDo)-restAtMost)
	on.toDo = on.toDo[:len(on.toDo)-on.left]
	if len(on.calm) > restAtMost {
		on.calm, on.counted = nil, len(on.calm)
	}
	return on
}

func (s shownObjects) findings() []finding { return slices.Concat(s.toDo, s.calm) }

func newPageObject(f finding) pageObject {
	o := pageObject{Kind: f.Object.Kind, Name: nameOf(f.Object), Never: f.Never}
	for _, a := range f.Actions {
		o.Actions = append(o.Actions, pageAction{a.Action.Type(), strings.TrimPrefix(a.Text, a.Action.Type()+" "), a.Why})
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
	o.Actions, o.Lines = atMost(o.Actions, o.Lines)
	o.Events, o.Lines = atMost(o.Events, o.Lines)
	o.Needs, o.Lines = atMost(o.Needs, o.Lines)
	o.Reasons, o.Lines = atMost(o.Reasons, o.Lines)
	lines, o.Lines = atMost(lines, o.Lines)
	o.Explanation, o.Long = strings.Join(lines, "\n"), len(lines) > 8
	o.Badges = badgesOf(f)
	return o
}

// atMost are the first linesOfObject of the lines. more is how many lines are left out, with the number that was left
// out before.
func atMost[T any](lines []T, before int) (first []T, more int) {
	first, rest := cut(lines, linesOfObject)
	return first, before + len(rest)
}

func badgesOf(f finding) []badge {
	var badges []badge
	if n := len(f.Actions); n > 0 {
		badges = append(badges, badge{classNote, message.Count(n, "action")})
	}
	if n := len(f.Events); n > 0 {
		badges = append(badges, badge{classNote, message.Count(n, "event")})
	}
	if n := len(f.Needs); n > 0 {
		badges = append(badges, badge{classNote, message.Count(n, "lookup")})
	}
	if !f.RecheckAt.IsZero() {
		badges = append(badges, badge{classPlain, "plan again later"})
	}
	if f.Never {
		badges = append(badges, badge{classBad, "never allows a disruption"})
	}
	if f.Err != nil {
		badges = append(badges, badge{classBad, "error"})
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
	text := fmt.Sprintf("%s, %s, %s", message.Count(total, "action"), message.Count(events, "event"),
		message.Count(needs, "lookup"))
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
