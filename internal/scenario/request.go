package scenario

import (
	"encoding/json"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
)

// call is the line of a request, and the answer of an API server that does what it is told.
func (r *run) call(request purekube.Request) (Line, runtime.Object, error) {
	at := place(request.Resource.Resource, request.Subresource, request.Namespace, request.Name)
	switch {
	case request.Verb == "create":
		generateName := text(child(fields(request.Object), "metadata")["generateName"])
		of := request.Namespace + "/" + generateName
		r.generated[of]++
		created := request.Object.DeepCopyObject()
		if o, ok := created.(metav1.Object); ok && o.GetName() == "" {
			o.SetName(fmt.Sprintf("%s%05d", generateName, r.generated[of]))
		}
		return Create(request.Resource.Resource, request.Namespace, fields(request.Object)), created, nil
	case request.Verb == "delete":
		l := Line{Head: "delete " + at}
		if request.Preconditions != nil {
			l.Fields = withOptions(nil, map[string]any{"preconditions": fields(request.Preconditions)})
		}
		return l, nil, nil
	case request.PatchType == types.ApplyYAMLPatchType:
		var body map[string]any
		if err := json.Unmarshal(request.Patch, &body); err != nil {
			return Line{}, nil, err
		}
		return Apply(at, body, request.FieldManager, request.Force), nil, nil
	case request.PatchType == types.StrategicMergePatchType:
		before, err := r.read(request)
		if err != nil {
			return Line{}, nil, err
		}
		after, err := apiserver.Patched(before, request.Patch)
		if err != nil {
			return Line{}, nil, err
		}
		var patch map[string]any
		if err := json.Unmarshal(request.Patch, &patch); err != nil {
			return Line{}, nil, err
		}
		l := Update(at, fields(after), child(patch, "metadata"))
		if o, ok := after.(metav1.Object); ok {
			version, _ := strconv.Atoi(o.GetResourceVersion())
			o.SetResourceVersion(strconv.Itoa(version + 1))
		}
		r.written[request.Kind+" "+request.Namespace+"/"+request.Name] = after
		return l, after, nil
	}
	return Line{}, nil, fmt.Errorf("%s: a request that is not known", request)
}

// read is the object that a patch changes.
func (r *run) read(request purekube.Request) (runtime.Object, error) {
	key := purekube.Key{Kind: request.Kind, Namespace: request.Namespace, Name: request.Name}
	if o, ok := r.written[request.Kind+" "+request.Namespace+"/"+request.Name]; ok {
		return o, nil
	}
	if o := r.set.Object(key); o != nil {
		return o, nil
	}
	// The object is one that only a lookup has found.
	answer, err := r.scenario.Answer(r.set, purekube.Need{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name})
	if o, ok := answer.Object.(runtime.Object); ok {
		return o, nil
	}
	if err == nil {
		err = fmt.Errorf("no object is %s", key)
	}
	return nil, err
}

// Create is the line of a create. A name that the API server is to make up is shown by its generateName.
func Create(resource, namespace string, object map[string]any) Line {
	metadata := child(object, "metadata")
	name := text(metadata["name"])
	if name == "" {
		name = text(metadata["generateName"])
	}
	delete(metadata, "generateName")
	return Line{Head: "create " + place(resource, "", namespace, name), Fields: bare(object)}
}

// Update is the line of an update or a patch, with the object as it is afterwards. The metadata of the request may have
// a UID and a resourceVersion that the object must have.
func Update(at string, after, metadata map[string]any) Line {
	conditions := map[string]any{}
	for _, field := range []string{"uid", "resourceVersion"} {
		if value := text(metadata[field]); value != "" {
			conditions[field] = value
		}
	}
	options := map[string]any{}
	if len(conditions) > 0 {
		options["preconditions"] = conditions
	}
	return Line{Head: "update " + at, Fields: withOptions(bare(after), options)}
}

// Apply is the line of a server-side apply.
func Apply(at string, body map[string]any, fieldManager string, force bool) Line {
	options := map[string]any{"fieldManager": fieldManager, "force": force}
	if uid := text(child(body, "metadata")["uid"]); uid != "" {
		options["preconditions"] = map[string]any{"uid": uid}
	}
	return Line{Head: "apply " + at, Fields: withOptions(bare(body), options)}
}

// bare is the object without what the head of its line or its options say.
func bare(object map[string]any) map[string]any {
	delete(object, "apiVersion")
	delete(object, "kind")
	metadata := child(object, "metadata")
	for _, field := range []string{"name", "namespace", "uid", "resourceVersion"} {
		delete(metadata, field)
	}
	return object
}

func withOptions(object, options map[string]any) map[string]any {
	if object == nil {
		object = map[string]any{}
	}
	if len(options) > 0 {
		object["options"] = options
	}
	return object
}
