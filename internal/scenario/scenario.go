// Package scenario reads and runs the files of package conformance. docs/conformance.md describes their format.
package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
	//nolint:staticcheck // the package is deprecated for one that would be a further requirement
	yamlv2 "sigs.k8s.io/yaml/goyaml.v2"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
)

// Format is the version of the format that Parse reads.
const Format = 1

// Epoch is the time of a scenario that names none.
const Epoch = "2000-01-01T00:00:00Z"

// The packages that a scenario can ask.
const (
	ServiceCIDR   = "servicecidr"
	ResourceClaim = "resourceclaim"
	TTL           = "ttl"
	RBACAggregate = "rbacaggregate"
	Disruption    = "disruption"
)

// All is the value of plan that asks for every key.
const All = "all"

// file is a file as it is written. docs/conformance.md explains its keys.
type file struct {
	Format      int                       `json:"format"`
	Rule        string                    `json:"rule"`
	Title       string                    `json:"title"`
	Why         string                    `json:"why"`
	Harm        string                    `json:"harm"`
	Since       string                    `json:"since"`
	Reports     []string                  `json:"reports"`
	Package     string                    `json:"package"`
	Now         string                    `json:"now"`
	Options     map[string]any            `json:"options"`
	Objects     []map[string]any          `json:"objects"`
	Assumed     []map[string]any          `json:"assumed"`
	SeenDeleted []string                  `json:"seenDeleted"`
	Answers     map[string]map[string]any `json:"answers"`
	Reject      map[string]int            `json:"reject"`
	Plan        texts                     `json:"plan"`
	Change      []map[string]any          `json:"change"`
	Delete      texts                     `json:"delete"`
	Evict       texts                     `json:"evict"`
	Drain       texts                     `json:"drain"`
	Waves       texts                     `json:"waves"`
	Preempt     texts                     `json:"preempt"`
	Want        *[]any                    `json:"want"`
	Upstream    map[string][]any          `json:"kube-controller-manager"`
}

// Options are the options of a scenario.
type Options struct {
	// MatchUpstream is a release of kube-controller-manager whose requests are asked for.
	MatchUpstream string `json:"matchUpstream"`
	// Step is the step of the TTL at which the cluster was before.
	Step int `json:"step"`
	// MaxUnavailableRounding is the option of package disruption.
	MaxUnavailableRounding string `json:"maxUnavailableRounding"`
	// DenyAdminAccess and DenyPrioritizedList are features of DRA that are off.
	DenyAdminAccess     bool `json:"denyAdminAccess"`
	DenyPrioritizedList bool `json:"denyPrioritizedList"`
	// PodGroups is whether pods can be in PodGroups.
	PodGroups bool `json:"podGroups"`
	// Budgets, IgnoreDaemonSets, DeleteEmptyDirData and Force are the options of a drain, MaxNodes and Rounds of waves.
	Budgets            string `json:"budgets"`
	IgnoreDaemonSets   bool   `json:"ignoreDaemonSets"`
	DeleteEmptyDirData bool   `json:"deleteEmptyDirData"`
	Force              bool   `json:"force"`
	MaxNodes           int    `json:"maxNodes"`
	Rounds             int    `json:"rounds"`
}

// texts is one text, or a list of them.
type texts []string

func (t *texts) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*t = make(texts, 1)
		return json.Unmarshal(data, &(*t)[0])
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// Scenario is a file that was read.
type Scenario struct {
	// Name is the path of the file.
	Name             string
	Rule, Title, Why string
	// Harm is what goes wrong with kube-controller-manager, Since the first release in which it does, and Reports are
	// issues about it: "kubernetes/kubernetes#1".
	Harm, Since string
	Reports     []string
	Package     string
	Now         time.Time
	Options     Options
	// Plan is "all", or keys. Change and Delete are what happens to the objects before the question.
	Plan                  []string
	Delete                []purekube.Key
	Evict, Drain, Preempt []string
	Waves                 []string
	SeenDeleted           []string
	Reject                map[string]int
	Want                  []Line
	// Upstream is what kube-controller-manager does where it does something else, by release.
	Upstream map[purekube.Upstream][]Line

	file file
}

