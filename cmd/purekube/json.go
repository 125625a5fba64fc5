package main

import (
	stdjson "encoding/json"
	"io"
	"time"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
)

// formatVersion is of the JSON form that follows. FORMAT.md says when it is raised.
const formatVersion = "3.0"

// The JSON form of a report. FORMAT.md describes it.
type (
	jsonReport struct {
		FormatVersion string         `json:"formatVersion"`
		Now           time.Time      `json:"now"`
		NowFrom       string         `json:"nowFrom"`
		Cores         []jsonCore     `json:"cores"`
		Skipped       map[string]int `json:"skipped,omitempty"`
		Notes         []string       `json:"notes,omitempty"`
		Errors        []jsonProblem  `json:"errors,omitempty"`
	}
	jsonCore struct {
		Core        string       `json:"core"`
		Headline    string       `json:"headline"`
		Explanation []string     `json:"explanation,omitempty"`
		Objects     []jsonObject `json:"objects"`
	}
	jsonObject struct {
		Kind      string       `json:"kind"`
		Namespace string       `json:"namespace,omitempty"`
		Name      string       `json:"name,omitempty"`
		Actions   []jsonAction `json:"actions,omitempty"`
		Events    []jsonEvent  `json:"events,omitempty"`
		Needs     []jsonNeed   `json:"needs,omitempty"`
		RecheckAt *time.Time   `json:"recheckAt,omitempty"`
		Reasons   []jsonReason `json:"reasons,omitempty"`
		// Explanation is the library's, Lines are for people.
		Explanation any                  `json:"explanation,omitempty"`
		Lines       []string             `json:"lines,omitempty"`
		Eviction    *disruption.Eviction `json:"eviction,omitempty"`
	}
	jsonDrains struct {
		FormatVersion string          `json:"formatVersion"`
		Now           time.Time       `json:"now"`
		NowFrom       string          `json:"nowFrom"`
		Together      bool            `json:"together,omitempty"`
		Drains        []drain.Drain   `json:"drains"`
		Blockers      []drain.Blocker `json:"blockers,omitempty"`
		Notes         []string        `json:"notes,omitempty"`
		Errors        []jsonProblem   `json:"errors,omitempty"`
	}
	jsonWaves struct {
		FormatVersion string          `json:"formatVersion"`
		Now           time.Time       `json:"now"`
		NowFrom       string          `json:"nowFrom"`
		Waves         []drain.Wave    `json:"waves"`
		Blocked       []drain.Drain   `json:"blocked,omitempty"`
		Blockers      []drain.Blocker `json:"blockers,omitempty"`
		Notes         []string        `json:"notes,omitempty"`
		Errors        []jsonProblem   `json:"errors,omitempty"`
	}
	jsonAction struct {
		Type    string       `json:"type"`
		Text    string       `json:"text"`
		Why     string       `json:"why,omitempty"`
		Waits   bool         `json:"waits,omitempty"`
		Request *jsonRequest `json:"request"`
	}
	jsonReason struct {
		Code    string `json:"code"`
		Field   string `json:"field,omitempty"`
		Object  string `json:"object,omitempty"`
		Message string `json:"message"`
	}
	jsonEvent struct {
		Regarding string `json:"regarding"`
		Type      string `json:"type"`
		Reason    string `json:"reason"`
		Message   string `json:"message"`
	}
	jsonNeed struct {
		APIVersion  string `json:"apiVersion"`
		Kind        string `json:"kind"`
		Namespace   string `json:"namespace,omitempty"`
		Name        string `json:"name"`
		Subresource string `json:"subresource,omitempty"`
	}
	jsonProblem struct {
		File     string `json:"file,omitempty"`
		Document int    `json:"document,omitempty"`
		Item     int    `json:"item,omitempty"`
		Line     int    `json:"line,omitempty"`
		Object   string `json:"object,omitempty"`
		Field    string `json:"field,omitempty"`
		Message  string `json:"message"`
	}
)

// writeJSON prints the report for programs.
func (r *report) writeJSON(w io.Writer) error {
	out := jsonReport{FormatVersion: formatVersion, Now: r.Now, NowFrom: r.NowFrom, Cores: []jsonCore{},
		Skipped: r.Skipped, Notes: r.Notes}
	for _, s := range r.Sections {
		c := jsonCore{Core: s.Core, Headline: s.Headline, Explanation: s.Explanation, Objects: []jsonObject{}}
		for _, f := range s.Findings {
			c.Objects = append(c.Objects, f.json())
		}
		out.Cores = append(out.Cores, c)
	}
	out.Errors = r.errors()
	return encode(w, out)
}

// writeDrainsJSON prints drains for programs.
func (r *report) writeDrainsJSON(w io.Writer, drains []nodeDrain, blockers []drain.Blocker, together bool) error {
	out := jsonDrains{
		FormatVersion: formatVersion, Now: r.Now, NowFrom: r.NowFrom, Together: together, Drains: played(drains),
		Blockers: blockers, Notes: r.Notes, Errors: r.errors(),
	}
	return encode(w, out)
}

// writeWavesJSON prints waves for programs.
func (r *report) writeWavesJSON(w io.Writer, plan drain.Plan, blockers []drain.Blocker) error {
	out := jsonWaves{
		FormatVersion: formatVersion, Now: r.Now, NowFrom: r.NowFrom, Waves: plan.Waves, Blocked: plan.Blocked,
		Blockers: blockers, Notes: r.Notes, Errors: r.errors(),
	}
	if out.Waves == nil {
		out.Waves = []drain.Wave{}
	}
	return encode(w, out)
}

func (r *report) errors() []jsonProblem {
	var all []jsonProblem
	for _, p := range r.problems {
		j := jsonProblem{Object: p.object, Field: p.field, Message: p.what}
		if len(p.refs) > 0 {
			at := p.refs[0]
			j.File, j.Document, j.Item, j.Line = at.File, at.Document, at.Item, at.Line
		}
		all = append(all, j)
	}
	return all
}

func encode(w io.Writer, out any) error {
	encoder := stdjson.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(out)
}

func (f finding) json() jsonObject {
	o := jsonObject{
		Kind: f.Object.Kind, Namespace: f.Object.Namespace, Name: f.Object.Name,
		Explanation: f.Explained, Lines: f.Explanation, Eviction: f.Eviction,
	}
	if !f.RecheckAt.IsZero() {
		o.RecheckAt = &f.RecheckAt
	}
	requests, waiting := requestsOf(f.Actions)
	for i, a := range f.Actions {
		o.Actions = append(o.Actions, jsonAction{
			Type: a.Action.Type(), Text: a.Text, Why: a.Why, Waits: waiting[i], Request: newJSONRequest(requests[i]),
		})
	}
	for _, reason := range f.Reasons {
		o.Reasons = append(o.Reasons, jsonReason{reason.code, reason.field, reason.object, reason.message})
	}
	for _, e := range f.Events {
		o.Events = append(o.Events, jsonEvent{regarding(e), e.Type, e.Reason, e.Message})
	}
	for _, n := range f.Needs {
		o.Needs = append(o.Needs, jsonNeed(n))
	}
	return o
}
