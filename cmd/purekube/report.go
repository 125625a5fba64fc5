package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
)

// report is what the program prints.
type report struct {
	Now      time.Time
	NowFrom  string
	Sections []section
	// Skipped counts the objects of kinds that no core plans with, by API version and kind.
	Skipped map[string]int
	// Notes say what is not in the input and was not decided without it.
	Notes    []string
	problems []problem
	// waves is the picture of a rolling upgrade, if it is asked for.
	waves *wavePicture
	// drainsRefused: the input does not say whether nodes drain.
	drainsRefused bool
	// said are the texts of the problems.
	said map[string]bool
}

func newReport(set settings, c *cluster) *report {
	r := &report{Now: set.now, NowFrom: set.nowFrom, Skipped: c.skipped(), said: map[string]bool{}}
	for _, p := range c.problems {
		r.addProblem(p)
	}
	return r
}

// addProblem adds a problem that is not there yet.
func (r *report) addProblem(p problem) {
	if text := p.String(); !r.said[text] {
		r.said[text] = true
		r.problems = append(r.problems, p)
	}
}

// refuse reports whether the question is refused, and adds why.
func (r *report) refuse(c *cluster, q question) bool {
	refusal := c.refusal(q)
	if refusal != nil && (c.Len() > 0 || len(c.Unreadable) > 0 || len(c.problems) == 0) {
		r.addProblem(*refusal)
	}
	return refusal != nil
}

// section is one core's part of the report.
type section struct {
	Core string
	// NoObjects: the input has no object of the kinds that the core reads.
	NoObjects bool
	// Headline says in one line what the core as a whole found.
	Headline string
	// Explanation has the lines of --explain that concern no object in particular.
	Explanation []string
	Findings    []finding
	// Brief is all of it in one line, for a report about more than this core. Empty: the findings are printed.
	Brief string
	// Undecided are the budgets of which it is not known whether they ever allow a disruption.
	Undecided []finding
	// Err is what is wrong with the input as a whole.
	Err error
}

// finding is what a core says of one object.
type finding struct {
	Object    purekube.Key
	Actions   []action
	Events    []purekube.Event
	Needs     []purekube.Need
	RecheckAt time.Time
	// Never: the object is a budget that allows no disruption, however healthy all of them are.
	Never bool
	// NotKnown is why it is not known whether the budget ever allows a disruption, and NoPods that this is for lack of
	// pods.
	NotKnown string
	NoPods   bool
	// Reasons are the steps of the decision; -o json prints them.
	Reasons []reason
	// Explanation has the lines of --explain. Explained is the library's explanation; -o json prints it.
	Explanation []string
	Explained   any
	// Eviction is the answer about a pod that is explained.
	Eviction *disruption.Eviction
	Err      error
}

// reason is a [purekube.Reason] of any core.
type reason struct{ code, field, object, message string }

// reasonsOf are a core's reasons for this report.
func reasonsOf[Code ~string](reasons []purekube.Reason[Code]) []reason {
	var out []reason
	for _, r := range reasons {
		object := r.Object.Name
		if r.Object.Namespace != "" {
			object = r.Object.NamespacedName().String()
		}
		out = append(out, reason{string(r.Code), r.Field, object, r.Message})
	}
	return out
}

// action is one write.
type action struct {
	Action purekube.Action
	// Text is one line that begins with the type of the action.
	Text string
	// Why is one line on what called for it.
	Why string
}

// findingOf turns a plan's result into a finding. Describe adds to the action's own line and
// says what called for it.
func findingOf[A purekube.Action](
	object purekube.Key, r purekube.Result[A], err error, describe func(A) (more, why string),
) finding {
	f := finding{Object: object, Events: r.Events, Needs: r.Needs, RecheckAt: r.RecheckAt, Err: err}
	for _, a := range r.Actions {
		more, why := describe(a)
		f.Actions = append(f.Actions, action{Action: a, Text: a.String() + more, Why: why})
	}
	return f
}

// somethingToSay is false for an object that is as it should be, unless it is explained.
func (f finding) somethingToSay() bool {
	return len(f.Actions)+len(f.Events)+len(f.Needs)+len(f.Explanation) > 0 || !f.RecheckAt.IsZero() || f.Never
}

// has reports whether the core has planned.
func (r *report) has(core string) bool {
	return slices.ContainsFunc(r.Sections, func(s section) bool { return s.Core == core })
}

// note says which kinds are not in the input, where objects of them would have answered what the plan leaves open.
func (r *report) note(c core, s section, objects *cluster) {
	budgets, pods := len(objects.Budgets) > 0, len(objects.Pods) > 0
	open := map[string]bool{"Pod": c.name == "disruption" && budgets, "PodDisruptionBudget": c.name == "disruption" &&
		pods}
	for _, f := range s.Findings {
		for _, n := range f.Needs {
			open[n.Kind] = true
		}
	}
	missing := slices.DeleteFunc(slices.Clone(c.reads), func(kind string) bool { return !open[kind] || objects.saw(kind) })
	if len(missing) > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s: the input has no %s: %q prints what the plan reads",
			c.name, strings.Join(missing, ", no "), getCommand(c.reads)))
	}
}

// sayUndecided says of which budgets it is not known whether they ever allow a disruption.
func (r *report) sayUndecided(sys system) {
	for _, s := range r.Sections {
		for _, f := range s.Undecided {
			text := fmt.Sprintf("--fail-on never: %s: not known whether it ever allows a disruption: %s", titleOf(f.Object),
				f.NotKnown)
			if f.NoPods {
				text += " (--ignore-budgets-without-pods leaves such budgets out)"
			}
			sys.say(text)
		}
	}
}

// noteNodes says which nodes the drains do not know.
func (r *report) noteNodes(c *cluster) {
	if note := c.nodesNote(); note != "" {
		r.Notes = append(r.Notes, note)
	}
}

// add takes a core's section in, its errors among the problems.
func (r *report) add(s section, c *cluster) {
	for _, f := range s.Findings {
		r.addProblems(f.Err, f.Object, c)
	}
	// What is wrong with one object is said already, with more about it.
	r.addProblems(s.Err, purekube.Key{}, c)
	var said []finding
	for _, f := range s.Findings {
		if c.ReadInPart(f.Object) {
			f = withoutDecision(f) // the input's error about it is said already
		}
		if f.NotKnown != "" {
			s.Undecided = append(s.Undecided, f)
		}
		if f.somethingToSay() {
			said = append(said, f)
		}
	}
	s.Findings = said // the caller's section keeps its own
	r.Sections = append(r.Sections, s)
}

// withoutDecision is what is left of a finding about an object that was read only in part.
func withoutDecision(f finding) finding {
	undecided := finding{Object: f.Object, Err: f.Err}
	if f.Object.Kind == "PodDisruptionBudget" {
		undecided.NotKnown = "a field of it could not be read"
	}
	return undecided
}

// noScale ends the error of a budget that needs the scale of a workload of a kind that has none. The error names the
// workload.
const noScale = " does not implement the scale subresource"

// addProblems adds the errors that are not there yet.
func (r *report) addProblems(err error, about purekube.Key, c *cluster) {
	for _, err := range flatten(err) {
		p := problemOf(err, about, c)
		bare := p.String()
		if about.Kind == "PodDisruptionBudget" && strings.HasSuffix(p.what, noScale) {
			p.what += fmt.Sprintf(
				": %s allows no disruption while it selects these pods. Use minAvailable with a number there, or another selector",
				titleOf(about))
		}
		r.addProblem(p)
		r.said[bare] = true
	}
}

// flatten returns the errors that errors.Join joined.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, flatten(e)...)
		}
		return all
	}
	return []error{err}
}

// problemOf says where the object stands that an error is about.
func problemOf(err error, about purekube.Key, c *cluster) problem {
	var wrong *purekube.ObjectError
	if !errors.As(err, &wrong) {
		return problem{refs: c.refs(about), object: titleOf(about), what: oneLine(err.Error()), ofPlan: true}
	}
	at := purekube.Key{Kind: wrong.Kind, Namespace: wrong.Namespace, Name: wrong.Name}
	what := ""
	if wrong.Err != nil {
		what = oneLine(wrong.Err.Error())
	}
	if (wrong.Field == "spec.minAvailable" || wrong.Field == "spec.maxUnavailable") &&
		wrong.Kind == "PodDisruptionBudget" {
		what += `: must be a number, or a percentage such as "30%"`
	}
	// No API server holds an object twice.
	return problem{refs: c.refs(at), object: titleOf(at), field: wrong.Field, what: what,
		ofPlan: !errors.Is(wrong, purekube.ErrDuplicate)}
}

// somethingToDo reports whether any controller would write or look something up now.
func (r *report) somethingToDo() bool {
	return slices.ContainsFunc(r.Sections, func(s section) bool {
		return slices.ContainsFunc(s.Findings, func(f finding) bool {
			return len(f.Actions)+len(f.Needs) > 0
		})
	})
}

// neverDrainable reports whether a budget never allows a disruption, or it is not known whether one does.
func (r *report) neverDrainable() bool {
	return slices.ContainsFunc(r.Sections, func(s section) bool {
		return len(s.Undecided) > 0 || slices.ContainsFunc(s.Findings, func(f finding) bool { return f.Never })
	})
}

// counts are the actions by type, for the last line.
func (r *report) counts() (actions map[string]int, events, needs int) {
	actions = map[string]int{}
	for _, s := range r.Sections {
		for _, f := range s.Findings {
			for _, a := range f.Actions {
				actions[s.Core+"."+a.Action.Type()]++
			}
			events += len(f.Events)
			needs += len(f.Needs)
		}
	}
	return actions, events, needs
}

func sortedKeys(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }

func setOf(names []string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

func sortedValues(m map[string]string) []string { return slices.Sorted(maps.Values(m)) }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
