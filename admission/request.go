package admission

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
)

// question is the requests that one function decides. Each object is read as v1, as the ValidatingWebhookConfiguration
// asks for.
type question struct {
	resource    metav1.GroupVersionResource
	subresource string
	operations  []admissionv1.Operation
}

var (
	serviceCIDRDeletes = question{
		resource:   metav1.GroupVersionResource{Group: networkingv1.GroupName, Version: "v1", Resource: "servicecidrs"},
		operations: []admissionv1.Operation{admissionv1.Delete},
	}
	clusterRoleWrites = question{
		resource:   metav1.GroupVersionResource{Group: rbacv1.GroupName, Version: "v1", Resource: "clusterroles"},
		operations: []admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete},
	}
	evictions = question{
		resource:    metav1.GroupVersionResource{Version: "v1", Resource: "pods"},
		subresource: "eviction",
		operations:  []admissionv1.Operation{admissionv1.Create},
	}
	budgetWrites = question{
		resource:   metav1.GroupVersionResource{Group: policyv1.GroupName, Version: "v1", Resource: "poddisruptionbudgets"},
		operations: []admissionv1.Operation{admissionv1.Create, admissionv1.Update},
	}
)

// about reports whether the request is for the resource, in whatever version.
func (q question) about(r *admissionv1.AdmissionRequest) bool {
	return r.Resource.Group == q.resource.Group && r.Resource.Resource == q.resource.Resource
}

// decides reports whether the request is one of these, in whatever version.
func (q question) decides(r *admissionv1.AdmissionRequest) bool {
	return q.about(r) && r.SubResource == q.subresource && slices.Contains(q.operations, r.Operation)
}

// refusal is the answer to a request that cannot be decided, whatever the Index has. It is nil for other requests.
func (q question) refusal(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	switch {
	case r == nil:
		return refused(nil, badRequest, "the review has no request")
	case r.UID == "":
		return refused(r, badRequest, "request.uid: required")
	case !q.decides(r) || r.Resource != q.resource:
		return refused(r, badRequest, "%s of %s cannot be decided here: this webhook decides %q of %s", r.Operation,
			named(r.Resource, r.SubResource), q.operations, named(q.resource, q.subresource))
	}
	return nil
}

// named reads "pods/eviction v1" or "clusterroles.rbac.authorization.k8s.io v1".
func named(of metav1.GroupVersionResource, subresource string) string {
	text := schema.GroupResource{Group: of.Group, Resource: of.Resource}.String()
	if subresource != "" {
		text += "/" + subresource
	}
	return text + " " + of.Version
}

// object is a pointer to an API object.
type object interface {
	metav1.Object
	runtime.Object
}

// read decodes an object of a request, and gives it the name and the namespace of the request where it has none. field
// is the object's field in the request. versions are the apiVersions that the object may have.
func read[T any, P interface {
	object
	*T
}](r *admissionv1.AdmissionRequest, field string, raw runtime.RawExtension, kind string, versions ...string) (P,
	error) {
	fail := func(err error) (P, error) { return nil, fmt.Errorf("request.%s cannot be read: %w", field, err) }
	if text := bytes.TrimSpace(raw.Raw); len(text) == 0 || string(text) == "null" {
		return fail(errors.New("missing"))
	}
	o := P(new(T))
	if err := json.Unmarshal(raw.Raw, o); err != nil {
		return fail(err)
	}
	version, is := o.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	if is != "" && is != kind || version != "" && !slices.Contains(versions, version) {
		return fail(fmt.Errorf("it is a %s %q, not a %s %q", version, is, versions[0], kind))
	}
	for _, part := range []struct {
		field, request, object string
		set                    func(string)
	}{
		{"name", r.Name, o.GetName(), o.SetName},
		{"namespace", r.Namespace, o.GetNamespace(), o.SetNamespace},
	} {
		switch {
		case part.object == "":
			part.set(part.request)
		case part.request != "" && part.object != part.request:
			return fail(fmt.Errorf("the request is for the %s %q, and metadata.%s is %q", part.field, part.request, part.field,
				part.object))
		}
	}
	return o, nil
}

// unnamed is the name of an object whose name is not generated yet. No object can have this name.
func unnamed(o metav1.Object) string { return o.GetGenerateName() + "/" }
