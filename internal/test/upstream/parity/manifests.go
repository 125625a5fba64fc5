package parity

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// Manifests are the objects as a v1 List in YAML, which kubectl and purekube read.
func Manifests(objects []runtime.Object) string {
	items := make([]any, 0, len(objects))
	for _, o := range objects {
		item, err := manifest(o)
		if err != nil {
			return fmt.Sprintf("# cannot be written as manifests: %v\n", err)
		}
		items = append(items, item)
	}
	list := map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
	text, err := yaml.Marshal(list)
	if err != nil {
		return fmt.Sprintf("# cannot be written as manifests: %v\n", err)
	}
	return string(text)
}

func manifest(object runtime.Object) (map[string]any, error) {
	known, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		return nil, err
	}
	document, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(document, &fields); err != nil {
		return nil, err
	}
	fields["apiVersion"], fields["kind"] = known[0].ToAPIVersionAndKind()
	dropEmpty(fields)
	return fields, nil
}

// dropEmpty takes out the structs that encoding writes although nothing is in them, such as
// the status of an object that has none.
func dropEmpty(fields map[string]any) {
	for name, value := range fields {
		inner, ok := value.(map[string]any)
		if !ok || name != "status" && name != "spec" && name != "metadata" && name != "template" {
			continue
		}
		dropEmpty(inner)
		if len(inner) == 0 {
			delete(fields, name)
		}
	}
}
