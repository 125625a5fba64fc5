package answer

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube/internal/restson"
	"github.com/purekube/purekube/manifests"
)

// Refusal is a question that is not answered.
type Refusal struct {
	// Question is "drain" or "plan".
	Question string `json:"question"`
	Why      string `json:"why"`
	// Missing are the kinds of which the input says nothing. If the cluster has none, [Question.None] says so.
	Missing []string `json:"missing"`
	// Command prints what the answer rests on.
	Command string `json:"command"`
}

// dump prints what says how a drain goes.
const dump = "kubectl get pdb,pods,rs,deploy,sts,rc,nodes -A -o json"

// refuses reports whether the question is refused, and adds why. These are the rules of purekube drain and purekube
// plan:
//
//   - An input that was not read to its end may have more of everything.
//   - Each object of the kinds whole must have been read. A plan rests on the pods: one that is missing does not count.
//   - Of each kind of seen the input must say something: without its budgets a cluster looks easy to drain.
func (in *input) refuses(question string, whole, seen []schema.GroupKind) bool {
	refuse := func(why string, missing ...string) bool {
		in.answer.Refusals = append(in.answer.Refusals, Refusal{question, why, missing, dump})
		return true
	}
	if in.cutOff {
		return refuse("The input was not read to its end.")
	}
	for _, kind := range whole {
		if in.Hides(kind) {
			return refuse("An object that is a " + kind.Kind + ", or may be one, could not be read.")
		}
	}
	if question == drainQuestion {
		hidden, known := in.HidesIn(manifests.PodDisruptionBudget)
		if !known {
			return refuse("An object that is a PodDisruptionBudget, or may be one, could not be read.")
		}
		if len(hidden) > 0 { // there is one, and drains near it are left out
			seen = slices.DeleteFunc(slices.Clone(seen), func(kind schema.GroupKind) bool {
				return kind == manifests.PodDisruptionBudget
			})
		}
	}
	var missing []string
	for _, kind := range in.Missing(seen...) {
		missing = append(missing, kind.Kind)
	}
	if len(missing) == 0 {
		return false
	}
	return refuse(fmt.Sprintf("The input has no %s, and does not say that the cluster has none.",
		strings.Join(missing, ", no ")), missing...)
}

// Names of the questions.
const (
	drainQuestion = "drain"
	planQuestion  = "plan"
)

// drainRestsOn are the kinds that a drain needs to know about: pods, budgets, and the kinds of workloads that control a
// pod or a ReplicaSet of the input.
func (in *input) drainRestsOn() []schema.GroupKind {
	return append([]schema.GroupKind{manifests.Pod, manifests.PodDisruptionBudget}, restson.ControllerKinds(in.Set)...)
}
