// Package answer is what the playground answers: a text with Kubernetes objects in, drains and budgets out.
//
//	a := answer.Ask(text, answer.Question{IgnoreDaemonSets: true}, time.Now())
//
// It refuses what purekube drain and purekube plan refuse: objects that may be missing from the input are not taken to
// be absent. It reads no clock and no file, so its tests run everywhere, and the page has the same answers.
package answer

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/manifests/lint"
)

// Question is what the page asks besides the input.
type Question struct {
	// The flags of kubectl drain.
	IgnoreDaemonSets   bool `json:"ignoreDaemonSets"`
	DeleteEmptyDirData bool `json:"deleteEmptyDirData"`
	Force              bool `json:"force"`
	// None are kinds of which the cluster has no more objects than the input.
	None []string `json:"none"`
	// Nodes are added for the pods of manifests, if the input has no node.
	Nodes int `json:"nodes"`
}

// Answer is what the page shows.
type Answer struct {
	// Objects counts what was read.
	Objects int `json:"objects"`
	// Problems are what is wrong with the input.
	Problems []string `json:"problems"`
	// Refusals are questions without an answer.
	Refusals []Refusal `json:"refusals"`
	// Notes are what a reader of the answer should know.
	Notes []string `json:"notes"`
	// AtFullHealth: the input has no pods. The pods that its workloads have when all is well were added.
	AtFullHealth bool `json:"atFullHealth"`
	// MadeNodes is how many nodes were added.
	MadeNodes int `json:"madeNodes"`
	// Drains is nil if there are none to answer about.
	Drains *Drains `json:"drains"`
	// Budgets is what plan says of each PodDisruptionBudget.
	Budgets []Budget `json:"budgets"`
	// Lint are the findings of purekube lint. MoreLint counts the findings that are left out.
	Lint     []Finding `json:"lint"`
	MoreLint int       `json:"moreLint"`
}

// Finding is a finding of purekube lint.
type Finding struct {
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Object   string `json:"object"`
	Message  string `json:"message"`
	// Line is where the object begins in the input. 0: that is not known.
	Line int `json:"line"`
}

const (
	// mostLines bounds each list of the page.
	mostLines = 200
	// maxUnzipped is less than a browser gives a page.
	maxUnzipped = 256 << 20
	// maxAge is how old the input may be to be of now, which needs no note.
	maxAge = time.Minute
	// defaultNodes are added where the question does not say how many.
	defaultNodes = 3
)

// Ask answers. Now is the time of the clock; a dump of a cluster is answered for its own time.
func Ask(input []byte, q Question, now time.Time) Answer {
	in := readInput(input, q, now)
	a := &in.answer
	if in.Len() > 0 {
		in.budgets()
		in.drains(q)
		in.lint()
	}
	for _, list := range []*[]string{&a.Problems, &a.Notes} {
		if more := len(*list) - mostLines; more > 0 {
			*list = append((*list)[:mostLines:mostLines], fmt.Sprintf("%d more", more))
		}
	}
	return *a
}

// input is what was read.
type input struct {
	*manifests.Set
	// read is the set before pods were added.
	read   *manifests.Set
	answer Answer
	// cutOff: not everything was read.
	cutOff bool
	index  *disruption.Index
	said   map[string]bool
}

// readInput reads the text, and adds the pods that manifests do not have.
func readInput(text []byte, q Question, now time.Time) *input {
	var none []schema.GroupKind
	for _, kind := range manifests.Kinds() {
		if slices.Contains(q.None, kind.Kind) {
			none = append(none, kind)
		}
	}
	set, err := manifests.Load(manifests.Options{Stdin: bytes.NewReader(text), None: none, MaxUnzipped: maxUnzipped}, "-")
	in := &input{Set: set, read: set, said: map[string]bool{}}
	in.answer.Objects = set.Len()
	for _, e := range manifests.Errors(err) {
		in.cutOff = in.cutOff || e.EndsEarly
		in.problem(placed(e.Error()))
	}
	if t := set.Newest(now); !t.IsZero() {
		if now.Sub(t) > maxAge {
			in.note("The time is taken to be %s, the newest in the input.", t.UTC().Format(time.RFC3339))
		}
		now = t
	}
	in.noteNamespace()
	if in.hasNoPods() {
		in.atFullHealth(q.Nodes)
	}
	for _, n := range in.Notes {
		in.note("%s", placed(n.String()))
	}
	in.index = disruption.NewIndex(in.Disruption(now), disruption.Options{})
	return in
}

