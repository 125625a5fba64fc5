package clientgo

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/purekube/purekube"
)

// DynamicExecutor sends requests with client-go's dynamic client. It returns objects of type
// *unstructured.Unstructured. For tests, package fake makes a dynamic client: client-go's own fake knows no strategic
// merge patch and no generateName.
type DynamicExecutor struct{ Client dynamic.Interface }

// Do makes the call, as [Executor.Do] does.
func (e DynamicExecutor) Do(ctx context.Context, r purekube.Request) (runtime.Object, error) {
	if _, err := pathOf(r); err != nil {
		return nil, err
	}
	if r.Template != nil {
		template, err := e.Do(ctx, r.Template.Read())
		if err != nil {
			return nil, err
		}
		if r, err = r.WithSpecOf(template.(*unstructured.Unstructured)); err != nil {
			return nil, err
		}
	}
	objects := e.Client.Resource(r.Resource).Namespace(r.Namespace) // "" for what has no namespace
	var subresources []string
	if r.Subresource != "" {
		subresources = []string{r.Subresource}
	}
	switch r.Verb {
	case "get":
		return answered(objects.Get(ctx, r.Name, metav1.GetOptions{}, subresources...))
	case "create", "update":
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r.Object)
		if err != nil {
			return nil, err
		}
		body := &unstructured.Unstructured{Object: content}
		if r.Verb == "create" {
			return answered(objects.Create(ctx, body, metav1.CreateOptions{FieldManager: r.FieldManager}, subresources...))
		}
		return answered(objects.Update(ctx, body, metav1.UpdateOptions{FieldManager: r.FieldManager}, subresources...))
	case "patch":
		options := metav1.PatchOptions{FieldManager: r.FieldManager}
		if r.Force { // the API server refuses force for a patch that is no apply, even false
			options.Force = &r.Force
		}
		return answered(objects.Patch(ctx, r.Name, r.PatchType, r.Patch, options, subresources...))
	case "delete":
		return nil, objects.Delete(ctx, r.Name, metav1.DeleteOptions{Preconditions: r.Preconditions}, subresources...)
	}
	return nil, fmt.Errorf("request without a known verb: %s", r)
}

// Get reads an object, or the subresource of one, past every cache.
func (e DynamicExecutor) Get(
	ctx context.Context, resource schema.GroupVersionResource, subresource, namespace, name string,
) (runtime.Object, error) {
	return e.Do(ctx,
		purekube.Request{Verb: "get", Resource: resource, Subresource: subresource, Namespace: namespace, Name: name})
}

// answered is nil, and not a nil pointer, where there is an error.
func answered(o *unstructured.Unstructured, err error) (runtime.Object, error) {
	if err != nil {
		return nil, err
	}
	return o, nil
}
