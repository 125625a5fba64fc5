// Package scale reads the scale of any object, and tells an object that is gone from a kind that has no
// scale: the API server answers 404 to both.
package scale

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// ErrNoScale: the API server does not know the kind, or the kind has no scale subresource.
var ErrNoScale = errors.New("no scale")

// noScale is an ErrNoScale with a text of its own.
type noScale struct{ error }

func (noScale) Is(target error) bool { return target == ErrNoScale }

// Getter reads one object past every cache.
type Getter interface {
	Get(ctx context.Context, resource schema.GroupVersionResource, subresource, namespace, name string) (runtime.Object, error)
}

// Client reads scales.
type Client struct {
	Getter    Getter
	Discovery discovery.ServerResourcesInterface
	// Mapper finds the resource of a kind. It is reset when a kind is new to it, but not
	// more often than once in ResetEvery.
	Mapper     meta.ResettableRESTMapper
	ResetEvery time.Duration

	mu    sync.Mutex
	reset time.Time
}

// Get returns the scale of the object of this kind and name. The error is NotFound if there is no such
// object, ErrNoScale if there is no such scale, and anything else if this is not known.
func (c *Client) Get(ctx context.Context, apiVersion, kind, namespace, name string) (*autoscalingv1.Scale, error) {
	resource, err := c.resourceOf(apiVersion, kind)
	if err != nil {
		return nil, err
	}
	object, err := c.Getter.Get(ctx, resource, "scale", namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, c.notFound(resource, err)
	}
	if err != nil {
		return nil, err
	}
	scale, ok := object.(*autoscalingv1.Scale)
	if !ok {
		return nil, noScale{fmt.Errorf("%s answers with a %T in place of a scale", resource.GroupResource(), object)}
	}
	return scale, nil
}

// notFound asks discovery what a 404 means.
func (c *Client) notFound(resource schema.GroupVersionResource, notFound error) error {
	list, err := c.Discovery.ServerResourcesForGroupVersion(resource.GroupVersion().String())
	if err != nil {
		return err
	}
	isScale := func(r metav1.APIResource) bool { return r.Name == resource.Resource+"/scale" }
	if slices.ContainsFunc(list.APIResources, isScale) {
		return notFound
	}
	return noScale{fmt.Errorf("%s does not implement the scale subresource", resource.GroupResource())}
}

func (c *Client) resourceOf(apiVersion, kind string) (schema.GroupVersionResource, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return schema.GroupVersionResource{}, noScale{err}
	}
	mapping, err := c.Mapper.RESTMapping(gv.WithKind(kind).GroupKind(), gv.Version)
	if meta.IsNoMatchError(err) && c.mayReset() {
		c.Mapper.Reset()
		mapping, err = c.Mapper.RESTMapping(gv.WithKind(kind).GroupKind(), gv.Version)
	}
	if meta.IsNoMatchError(err) {
		return schema.GroupVersionResource{}, noScale{err}
	}
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	return mapping.Resource, nil
}

func (c *Client) mayReset() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.reset) < c.ResetEvery {
		return false
	}
	c.reset = time.Now()
	return true
}
