package clientgo

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/lru"

	"github.com/purekube/purekube"
)

// Client sends one request: an [Executor], a [DynamicExecutor] or a [DryRun].
type Client interface {
	// Do makes the call and returns the object that the API server answered with.
	Do(context.Context, purekube.Request) (runtime.Object, error)
}

// Executor sends requests with a REST client, whatever their resource. It returns typed objects of the kinds that
// client-go knows.
type Executor struct {
	client rest.Interface
	// templates are the UIDs and the specs of the last that were read. The spec of a template never changes, so that many
	// pods of one template cost one read.
	templates *lru.Cache
}

// NewExecutor returns an Executor for the API server of this configuration.
func NewExecutor(config *rest.Config) (*Executor, error) {
	if config == nil {
		return nil, errNoConfig
	}
	config = rest.CopyConfig(config)
	config.GroupVersion = &schema.GroupVersion{}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return ExecutorFor(client), nil
}

// ExecutorFor returns an Executor that makes its calls with this client, of whatever group: client-go's own clients
// have one each, for example kubernetes.Interface.CoreV1().RESTClient().
func ExecutorFor(client rest.Interface) *Executor {
	const templates = 100
	return &Executor{client, lru.New(templates)}
}

// Do makes the call and returns the object that the API server answered with. Before a create with a Template it reads
// that object. It does not retry: a controller does so from its queue. A request whose group, version, resource,
// namespace, name or subresource is not one segment of a URL path ("..", "a/b", "%2e") is an error, and is not sent.
func (e *Executor) Do(ctx context.Context, r purekube.Request) (runtime.Object, error) {
	path, err := pathOf(r)
	if err != nil {
		return nil, err
	}
	if r.Template != nil {
		template, err := e.template(ctx, *r.Template)
		if err != nil {
			return nil, err
		}
		if r, err = r.WithSpecOf(template); err != nil {
			return nil, err
		}
	}
	call := e.client.Verb(methods[r.Verb]).AbsPath(path...).MaxRetries(0)
	// A client that asks for protobuf can decode only kinds that client-go has. A get does not name its kind.
	if r.Verb == "get" || !scheme.Scheme.Recognizes(r.Resource.GroupVersion().WithKind(r.Kind)) {
		call.SetHeader("Accept", runtime.ContentTypeJSON)
	}
	var options runtime.Object
	switch r.Verb {
	case "create":
		options = &metav1.CreateOptions{FieldManager: r.FieldManager}
		object, untyped := r.Object.(*unstructured.Unstructured)
		if !untyped {
			call.Body(r.Object)
			break
		}
		// Whatever the client asks for: protobuf has no form for it.
		document, err := object.MarshalJSON()
		if err != nil {
			return nil, err
		}
		call.SetHeader("Content-Type", runtime.ContentTypeJSON).Body(document)
	case "update":
		options = &metav1.UpdateOptions{FieldManager: r.FieldManager}
		call.Body(r.Object)
	case "patch":
		patch := &metav1.PatchOptions{FieldManager: r.FieldManager}
		if r.Force {
			patch.Force = &r.Force
		}
		options = patch
		call.SetHeader("Content-Type", string(r.PatchType)).Body(r.Patch)
	case "delete":
		body, err := runtime.Encode(deleteOptions, &metav1.DeleteOptions{Preconditions: r.Preconditions})
		if err != nil {
			return nil, err
		}
		call.SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body)
	case "get":
	default:
		return nil, fmt.Errorf("request without a known verb: %s", r)
	}
	if options != nil {
		call.SpecificallyVersionedParams(options, scheme.ParameterCodec, corev1.SchemeGroupVersion)
	}
	result := call.Do(ctx)
	object, err := result.Get()
	if runtime.IsNotRegisteredError(err) { // this version of client-go does not have the kind
		if raw, err := result.Raw(); err == nil {
			object, _, err := unstructured.UnstructuredJSONScheme.Decode(raw, nil, nil)
			return object, err
		}
	}
	return object, err
}

// template reads a template with all the fields that the API server has. A typed decoder drops the fields that this
// version of client-go does not know.
func (e *Executor) template(ctx context.Context, t purekube.Template) (*unstructured.Unstructured, error) {
	if known, ok := e.templates.Get(t.UID); ok {
		return known.(*unstructured.Unstructured), nil
	}
	path, err := pathOf(t.Read())
	if err != nil {
		return nil, err
	}
	document, err := e.client.Get().AbsPath(path...).MaxRetries(0).SetHeader("Accept",
		runtime.ContentTypeJSON).Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	read := &unstructured.Unstructured{}
	if err := read.UnmarshalJSON(document); err != nil {
		return nil, err
	}
	template := &unstructured.Unstructured{Object: map[string]any{"spec": read.Object["spec"]}} // labels can be large
	template.SetUID(read.GetUID())
	e.templates.Add(template.GetUID(), template)
	return template, nil
}

// deleteOptions are part of every group; the API server knows them best as v1.
var deleteOptions = scheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion)

// Get reads an object, or the subresource of one, past every cache.
func (e *Executor) Get(
	ctx context.Context, resource schema.GroupVersionResource, subresource, namespace, name string,
) (runtime.Object, error) {
	return e.Do(ctx,
		purekube.Request{Verb: "get", Resource: resource, Subresource: subresource, Namespace: namespace, Name: name})
}

var methods = map[string]string{
	"get":    http.MethodGet,
	"create": http.MethodPost,
	"update": http.MethodPut,
	"patch":  http.MethodPatch,
	"delete": http.MethodDelete,
}

// pathOf a request, for example /apis/apps/v1/namespaces/shop/deployments/web/status. Users choose the names in
// it, so each has to be one segment, as in client-go: a name with a slash would read another object with the rights
// of the manager, and a call without a name would be for all objects of the resource.
func pathOf(r purekube.Request) ([]string, error) {
	path := []string{"/apis", r.Resource.Group, r.Resource.Version}
	if r.Resource.Group == "" {
		path = []string{"/api", r.Resource.Version}
	}
	if r.Namespace != "" {
		path = append(path, "namespaces", r.Namespace)
	}
	path = append(path, r.Resource.Resource)
	if r.Verb != "create" || r.Name != "" {
		path = append(path, r.Name)
	}
	if r.Subresource != "" {
		path = append(path, r.Subresource)
	}
	for _, segment := range path[1:] {
		if segment == "" {
			return nil, fmt.Errorf("%s of %s: the version, the resource or the name is missing", r, r.Resource)
		}
		if wrong := rest.IsValidPathSegmentName(segment); len(wrong) > 0 {
			return nil, fmt.Errorf("%s %s: %q cannot be in the path of a request: %s", r.Verb, r.Resource.GroupResource(),
				segment, strings.Join(wrong, ", "))
		}
	}
	return path, nil
}
