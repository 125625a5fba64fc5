package clientgo

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/purekube/purekube"
)

// Do makes the call of a request, of whatever package, with client-go's dynamic client.
func Do(ctx context.Context, client dynamic.Interface, r purekube.Request) (runtime.Object, error) {
	objects := client.Resource(r.Resource).Namespace(r.Namespace) // "" for what has no namespace
	var subresources []string
	if r.Subresource != "" {
		subresources = []string{r.Subresource}
	}
	switch r.Verb {
	case "create":
		if r.Template != nil { // its fields that this build's types lack
			template, err := client.Resource(r.Template.Resource).Namespace(r.Namespace).Get(ctx, r.Template.Name,
				metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			if r, err = r.WithSpecOf(template); err != nil {
				return nil, err
			}
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r.Object)
		if err != nil {
			return nil, err
		}
		body := &unstructured.Unstructured{Object: content}
		return answer(objects.Create(ctx, body, metav1.CreateOptions{FieldManager: r.FieldManager}, subresources...))
	case "patch":
		options := metav1.PatchOptions{FieldManager: r.FieldManager}
		if r.Force { // the API server refuses force for a patch that is no apply, even false
			options.Force = &r.Force
		}
		return answer(objects.Patch(ctx, r.Name, r.PatchType, r.Patch, options, subresources...))
	case "delete":
		return nil, objects.Delete(ctx, r.Name, metav1.DeleteOptions{Preconditions: r.Preconditions}, subresources...)
	}
	return nil, fmt.Errorf("%s: unknown verb", r)
}

// answer keeps a nil pointer from becoming an object that is not nil.
func answer(o *unstructured.Unstructured, err error) (runtime.Object, error) {
	if err != nil {
		return nil, err
	}
	return o, nil
}
