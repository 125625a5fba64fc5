package main

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

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
	// Headline says in one line what the core as a whole found.
	Headline string
	// Explanation has the lines of -explain that concern no object in particular.
	Explanation []string
	Findings    []finding
}

// finding is what a core says of one object.
type finding struct {
	Object    reference
	Actions   []action
	Events    []purekube.Event
	Needs     []purekube.Need
	RecheckAt time.Time
	// Explanation has the lines of -explain.
	Explanation []string
	Err         error
}

// action is one write.
type action struct {
	// Action is the library's.
	Action any
	// Text is one line that begins with the type of the action.
	Text string
	// Why is one line on what called for it.
	Why string
}

// typeName is the Go type of the action without its package: "SetRules".
func (a action) typeName() string { return reflect.TypeOf(a.Action).Name() }

// patch is the body that carries the action out, for the actions that have one.
func (a action) patch() (types.PatchType, []byte, bool) {
	patcher, ok := a.Action.(interface {
		Patch() (types.PatchType, []byte)
	})
	if !ok {
		return "", nil, false
	}
	kind, body := patcher.Patch()
	return kind, body, true
}

// findingOf turns a plan's result into a finding. Describe adds to the action's own line and
// says what called for it.
func findingOf[A any](object reference, r purekube.Result[A], err error, describe func(A) (more, why string)) finding {
	f := finding{Object: object, Events: r.Events, Needs: r.Needs, RecheckAt: r.RecheckAt, Err: err}
	for _, a := range r.Actions {
		more, why := describe(a)
		f.Actions = append(f.Actions, action{Action: a, Text: fmt.Sprint(a) + more, Why: why})
	}
	return f
}

// somethingToSay is false for an object that is as it should be, unless it is explained.
func (f finding) somethingToSay() bool {
	return len(f.Actions)+len(f.Events)+len(f.Needs)+len(f.Explanation) > 0 || !f.RecheckAt.IsZero()
}

// add takes a core's section in, its errors among the problems.
func (r *report) add(s section, c *cluster) {
	for _, f := range s.Findings {
		for _, err := range flatten(f.Err) {
			p := problemOf(err, f.Object, c)
			if !slices.ContainsFunc(r.problems, func(q problem) bool { return q.String() == p.String() }) {
				r.problems = append(r.problems, p)
			}
		}
	}
	s.Findings = slices.DeleteFunc(s.Findings, func(f finding) bool { return !f.somethingToSay() })
	r.Sections = append(r.Sections, s)
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
	wrong, ok := errors.AsType[*purekube.ObjectError](err)
	if !ok {
		return problem{c.origins[about], about.String(), "", oneLine(err.Error())}
	}
	at := reference{wrong.Kind, wrong.Namespace, wrong.Name}
	what := ""
	if wrong.Err != nil {
		what = oneLine(wrong.Err.Error())
	}
	return problem{c.origins[at], at.String(), wrong.Field, what}
}

// somethingToDo reports whether any controller would write or look something up now.
func (r *report) somethingToDo() bool {
	return slices.ContainsFunc(r.Sections, func(s section) bool {
		return slices.ContainsFunc(s.Findings, func(f finding) bool {
			return len(f.Actions)+len(f.Needs) > 0
		})
	})
}

// tally counts the actions by type, for the last line.
func (r *report) tally() (actions map[string]int, events, needs int) {
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
