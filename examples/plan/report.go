package main

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/purekube/purekube"
)

// report is what the program prints.
type report struct {
	Now      time.Time
	Sections []section
	// Skipped counts the objects of kinds that no core plans with, by API version and kind.
	Skipped  map[string]int
	problems []problem
}

// section is one core's part of the report.
type section struct {
	Core string
	// NoObjects: the input has no object of the kinds that the core reads.
	NoObjects bool
	// Headline says in one line what the core as a whole found.
	Headline string
	// Explanation has the lines of -explain that concern no object in particular.
	Explanation []string
	Findings    []finding
	// Err is what is wrong with the input as a whole.
	Err error
}

// finding is what a core says of one object.
type finding struct {
	Object    reference
	Actions   []action
	Events    []purekube.Event
	Needs     []purekube.Need
	RecheckAt time.Time
	// Never: the object is a budget that lets no pod go, however healthy all of them are.
	Never bool
	// Reasons are the steps of the decision; -o json prints them.
	Reasons []reason
	// Explanation has the lines of -explain.
	Explanation []string
	Err         error
}

// reason is a [purekube.Reason] of any core.
type reason struct{ code, field, object, message string }

// reasonsOf are a core's reasons for this report.
func reasonsOf[Code ~string](reasons []purekube.Reason[Code]) []reason {
	var out []reason
	for _, r := range reasons {
		object := r.Object.Name
		if r.Object.Namespace != "" {
			object = r.Object.String()
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

// typeName is the Go type of the action without its package: "SetRules".
func (a action) typeName() string { return reflect.TypeOf(a.Action).Name() }

// findingOf turns a plan's result into a finding. Describe adds to the action's own line and
// says what called for it.
func findingOf[A purekube.Action](object reference, r purekube.Result[A], err error, describe func(A) (more, why string)) finding {
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

// add takes a core's section in, its errors among the problems.
func (r *report) add(s section, c *cluster) {
	r.addProblems(s.Err, reference{}, c)
	for _, f := range s.Findings {
		r.addProblems(f.Err, f.Object, c)
	}
	s.Findings = slices.DeleteFunc(s.Findings, func(f finding) bool { return !f.somethingToSay() })
	r.Sections = append(r.Sections, s)
}

// addProblems adds the errors that are not there yet.
func (r *report) addProblems(err error, about reference, c *cluster) {
	for _, err := range flatten(err) {
		p := problemOf(err, about, c)
		if !slices.ContainsFunc(r.problems, func(q problem) bool { return q.String() == p.String() }) {
			r.problems = append(r.problems, p)
		}
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
func problemOf(err error, about reference, c *cluster) problem {
	var wrong *purekube.ObjectError
	if !errors.As(err, &wrong) {
		return problem{c.origins[about], about.String(), "", oneLine(err.Error()), true}
	}
	at := reference{wrong.Kind, wrong.Namespace, wrong.Name}
	what := ""
	if wrong.Err != nil {
		what = oneLine(wrong.Err.Error())
	}
	if slices.Contains(eitherForm, wrong.Field) && wrong.Kind == "PodDisruptionBudget" {
		what += ": must be a number" + orPercentage
	}
	// No API server holds an object twice.
	return problem{c.origins[at], at.String(), wrong.Field, what, !errors.Is(wrong, purekube.ErrDuplicate)}
}

// somethingToDo reports whether any controller would write or look something up now.
func (r *report) somethingToDo() bool {
	return slices.ContainsFunc(r.Sections, func(s section) bool {
		return slices.ContainsFunc(s.Findings, func(f finding) bool {
			return len(f.Actions)+len(f.Needs) > 0
		})
	})
}

// neverDrainable reports whether a budget never lets a pod go.
func (r *report) neverDrainable() bool {
	return slices.ContainsFunc(r.Sections, func(s section) bool {
		return slices.ContainsFunc(s.Findings, func(f finding) bool { return f.Never })
	})
}

// counts are the actions by type, for the last line.
func (r *report) counts() (actions map[string]int, events, needs int) {
	actions = map[string]int{}
	for _, s := range r.Sections {
		for _, f := range s.Findings {
			for _, a := range f.Actions {
				actions[s.Core+"."+a.typeName()]++
			}
			events += len(f.Events)
			needs += len(f.Needs)
		}
	}
	return actions, events, needs
}

func sortedKeys(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }
