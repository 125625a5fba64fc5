package main

import (
	stdjson "encoding/json"
	"fmt"
	"io"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// jsonRequest is a call to the API server as -o json and -o requests print it.
type jsonRequest struct {
	Verb            string                `json:"verb"`
	Group           string                `json:"group,omitempty"`
	Version         string                `json:"version"`
	Resource        string                `json:"resource"`
	Subresource     string                `json:"subresource,omitempty"`
	Namespace       string                `json:"namespace,omitempty"`
	Name            string                `json:"name,omitempty"`
	Object          any                   `json:"object,omitempty"`
	Template        *jsonTemplate         `json:"template,omitempty"`
	PatchType       types.PatchType       `json:"patchType,omitempty"`
	Patch           stdjson.RawMessage    `json:"patch,omitempty"`
	FieldManager    string                `json:"fieldManager,omitempty"`
	Force           bool                  `json:"force,omitempty"`
	Preconditions   *metav1.Preconditions `json:"preconditions,omitempty"`
	ContinueOnError bool                  `json:"continueOnError,omitempty"`
	Irreversible    bool                  `json:"irreversible,omitempty"`
}

// jsonTemplate is the object whose spec.spec is to be the spec of the object of a create.
type jsonTemplate struct {
	Group     string    `json:"group,omitempty"`
	Version   string    `json:"version"`
	Resource  string    `json:"resource"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
}

func newJSONRequest(r purekube.Request) *jsonRequest {
	j := &jsonRequest{
		Verb: r.Verb, Group: r.Resource.Group, Version: r.Resource.Version, Resource: r.Resource.Resource,
		Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name,
		PatchType: r.PatchType, Patch: r.Patch,
		FieldManager: r.FieldManager, Force: r.Force, Preconditions: r.Preconditions, ContinueOnError: r.ContinueOnError,
		Irreversible: r.Irreversible,
	}
	if t := r.Template; t != nil {
		j.Template = &jsonTemplate{Group: t.Resource.Group, Version: t.Resource.Version, Resource: t.Resource.Resource,
			Namespace: t.Namespace, Name: t.Name, UID: t.UID}
	}
	if r.Object != nil {
		j.Object = r.Object
	}
	return j
}

// requestsOf returns the calls that carry actions out, in order, and which of them wait for the
// answer to a call before: the name that a created object gets, or the resourceVersion of an updated
// one. Those cannot be printed as they will be sent.
func requestsOf(actions []action) (requests []purekube.Request, waiting []bool) {
	var before, other []runtime.Object
	for _, a := range actions {
		r := a.Action.Request(before)
		requests = append(requests, r)
		waiting = append(waiting, !reflect.DeepEqual(r, a.Action.Request(other)))
		// Two answers that differ in what only the API server knows.
		before = append(before, answer(r, "1"))
		other = append(other, answer(r, "2"))
	}
	return requests, waiting
}

// answer is the object of a request as an API server could return it.
func answer(r purekube.Request, made string) runtime.Object {
	if r.Object == nil {
		// Of what a patch returns, only the names and the versions are of use to a later request.
		var patched unstructured.Unstructured
		if r.Verb != "patch" || stdjson.Unmarshal(r.Patch, &patched.Object) != nil {
			return nil
		}
		patched.SetGroupVersionKind(r.Resource.GroupVersion().WithKind(r.Kind))
		patched.SetNamespace(r.Namespace)
		patched.SetName(r.Name)
		patched.SetResourceVersion(made)
		return &patched
	}
	object := r.Object.DeepCopyObject()
	o, err := meta.Accessor(object)
	if err != nil {
		return nil
	}
	if o.GetName() == "" {
		o.SetName(o.GetGenerateName() + made)
	}
	o.SetResourceVersion(made)
	return object
}

// writeRequests prints each request on a line of its own. Requests that wait for the answer to
// another one are left out, and so are those behind one of them: the next plan has them.
func (r *report) writeRequests(w io.Writer) error {
	encoder := stdjson.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for _, s := range r.Sections {
		for _, f := range s.Findings {
			requests, waiting := requestsOf(f.Actions)
			for i, request := range requests {
				if waiting[i] {
					break
				}
				if err := encoder.Encode(newJSONRequest(request)); err != nil {
					return fmt.Errorf("%s: %w", titleOf(f.Object), err)
				}
			}
		}
	}
	return nil
}
