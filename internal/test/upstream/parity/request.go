package parity

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
)

// Request is one request to the API server, as far as the server can tell two apart.
type Request struct {
	// Verb is create, update, patch, apply (a patch of that type), delete or get.
	Verb string
	// Resource is the plural name, Subresource what follows a slash, for example "status".
	Resource, Subresource string
	Namespace, Name       string
	// PatchType, FieldManager and Force are for patch and apply.
	PatchType    types.PatchType
	FieldManager string
	Force        bool
	// Body is canonical JSON: the patch, the object, or, for delete, the options. Empty if
	// there is none.
	Body string
	// raw is the patch as it was sent.
	raw string
}

// Patch is the request that sends a patch, or applies when it is of that type.
func Patch(
	resource, subresource, namespace, name string, patchType types.PatchType, body []byte, fieldManager string, force bool,
) Request {
	verb := "patch"
	if patchType == types.ApplyPatchType {
		verb = "apply"
	}
	return Request{
		Verb: verb, Resource: resource, Subresource: subresource, Namespace: namespace, Name: name,
		PatchType: patchType, FieldManager: fieldManager, Force: force, Body: canonical(body), raw: string(body),
	}
}

// Update is the request that replaces an object, or its subresource.
func Update(resource, subresource string, object metav1.Object) Request {
	return Request{
		Verb: "update", Resource: resource, Subresource: subresource,
		Namespace: object.GetNamespace(), Name: object.GetName(), Body: updateBody(object),
	}
}

// updateBody has the lists that the API server keeps as maps in the order of their keys.
func updateBody(object any) string {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return canonicalOf(object)
	}
	for list, key := range map[string]string{"conditions": "type", "reservedFor": "uid"} {
		elements, found, err := unstructured.NestedSlice(content, "status", list)
		if !found || err != nil {
			continue
		}
		slices.SortStableFunc(elements, func(a, b any) int {
			return cmp.Compare(fmt.Sprint(a.(map[string]any)[key]), fmt.Sprint(b.(map[string]any)[key]))
		})
		if err := unstructured.SetNestedSlice(content, elements, "status", list); err != nil {
			return canonicalOf(object)
		}
	}
	return canonicalOf(content)
}

// Create is the request that makes an object in a namespace.
func Create(resource, namespace string, object metav1.Object) Request {
	return Request{Verb: "create", Resource: resource, Namespace: namespace, Name: object.GetName(),
		Body: createBody(object)}
}

// createBody leaves the namespace out of an object that is to be made: the path of the request
// has it, and upstream's objects have it at times.
func createBody(object any) string {
	if o, ok := object.(runtime.Object); ok {
		object = o.DeepCopyObject()
	}
	if o, ok := object.(metav1.Object); ok {
		o.SetNamespace("")
	}
	return canonicalOf(object)
}

// Delete is the request that deletes an object.
func Delete(resource, namespace, name string, options metav1.DeleteOptions) Request {
	return Request{Verb: "delete", Resource: resource, Namespace: namespace, Name: name, Body: canonicalOf(options)}
}

// Get is the request that reads one object past the caches.
func Get(resource, subresource, namespace, name string) Request {
	return Request{Verb: "get", Resource: resource, Subresource: subresource, Namespace: namespace, Name: name}
}

// Answers plays the API server for plans: every call succeeds. The answer to a create is the object that was sent,
// under a [GeneratedName]; the answer to a patch is the patched object.
type Answers struct {
	// Objects are what the plans have read.
	Objects   []runtime.Object
	generated map[string]int            // names made up so far
	written   map[string]runtime.Object // by the plan that is sent, by name
}

// updated are the resources that kube-controller-manager updates, and we patch.
var updated = map[string]bool{"resourceclaims": true, "poddisruptionbudgets": true, "pods": true}

// Planned are the requests that carry a plan's actions out, in order. A patch of what kube-controller-manager updates
// is shown as the update with the patched object: it must be the same object.
func Planned[A purekube.Action](answers *Answers, actions []A) []Request {
	requests := make([]Request, 0, len(actions))
	answers.begin()
	// Its error is what a request says of the answers: the requests are sent all the same.
	_, _ = purekube.CarryOut(actions, func(r purekube.Request) (runtime.Object, error) {
		sent, answer := answers.to(r)
		requests = append(requests, sent)
		return answer, nil
	}, nil)
	return requests
}

// begin begins a plan: what the plans before it wrote is not what it has read.
func (a *Answers) begin() { a.written = map[string]runtime.Object{} }

// to is the request as it is compared, and the answer to it.
func (a *Answers) to(r purekube.Request) (Request, runtime.Object) {
	if r.PatchType != types.StrategicMergePatchType || !updated[r.Resource.Resource] {
		return Sent(r), a.created(r)
	}
	// A patch is of the object that its plan has read, or of an answer if it has the answer's resourceVersion.
	const answered = "answer to "
	before := a.read(r)
	var patch metav1.PartialObjectMetadata
	err := json.Unmarshal(r.Patch, &patch)
	if written := a.written[r.Namespace+"/"+r.Name]; written != nil && strings.HasPrefix(patch.ResourceVersion, answered) {
		before = written
	}
	after, problem := apiserver.Patched(before, r.Patch)
	if err := errors.Join(err, problem); err != nil {
		panic(fmt.Sprintf("%s: %v", r, err))
	}
	object := after.(metav1.Object)
	version := strings.TrimPrefix(object.GetResourceVersion(), answered)
	object.SetResourceVersion(version)
	sent := Update(r.Resource.Resource, r.Subresource, object)
	object.SetResourceVersion(answered + version)
	a.written[r.Namespace+"/"+r.Name] = after
	return sent, after
}