// placed is a text about a place in the input, which has no name on the page.
func placed(text string) string {
	at, found := strings.CutPrefix(text, "standard input:")
	switch {
	case !found || at == "":
		return text
	case at[0] >= '0' && at[0] <= '9':
		return "line " + at
	}
	return strings.TrimSpace(at)
}

func (in *input) note(format string, args ...any) {
	in.answer.Notes = append(in.answer.Notes, fmt.Sprintf(format, args...))
}

// problem adds a text that is not there yet.
func (in *input) problem(text string) {
	if text = strings.TrimSpace(text); !in.said[text] {
		in.said[text] = true
		in.answer.Problems = append(in.answer.Problems, text)
	}
}

// problems adds what errors.Join joined.
func (in *input) problems(err error) {
	if err == nil {
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			in.problems(e)
		}
		return
	}
	if errors.Is(err, purekube.ErrDuplicate) {
		return // it is said already, with the places
	}
	in.problem(strings.Join(strings.Fields(err.Error()), " "))
}

// hasNoPods reports whether the input is manifests without pods, as a chart is. A cluster that was asked for its pods,
// or for anything else, has the pods that it has: those are missing, and the answer is refused.
func (in *input) hasNoPods() bool {
	if in.Seen[manifests.Pod] || in.cutOff || in.Hides(manifests.Pod) {
		return false
	}
	for _, o := range in.Objects() {
		if o.GetUID() != "" && o.GetResourceVersion() != "" {
			return false
		}
	}
	return slices.ContainsFunc(makesPods, func(kind schema.GroupKind) bool {
		return in.Count(kind) > 0
	}) || len(in.CustomWorkloads) > 0
}

// makesPods are the kinds whose objects have pods at full health.
var makesPods = []schema.GroupKind{
	manifests.Deployment, manifests.ReplicaSet, manifests.StatefulSet, manifests.ReplicationController,
	manifests.DaemonSet, manifests.Job,
}

// atFullHealth adds the pods of the workloads, and nodes for them.
func (in *input) atFullHealth(nodes int) {
	set := in.Set
	if len(set.Nodes) == 0 {
		if nodes < 1 {
			nodes = defaultNodes
		}
		in.answer.MadeNodes = min(nodes, manifests.MaxNodes)
		set = set.WithNodes(in.answer.MadeNodes)
	}
	full, err := set.AtFullHealth()
	in.answer.AtFullHealth = true
	in.problems(err)
	in.Set = full
}

// noteNamespace adds a note if all pods of a cluster are in one namespace. Nodes have pods of several.
func (in *input) noteNamespace() {
	namespaces := map[string]bool{}
	for _, p := range in.Pods {
		if p.UID == "" || p.ResourceVersion == "" {
			return
		}
		namespaces[p.Namespace] = true
	}
	if len(namespaces) == 1 {
		in.note("All pods of the input are in namespace %s. If kubectl get ran without -A, the other pods of the nodes are "+
			"not "+
			"in the answer.", in.Pods[0].Namespace)
	}
}

// lint adds the findings about the manifests.
func (in *input) lint() {
	found := lint.Check(in.read).Findings
	in.answer.MoreLint = max(0, len(found)-mostLines)
	for _, f := range found[:len(found)-in.answer.MoreLint] {
		text := f.Message
		if f.Field != "" {
			text = f.Field + ": " + text
		}
		in.answer.Lint = append(in.answer.Lint,
			Finding{string(f.Severity), string(f.Code), f.Object.String(), text, f.At.Line})
	}
}

// list is "a, b, c", cut after so many with the number of those left out.
func list[T fmt.Stringer](names []T, most int) string {
	var texts []string
	for _, n := range names[:min(len(names), most)] {
		texts = append(texts, n.String())
	}
	text := strings.Join(texts, ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func count(n int, noun string) string { return message.Count(n, noun) }
