package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/purekube/purekube"
)

// do makes the call that a request describes, whatever its resource.
func do(ctx context.Context, c client.Client, r purekube.Request) (runtime.Object, error) {
	object, ok := r.Object.(client.Object)
	if !ok { // a patch or a deletion: only the name counts
		var err error
		if object, err = named(c, r); err != nil {
			return nil, err
		}
	}
	patch := client.RawPatch(r.PatchType, r.Patch)
	var options []client.PatchOption
	if r.FieldManager != "" {
		options = append(options, client.FieldOwner(r.FieldManager))
	}
	if r.Force {
		options = append(options, client.ForceOwnership)
	}
	switch verb := r.Verb + "/" + r.Subresource; verb {
	case "create/":
		return object, c.Create(ctx, object)
	case "update/":
		return object, c.Update(ctx, object)
	case "update/status":
		return object, c.Status().Update(ctx, object)
	case "patch/":
		return object, c.Patch(ctx, object, patch, options...)
	case "patch/status":
		return object, c.Status().Patch(ctx, object, patch, subresource(options)...)
	case "delete/":
		if r.Preconditions == nil {
			return object, c.Delete(ctx, object)
		}
		return object, c.Delete(ctx, object, client.Preconditions(*r.Preconditions))
	default:
		return nil, fmt.Errorf("no call for %s", verb)
	}
}

// named is an empty object of the request's resource with its name.
func named(c client.Client, r purekube.Request) (client.Object, error) {
	kind, err := c.RESTMapper().KindFor(r.Resource)
	if err != nil {
		return nil, err
	}
	made, err := c.Scheme().New(kind)
	if err != nil {
		return nil, err
	}
	object, ok := made.(client.Object)
	if !ok {
		return nil, errors.New(kind.String() + " is no object")
	}
	object.SetNamespace(r.Namespace)
	object.SetName(r.Name)
	return object, nil
}

func subresource(options []client.PatchOption) []client.SubResourcePatchOption {
	var converted []client.SubResourcePatchOption
	for _, o := range options {
		converted = append(converted, o.(client.SubResourcePatchOption))
	}
	return converted
}

// resettable is controller-runtime's mapper, which looks for new kinds by itself.
type resettable struct{ meta.RESTMapper }

func (resettable) Reset() {}