// Parse reads a file. The error names the file and the field.
func Parse(name string, data []byte) (*Scenario, error) {
	s := &Scenario{Name: name}
	if err := yaml.UnmarshalStrict(data, &s.file); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	documents := yamlv2.NewDecoder(bytes.NewReader(data)) // UnmarshalStrict reads the first one only
	if _, more := documents.Decode(new(any)), documents.Decode(new(any)); !errors.Is(more, io.EOF) {
		return nil, fmt.Errorf("%s: has more than one YAML document", name)
	}
	if err := s.take(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// EvictsPods reports whether the question is about pods that go, and not what a controller does.
func (s *Scenario) EvictsPods() bool {
	return len(s.Evict)+len(s.Drain)+len(s.Waves)+len(s.Preempt) > 0
}

func (s *Scenario) take() (err error) {
	f := s.file
	s.Rule, s.Title, s.Why, s.Package = f.Rule, f.Title, f.Why, f.Package
	s.Harm, s.Since, s.Reports = f.Harm, f.Since, f.Reports
	s.Plan, s.Evict, s.Drain, s.Waves, s.Preempt = f.Plan, f.Evict, f.Drain, f.Waves, f.Preempt
	s.SeenDeleted, s.Reject = f.SeenDeleted, f.Reject
	switch {
	case f.Format != Format:
		return fmt.Errorf("format: is %d, want %d", f.Format, Format)
	case f.Title == "":
		return fmt.Errorf("title: required")
	case !slices.Contains([]string{ServiceCIDR, ResourceClaim, TTL, RBACAggregate, Disruption}, f.Package):
		return fmt.Errorf("package: is %q, want servicecidr, resourceclaim, ttl, rbacaggregate or disruption", f.Package)
	case len(f.Objects) == 0:
		return fmt.Errorf("objects: required")
	case f.Want == nil:
		return fmt.Errorf("want: required; [] says that nothing is done")
	}
	if f.Now == "" {
		f.Now = Epoch
	}
	if s.Now, err = time.Parse(time.RFC3339, f.Now); err != nil {
		return fmt.Errorf("now: %w", err)
	}
	var questions []string
	for name, asked := range map[string]bool{
		"plan": len(f.Plan) > 0, "change and delete": len(f.Change)+len(f.Delete) > 0,
		"evict": len(f.Evict) > 0, "drain": len(f.Drain) > 0, "waves": len(f.Waves) > 0, "preempt": len(f.Preempt) > 0,
	} {
		if asked {
			questions = append(questions, name)
		}
	}
	if len(questions) != 1 {
		slices.Sort(questions)
		return fmt.Errorf("want one of plan, change and delete, evict, drain, waves, preempt; has %q", questions)
	}
	if f.Package != Disruption && s.EvictsPods() {
		return fmt.Errorf("%s: only package disruption answers it", questions[0])
	}
	if err := strictly(f.Options, &s.Options); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	for _, key := range slices.Sorted(maps.Keys(f.Options)) {
		if !s.reads(key) {
			return fmt.Errorf("options: %s: this question to package %s does not read it", key, s.Package)
		}
	}
	for i, key := range f.Plan {
		if key == All && len(f.Plan) == 1 {
			continue
		}
		if _, err := purekube.ParseKey(key); err != nil {
			return fmt.Errorf("plan[%d]: %w", i, err)
		}
	}
	for i, text := range f.Delete {
		key, err := purekube.ParseKey(text)
		if err != nil {
			return fmt.Errorf("delete[%d]: %w", i, err)
		}
		s.Delete = append(s.Delete, key)
	}
	if s.Want, err = parseLines("want", *f.Want); err != nil {
		return err
	}
	s.Upstream = map[purekube.Upstream][]Line{}
	for releases, lines := range f.Upstream {
		path := "kube-controller-manager." + releases
		parsed, err := parseLines(path, lines)
		if err != nil {
			return err
		}
		for release := range strings.SplitSeq(releases, ", ") {
			u, err := purekube.ParseUpstream(release)
			if err != nil || string(u) != release {
				return fmt.Errorf("%s: %q: want v1.36 or v1.37", path, release)
			}
			s.Upstream[u] = parsed
		}
	}
	set, err := s.Set()
	if err != nil {
		return err
	}
	return s.absent(set)
}

// reads reports whether the question reads the option.
func (s *Scenario) reads(option string) bool {
	switch option {
	case "matchUpstream":
		return s.Package != TTL
	case "step":
		return s.Package == TTL
	case "denyAdminAccess", "denyPrioritizedList", "podGroups":
		return s.Package == ResourceClaim
	case "maxUnavailableRounding":
		return s.Package == Disruption
	case "maxNodes", "rounds":
		return len(s.Waves) > 0
	default: // budgets and the options of kubectl drain
		return len(s.Evict)+len(s.Drain)+len(s.Waves) > 0
	}
}

// absent is an error if the question is about something that the scenario does not have: an absent object blocks
// nothing, so the answer would look fine.
func (s *Scenario) absent(set *Set) error {
	const text = "%s: %s is not one of the objects"
	for _, key := range s.Plan {
		if of, _ := purekube.ParseKey(key); key != All && !set.has(of) { // take has parsed it
			return fmt.Errorf(text, "plan", key)
		}
	}
	for _, victim := range Names(s.Preempt) {
		if !set.has(disruption.PodKey(victim.Namespace, victim.Name)) {
			return fmt.Errorf(text, "preempt", victim)
		}
	}
	nodes := map[string]bool{}
	for _, n := range set.Nodes {
		nodes[n.Name] = true
	}
	for _, p := range set.Pods {
		nodes[p.Spec.NodeName] = true
	}
	for _, node := range slices.Concat(s.Drain, s.Waves) {
		if !nodes[node] {
			return fmt.Errorf("node %s is not one of the objects, and no pod is on it", node)
		}
	}
	return nil
}

// UpstreamWant is what kube-controller-manager of the release does.
func (s *Scenario) UpstreamWant(release purekube.Upstream) []Line {
	if lines, other := s.Upstream[release]; other {
		return lines
	}
	return s.Want
}

// HasAssumed reports whether the scenario is about what a controller remembers of its own writes.
func (s *Scenario) HasAssumed() bool { return len(s.file.Assumed) > 0 }

// Compared are the lines that can be compared with kube-controller-manager's: it announces no time, an error names no
// field, and the disruption controller puts errors into the status.
func (s *Scenario) Compared(lines []Line) (compared []Line) {
	for _, l := range lines {
		switch verb := l.Verb(); {
		case verb == "recheck":
		case s.Package == Disruption && (verb == "error" || verb == "get"):
		case verb == "error":
			compared = append(compared, Line{Head: l.Head})
		default:
			compared = append(compared, l)
		}
	}
	return compared
}
