package manifests

import (
	stdjson "encoding/json"
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/purekube/purekube"
)

// CustomWorkload has the fields that workloads of all kinds share, of an object whose kind no package knows: a Rollout
// or a CloneSet has a template and replicas, a Kafka only replicas.
type CustomWorkload struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	// At is where the object is in the input.
	At Ref
	// Replicas is spec.replicas. Nil: it is not there, or is no number.
	Replicas *int32
	// Selector is spec.selector. Nil: it is not there, or is no selector of labels.
	Selector *metav1.LabelSelector
	// Template is spec.template. Nil: it is not there, or is no template of pods.
	Template *corev1.PodTemplateSpec
}

func (w *CustomWorkload) groupKind() schema.GroupKind {
	return schema.FromAPIVersionAndKind(w.APIVersion, w.Kind).GroupKind()
}

// customWorkload reads what workloads have from an object of any kind. It is nil for an object that has neither
// replicas nor a template of pods. Keys are exact, as for the API server: encoding/json would accept Replicas for
// replicas.
func customWorkload(is metav1.TypeMeta, raw []byte) *CustomWorkload {
	var text struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			Replicas stdjson.RawMessage `json:"replicas"`
			Selector stdjson.RawMessage `json:"selector"`
			Template stdjson.RawMessage `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(raw, &text); err != nil || text.Metadata.Name == "" {
		return nil
	}
	w := &CustomWorkload{TypeMeta: is, ObjectMeta: text.Metadata}
	w.Replicas = read[int32](text.Spec.Replicas)
	w.Selector = read[metav1.LabelSelector](text.Spec.Selector)
	if t := read[corev1.PodTemplateSpec](text.Spec.Template); t != nil && len(t.Spec.Containers) > 0 {
		w.Template = t
	}
	if w.Replicas == nil && w.Template == nil {
		return nil
	}
	return w
}

// read is the value, or nil if it is absent or of another type.
func read[T any](text stdjson.RawMessage) *T {
	var value *T
	if len(text) == 0 || json.Unmarshal(text, &value) != nil {
		return nil
	}
	return value
}

// customKey tells custom workloads apart, in any version of their kind.
type customKey struct {
	schema.GroupKind
	types.NamespacedName
}

// customController is a custom workload that pods or ReplicaSets of the set name as their controller.
type customController struct {
	*CustomWorkload
	// why its scale is not known. Empty: its spec.replicas answers the lookup of its scale.
	why string
}

// controllers are the custom workloads that control pods. The spec.replicas of one is its scale only where it is
// certain that the object is the controller: it is in the input once, and every pod and ReplicaSet that names it has
// its UID. Otherwise the lookup stays open, which allows no more than the answer.
func (s *Set) controllers() []customController {
	all := slices.DeleteFunc(slices.Clone(s.CustomWorkloads), func(w *CustomWorkload) bool { return w == nil })
	if len(all) == 0 {
		return nil
	}
	named, doubtful := map[customKey]types.UID{}, map[customKey]bool{}
	note := func(o metav1.Object) {
		owner := metav1.GetControllerOfNoCopy(o)
		if owner == nil {
			return
		}
		kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
		of := customKey{kind, types.NamespacedName{Namespace: o.GetNamespace(), Name: owner.Name}}
		if uid, again := named[of]; again && uid != owner.UID {
			doubtful[of] = true
		}
		named[of] = owner.UID
	}
	for _, p := range s.Pods {
		if p != nil {
			note(p)
		}
	}
	for _, r := range s.ReplicaSets {
		if r != nil {
			note(r)
		}
	}
	there := map[customKey]int{}
	for _, w := range all {
		there[w.key()]++
	}
	var found []customController
	for _, w := range all {
		uid, is := named[w.key()]
		if !is {
			continue
		}
		c := customController{CustomWorkload: w}
		switch {
		case there[w.key()] > 1:
			c.why = "the input has it more than once"
		case doubtful[w.key()] || uid == "" || uid != w.UID:
			c.why = "pods name a controller of this name with another UID, or without one"
		case w.Replicas == nil:
			c.why = "it has no spec.replicas that is a number"
		case *w.Replicas < 0:
			c.why = "spec.replicas must be 0 or more"
		}
		found = append(found, c)
	}
	return found
}

func (w *CustomWorkload) key() customKey {
	return customKey{w.groupKind(), types.NamespacedName{Namespace: w.Namespace, Name: w.Name}}
}

// purekubeKey is the object's name for errors and for owner references.
func (w *CustomWorkload) purekubeKey() purekube.Key {
	return purekube.Key{Kind: w.Kind, Namespace: w.Namespace, Name: w.Name}
}

// answers are the scales that are in the input.
func (s *Set) answers() map[purekube.Need]purekube.Answer {
	var answers map[purekube.Need]purekube.Answer
	for _, w := range s.controllers() {
		if w.why != "" {
			continue
		}
		scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name, UID: w.UID}}
		scale.Spec.Replicas = *w.Replicas
		if answers == nil {
			answers = map[purekube.Need]purekube.Answer{}
		}
		answers[purekube.Need{APIVersion: w.APIVersion, Kind: w.Kind, Namespace: w.Namespace, Name: w.Name,
			Subresource: "scale"}] =
			purekube.Answer{Object: scale}
	}
	return answers
}

// noteScales adds the notes about scales that answers rest on.
func (l *loader) noteScales() {
	for _, w := range l.set.controllers() {
		if w.why != "" {
			l.addNote(Note{At: w.At, Text: "its scale is not known: " + w.why})
			continue
		}
		l.addNote(
			Note{At: w.At, Field: "spec.replicas", Text: "taken as the scale of an object of a kind that no package knows"})
	}
}
