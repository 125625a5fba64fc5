package purekube

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Action is one write that a plan asks for. The Action of every package is one: its members
// are structs with the typed content of the write.
type Action interface {
	// String is one line for logs and dry runs.
	fmt.Stringer
	// Request returns the call that carries the action out. done holds what the API server
	// returned for the actions before this one in the same plan, in order, with nil for a
	// call that failed. Only some actions read it: a status that names a claim needs the name
	// that the API server gave the claim, and the removal of a finalizer is an update of the
	// object that the write before it returned.
	//
	// The request shares no memory with the action or with done. A done that is too short or
	// holds other kinds of objects counts as one of failed calls, and Request.Err may say so. An action that no plan
	// returned, the zero value for example, gives a request that the API server refuses.
	Request(done []runtime.Object) Request
}

// Request is one call to the API server as data. It is complete: a program that knows nothing
// of the packages makes the call from it alone.
type Request struct {
	// Verb is the verb that RBAC knows the call by: create, update, patch or delete.
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
	// Object is the body of a create or an update, with its apiVersion and kind set. It
	// belongs to the caller.
	Object runtime.Object
	// PatchType and Patch are the type and the body of a patch.
	PatchType types.PatchType
	Patch     []byte
	// FieldManager and Force are options of a server-side apply.
	FieldManager string
	Force        bool
	// Preconditions are options of a delete. Nil: none.
	Preconditions *metav1.Preconditions
	// Err is not nil where an earlier call of the plan succeeded with an answer that the request
	// cannot use: the request leaves out what the answer is for. Make the call all the same, and
	// plan again as after a failed call.
	Err error
	// ContinueOnError reports that the actions after this one in the plan are right even if this call
	// fails. Where it is false and the call fails, make none of them.
	ContinueOnError bool
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
	// FailureEvent returns the event for the error that the call ended with, and whether
	// there is one.
	FailureEvent(err error) (Event, bool)
}