func (a *Answers) read(r purekube.Request) runtime.Object {
	for _, o := range a.Objects {
		// Nothing but the type says the kind of an object in a cache.
		kind := reflect.TypeOf(o).Elem().Name()
		if m := o.(metav1.Object); kind == r.Kind && m.GetNamespace() == r.Namespace && m.GetName() == r.Name {
			return o
		}
	}
	panic("nobody has read the object of " + r.String())
}

func (a *Answers) created(r purekube.Request) runtime.Object {
	if r.Object == nil {
		return nil
	}
	object := r.Object.DeepCopyObject()
	if o, ok := object.(metav1.Object); ok && r.Verb == "create" && o.GetName() == "" {
		of := r.Namespace + "/" + o.GetGenerateName()
		if a.generated == nil {
			a.generated = map[string]int{}
		}
		a.generated[of]++
		o.SetName(GeneratedName(o.GetGenerateName(), a.generated[of]))
	}
	return object
}

// Sent is a planned request as the API server sees it. The fake client records objects without
// the apiVersion and kind that a real one sends, so they are left out here as well.
func Sent(r purekube.Request) Request {
	resource := r.Resource.Resource
	switch r.Verb {
	case "patch":
		return Patch(resource, r.Subresource, r.Namespace, r.Name, r.PatchType, r.Patch, r.FieldManager, r.Force)
	case "delete":
		return Delete(resource, r.Namespace, r.Name, metav1.DeleteOptions{Preconditions: r.Preconditions})
	}
	body := r.Object.DeepCopyObject()
	body.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	sent := Request{Verb: r.Verb, Resource: resource, Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name,
		Body: canonicalOf(body)}
	if r.Verb == "create" {
		sent.Body = createBody(body)
	}
	return sent
}

// Kind names the sort of request in statistics, for example "update pods/status".
func (r Request) Kind() string { return r.Verb + " " + r.path() }

// String is the request on one line.
func (r Request) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", r.Verb, r.path())
	if r.Namespace != "" || r.Name != "" {
		b.WriteByte(' ')
	}
	if r.Namespace != "" {
		b.WriteString(r.Namespace + "/")
	}
	b.WriteString(r.Name)
	if r.PatchType != "" && r.Verb != "apply" {
		fmt.Fprintf(&b, " (%s)", r.PatchType)
	}
	if r.FieldManager != "" {
		fmt.Fprintf(&b, " by %s", r.FieldManager)
	}
	if r.Force {
		b.WriteString(" with force")
	}
	if r.Body != "" {
		b.WriteString(": " + r.Body)
	}
	return b.String()
}

func (r Request) path() string {
	if r.Subresource == "" {
		return r.Resource
	}
	return r.Resource + "/" + r.Subresource
}

// object is the key by which requests keep their order: the same for all that are about one
// object. Objects that are yet to be made have no name, so that they count as one only if
// they are made alike.
func (r Request) object() string {
	key := r.Resource + " " + r.Namespace + "/" + r.Name
	if r.Verb == "create" {
		key += " " + r.Body
	}
	return key
}

// requestOf turns what client-go's fake client was asked for into a Request. Lists and
// watches are none: no controller here makes them but through its informers.
func requestOf(action clienttesting.Action) (Request, bool) {
	r := Request{
		Verb: action.GetVerb(), Resource: action.GetResource().Resource, Subresource: action.GetSubresource(),
		Namespace: action.GetNamespace(),
	}
	switch a := action.(type) {
	case clienttesting.PatchActionImpl:
		force := a.PatchOptions.Force != nil && *a.PatchOptions.Force
		return Patch(r.Resource, r.Subresource, r.Namespace, a.Name, a.PatchType, a.Patch, a.PatchOptions.FieldManager,
			force), true
	case clienttesting.UpdateActionImpl:
		r.Name, r.Body = nameOf(a.Object), updateBody(a.Object)
	case clienttesting.CreateActionImpl:
		r.Name, r.Body = nameOf(a.Object), createBody(a.Object)
	case clienttesting.DeleteActionImpl:
		r.Name, r.Body = a.Name, canonicalOf(a.DeleteOptions)
	case clienttesting.GetActionImpl:
		r.Name = a.Name
	default:
		return Request{}, false
	}
	return r, true
}

func nameOf(object runtime.Object) string {
	if o, ok := object.(metav1.Object); ok {
		return o.GetName()
	}
	return ""
}

// canonical is the same JSON with sorted keys and without spaces; what is not JSON stays.
func canonical(document []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return string(document)
	}
	return encode(value)
}

func canonicalOf(value any) string {
	document, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("cannot be encoded: %v", err)
	}
	return canonical(document)
}

func encode(value any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprintf("cannot be encoded: %v", err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// names are the names of the objects that requests are about.
func names(requests []Request) []string {
	list := make([]string, 0, len(requests))
	for _, r := range requests {
		list = append(list, r.Name)
	}
	return list
}
