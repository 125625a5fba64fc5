package eviction

import (
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/purekube/purekube/conformance"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/scenario"
	"github.com/purekube/purekube/internal/test/upstream/parity"
)

// readScenario is a file of package conformance with its objects.
func readScenario(t *testing.T, name string) (*scenario.Scenario, *scenario.Set) {
	t.Helper()
	s, _ := parity.Scenario(t, name)
	set, err := s.Set()
	if err != nil {
		t.Fatal(err)
	}
	return s, set
}

// TestConformance evicts the pods of the scenarios of package conformance with the real handler of the API server, which goes by
// the status that is written.
func TestConformance(t *testing.T) {
	ran := 0
	files, err := fs.Glob(conformance.Files, "disruption/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		s, set := readScenario(t, name)
		if len(s.Evict) == 0 || s.Options.Budgets != "AsWritten" {
			continue
		}
		ran++
		t.Run(name, func(t *testing.T) {
			// The bubble's clock stands still, at the time of a scenario.
			synctest.Test(t, func(t *testing.T) {
				if diff := scenario.Diff(withoutBlocking(s.Want), evictions(t, s, set)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
	if ran < 3 {
		t.Errorf("%d scenarios", ran)
	}
}

// withoutBlocking are the lines without the budgets that refuse: the handler names them in a text.
func withoutBlocking(want []scenario.Line) []scenario.Line {
	lines := slices.Clone(want)
	for i := range lines {
		lines[i].Fields = maps.Clone(lines[i].Fields)
		delete(lines[i].Fields, "blocking")
	}
	return lines
}

func evictions(t *testing.T, s *scenario.Scenario, set *scenario.Set) (lines []scenario.Line) {
	t.Helper()
	for _, name := range scenario.Names(s.Evict) {
		pod := set.Pods[slices.IndexFunc(set.Pods, func(p *corev1.Pod) bool { return KeyOf(p) == name })]
		answer, err := Evict(pod, set.Budgets)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, scenario.Line{Head: "evict " + name.String(), Fields: map[string]any{"code": float64(answer.Code)}})
		if answer.Update == nil {
			continue
		}
		at := slices.IndexFunc(set.Budgets, func(b *policyv1.PodDisruptionBudget) bool { return KeyOf(b) == KeyOf(answer.Update) })
		set.Budgets[at] = answer.Update
		document, err := json.Marshal(answer.Update)
		if err != nil {
			t.Fatal(err)
		}
		var after map[string]any
		if err := json.Unmarshal(document, &after); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, scenario.Update("poddisruptionbudgets/status "+KeyOf(answer.Update).String(), after, nil))
	}
	return lines
}

// TestViolationsD40 is the divergence from kube-scheduler, which lets none of the victims violate a budget. That purekube does
// what the file wants is shown by package conformance.
func TestViolationsD40(t *testing.T) {
	s, set := readScenario(t, "disruption/drain/D-40-empty-selector.yaml")
	var victims []*corev1.Pod
	for _, name := range scenario.Names(s.Preempt) {
		victims = append(victims, set.Pods[slices.IndexFunc(set.Pods, func(p *corev1.Pod) bool { return KeyOf(p) == name })])
	}
	if theirs, _ := kubeScheduler(t, victims, set.Budgets); len(theirs) > 0 {
		t.Errorf("for kube-scheduler %v violate", theirs)
	}
	matching, err := s.Ask(parity.Release)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range matching {
		if l.Fields["violation"] != false {
			t.Errorf("MatchUpstream: %s", l)
		}
	}
	// By default, the victims that violate are those whose eviction the API server refuses.
	x := disruption.NewIndex(disruption.Snapshot{Pods: set.Pods, Budgets: set.Budgets}, disruption.Options{})
	for _, l := range s.Want {
		for _, p := range victims {
			if l.Head != "preempt "+KeyOf(p).String() {
				continue
			}
			e, err := x.CheckEviction(KeyOf(p), disruption.AsWritten)
			if err != nil {
				t.Fatal(err)
			}
			if refused := e.Verdict == disruption.RefusedNow; refused != l.Fields["violation"] {
				t.Errorf("%s: CheckEviction says %s", l, e.Verdict)
			}
		}
	}
}
