package clientgo

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/purekube/purekube"
)

// Do sends a request of a ServiceCIDR with client-go's dynamic client. All of them are patches.
func Do(ctx context.Context, client dynamic.Interface, r purekube.Request) (runtime.Object, error) {
	if r.Verb != "patch" {
		return nil, fmt.Errorf("%s: unknown verb", r)
	}
	options := metav1.PatchOptions{FieldManager: r.FieldManager}
	if r.Force { // the API server refuses force for a patch that is no apply, even false
		options.Force = &r.Force
	}
	var subresources []string
	if r.Subresource != "" {
		subresources = []string{r.Subresource}
	}
	o, err := client.Resource(r.Resource).Patch(ctx, r.Name, r.PatchType, r.Patch, options, subresources...)
	if err != nil {
		return nil, err // and not a nil pointer, which would be an object
	}
	return o, nil
}
