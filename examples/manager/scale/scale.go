// Package scale reads the scale of any object, and tells an object that is gone from a kind that has no
// scale: the API server answers 404 to both.
package scale

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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
	Mapper meta.ResettableRESTMapper
	// ResetEvery is how old what is known about the kinds may be.
	ResetEvery time.Duration

	mu    sync.Mutex
	reset time.Time

	// scaling has the resources with a scale by group version, and is as large as the API.
	scaling map[schema.GroupVersion]*known
}

// known is which resources of a group version have a scale.
type known struct {
	done      chan struct{} // closed when the others are set
	resources map[string]bool
	err       error
	asked     time.Time
}

// Get returns the scale of the object of this kind and name. The error is NotFound if there is no such
// object, ErrNoScale if there is no such scale, and anything else if this is not known. The objects of a kind without a
// scale cost one call together.
func (c *Client) Get(ctx context.Context, apiVersion, kind, namespace, name string) (*autoscalingv1.Scale, error) {
	resource, err := c.resourceOf(apiVersion, kind)
	if err != nil {
		return nil, err
	}
	switch scales, err := c.scales(ctx, resource); {
	case err != nil:
		return nil, err
	case !scales:
		return nil, noScale{fmt.Errorf("%s does not implement the scale subresource", resource.GroupResource())}
	}
	object, err := c.Getter.Get(ctx, resource, "scale", namespace, name)
	if err != nil {
		return nil, err
	}
	scale, ok := object.(*autoscalingv1.Scale)
	if !ok {
		return nil, noScale{fmt.Errorf("%s answers with a %T in place of a scale", resource.GroupResource(), object)}
	}
	return scale, nil
}

// scales reports whether the resource has a scale. All who ask at the same time wait for one answer.
func (c *Client) scales(ctx context.Context, resource schema.GroupVersionResource) (bool, error) {
	gv := resource.GroupVersion()
	c.mu.Lock()
	of := c.scaling[gv]
	ask := of == nil || time.Since(of.asked) >= c.ResetEvery
	if ask {
		of = &known{done: make(chan struct{}), asked: time.Now()}
		if c.scaling == nil {
			c.scaling = map[schema.GroupVersion]*known{}
		}
		c.scaling[gv] = of
	}
	c.mu.Unlock()
	if ask {
		c.discover(gv, of)
	}
	select {
	case <-of.done:
		return of.resources[resource.Resource], of.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// discover asks the API server. A failure is the answer for those who wait for it, and for nobody else.
func (c *Client) discover(gv schema.GroupVersion, of *known) {
	defer close(of.done)
	list, err := c.Discovery.ServerResourcesForGroupVersion(gv.String())
	if err != nil {
		of.err = err
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.scaling[gv] == of {
			delete(c.scaling, gv)
		}
		return
	}
	of.resources = map[string]bool{}
	for _, r := range list.APIResources {
		if name, ok := strings.CutSuffix(r.Name, "/scale"); ok {
			of.resources[name] = true
		}
	}
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
