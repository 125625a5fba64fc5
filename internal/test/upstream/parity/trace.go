package parity

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/purekube/purekube"
)

// Event is a Kubernetes event. The message is for people: controllers are not compared by it.
type Event struct {
	Type, Reason          string
	Kind, Namespace, Name string // what it is about
	Message               string
}

// EventsOf are the events of a plan.
func EventsOf(planned []purekube.Event) []Event {
	events := make([]Event, 0, len(planned))
	for _, e := range planned {
		events = append(events, Event{
			Type: e.Type, Reason: e.Reason,
			Kind: e.Regarding.Kind, Namespace: e.Regarding.Namespace, Name: e.Regarding.Name,
			Message: e.Message,
		})
	}
	return events
}

// String is the event on one line, without its message.
func (e Event) String() string {
	return fmt.Sprintf("event %s %s on %s %s/%s", e.Type, e.Reason, e.Kind, e.Namespace, e.Name)
}

// Trace is what a controller did, or what a plan would have it do.
type Trace struct {
	Requests []Request
	Events   []Event
	// Failed are the keys whose pass ended with an error.
	Failed []string
}

// Normal is the trace without what two equal controllers may do differently: the order of
// requests about different objects, the order and the repetition of events and of errors.
func (t Trace) Normal() Trace {
	n := Trace{Requests: slices.Clone(t.Requests), Events: slices.Clone(t.Events), Failed: slices.Clone(t.Failed)}
	slices.SortStableFunc(n.Requests, func(a, b Request) int { return cmp.Compare(a.object(), b.object()) })
	slices.SortFunc(n.Events, func(a, b Event) int { return cmp.Compare(a.String(), b.String()) })
	n.Events = slices.CompactFunc(n.Events, func(a, b Event) bool { return a.String() == b.String() })
	slices.Sort(n.Failed)
	n.Failed = slices.Compact(n.Failed)
	return n
}

// Lines is the trace for people, normalised: one line for each request, event and error.
func (t Trace) Lines() []string {
	t = t.Normal()
	var lines []string
	for _, r := range t.Requests {
		lines = append(lines, r.String())
	}
	for _, e := range t.Events {
		lines = append(lines, e.String())
	}
	for _, key := range t.Failed {
		lines = append(lines, "error for "+key)
	}
	return lines
}

// String is the trace in lines; "nothing" when it is empty.
func (t Trace) String() string {
	if lines := t.Lines(); len(lines) > 0 {
		return strings.Join(lines, "\n")
	}
	return "nothing"
}

// long is the trace with each body over many lines, so that a diff points at the field.
func (t Trace) long() []string {
	t = t.Normal()
	var lines []string
	for _, r := range t.Requests {
		body := r.Body
		r.Body = ""
		lines = append(lines, r.String())
		var indented any
		if json.Unmarshal([]byte(body), &indented) == nil {
			if pretty, err := json.MarshalIndent(indented, "    ", "  "); err == nil {
				body = string(pretty)
			}
		}
		lines = append(lines, strings.Split("    "+body, "\n")...)
	}
	t.Requests = nil
	if lines = append(lines, t.Lines()...); len(lines) == 0 {
		return []string{"nothing"}
	}
	return lines
}

// kinds are the sorts of things in the trace, for statistics; "nothing" if it is empty.
func (t Trace) kinds() []string {
	var kinds []string
	for _, r := range t.Requests {
		kinds = append(kinds, r.Kind())
	}
	for _, e := range t.Events {
		kinds = append(kinds, "event "+e.Type+" "+e.Reason)
	}
	if len(t.Failed) > 0 {
		kinds = append(kinds, "error")
	}
	if len(kinds) == 0 {
		return []string{"nothing"}
	}
	return kinds
}
