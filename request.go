package purekube

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Action is one write that a plan asks for. The Action type of every package implements it. Its members are structs
// with the typed content of the write.
type Action interface {
	// String is one line for logs and dry runs.
	fmt.Stringer
	// Type is the name of the action's type without its package, for example "SetRules": a label for metrics and logs.
	// It stays the same across releases, and actions of different packages may share one.
	Type() string
	// Request returns the call to make for the action. done has the objects that the API server returned for the
	// earlier actions of the same plan, in order, with nil for a failed call. Only some actions read done. For example,
	// a status that names a claim needs the name that the API server gave the claim. The patch that removes a
	// finalizer needs the resourceVersion that the previous write returned.
	//
	// The request shares no memory with the action or with done. If done is too short or has objects of other kinds,
	// the earlier calls count as failed, and Request.Err may say so. An action that no plan returned, for example the
	// zero value, gives a request that the API server refuses.
	Request(done []runtime.Object) Request
}

// Request is one call to the API server as data. It is complete: a program can make the call without knowing the
// package that planned it.
type Request struct {
	// Verb is the RBAC verb of the call: create, patch or delete, and get for [Template.Read].
	Verb string
	// Resource is the group, version and plural name of the resource.
	Resource schema.GroupVersionResource
	// Kind is the kind of the object, for example "ResourceClaim".
	Kind string
	// Subresource is "status", or empty.
	Subresource string
	// Namespace of the object; empty for a cluster-scoped resource.
	Namespace string
	// Name of the object; empty for a create with a generateName.
	Name string
	// Object is the body of a create, with its apiVersion and kind set. It belongs to the caller.
	Object runtime.Object
	// Template names the template that Object has its spec from: see [Request.WithSpecOf]. Nil: there is none.
	Template *Template
	// PatchType and Patch are the type and the body of a patch.
	PatchType types.PatchType
	Patch     []byte
	// FieldManager and Force are options of a server-side apply.
	FieldManager string
	Force        bool
	// Preconditions are options of a delete. Nil: none.
	Preconditions *metav1.Preconditions
	// Err is not nil if an earlier call of the plan succeeded with an answer that this request cannot use. The request
	// leaves out the part that needs the answer. Make the call anyway, and plan again as after a failed call.
	Err error
	// ContinueOnError reports whether the later actions of the plan are right even if this call fails. If it is false
	// and the call fails, do not send the requests of the later actions.
	ContinueOnError bool
	// Irreversible reports that the call cannot be undone, and that the API server makes the change even if the snapshot
	// was too old for it. Before you make it, read what the plan rests on from the API server, and plan again: make the
	// call only if that plan has it, too. It does not depend on done.
	Irreversible bool
}

// Template names an object whose spec.spec is the spec of an object to create, as in a ResourceClaimTemplate.
type Template struct {
	Resource        schema.GroupVersionResource
	Kind            string
	Namespace, Name string
	UID             types.UID
}

// Read is the request for the template.
func (t Template) Read() Request {
	return Request{Verb: "get", Resource: t.Resource, Kind: t.Kind, Namespace: t.Namespace, Name: t.Name}
}

// WithSpecOf returns the request with the spec that the template has on the API server. The types of this build lack
// the fields of a newer API, and so does the spec in Object. Read the template without types, for example with a
// dynamic client. A template's spec never changes, so only the UID is compared: if the template has another one,
// WithSpecOf returns an error with HTTP 409, a conflict. A request without a Template or without an Object is returned
// as it is.
func (r Request) WithSpecOf(template *unstructured.Unstructured) (Request, error) {
	if r.Template == nil || r.Object == nil {
		return r, nil
	}
	conflict := func(format string, args ...any) (Request, error) {
		return r, apierrors.NewConflict(r.Template.Resource.GroupResource(), r.Template.Name, fmt.Errorf(format, args...))
	}
	if template == nil || template.GetUID() != r.Template.UID {
		return conflict("the template has been replaced: its UID is not %s", r.Template.UID)
	}
	spec, found, err := unstructured.NestedMap(template.Object, "spec", "spec")
	if err != nil || !found {
		return conflict("the template has no spec.spec")
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r.Object)
	if err != nil {
		return r, err
	}
	content["spec"] = spec
	r.Object = &unstructured.Unstructured{Object: content}
	return r, nil
}

// String is one line: verb, resource and object.
func (r Request) String() string {
	resource := r.Resource.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	name := r.Name
	if r.Namespace != "" {
		name = r.Namespace + "/" + name
	}
	return fmt.Sprintf("%s %s %s", r.Verb, resource, name)
}

// FailureReporter is an [Action] whose failure is worth an event: kube-controller-manager
// records one when the API server refuses that call.
type FailureReporter interface {
	// FailureEvent returns the event for the error of the call, and whether there is an event.
	FailureEvent(err error) (Event, bool)
}
