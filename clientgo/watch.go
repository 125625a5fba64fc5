package clientgo

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/purekube/purekube"
)

// watched is an informer whose objects are in the Index.
type watched struct {
	resource schema.GroupVersionResource
	// synced reports whether the handler has seen the listed objects. version is the version of the cache, and nil if
	// it is not known. at is what it was at the last look, under the controller's mu.
	synced  func() bool
	version func() string
	at      string
	// remove removes the handler from the informer.
	remove func() error
}

// Watch keeps the objects of a type in the controller's Index: as puts one into a Snapshot. Each function in gone gets
// a deleted object before the Index loses it. If Watch fails, Run returns the error.
func Watch[T any, P interface {
	*T
	runtime.Object
}, X purekube.Index[X, S, A], S any, A purekube.Action](c *Controller[X, S, A], as func(P) S, gone ...func(P)) {
	if err := addHandlers(c, as, gone); err != nil {
		c.broken = errors.Join(c.broken, fmt.Errorf("%s: %w", c.name, err))
	}
}

func addHandlers[T any, P interface {
	*T
	runtime.Object
}, X purekube.Index[X, S, A], S any, A purekube.Action](c *Controller[X, S, A], as func(P) S, gone []func(P)) error {
	resource, err := resourceOf(P(new(T)))
	if err != nil {
		return err
	}
	informer, err := c.cluster.Informers(P(new(T)))
	if err != nil {
		return err
	}
	return handle(c, resource, informer, as, gone)
}

// handle adds the handler to the informer of this resource, whose objects are of type O.
func handle[O any, X purekube.Index[X, S, A], S any, A purekube.Action](
	c *Controller[X, S, A], full schema.GroupVersionResource, informer Informer, as func(O) S, gone []func(O),
) error {
	resource := full.GroupResource()
	c.loop.Watches(resource)
	with := func(object any) {
		c.enqueue(c.event(resource, versionOf(object), func(x X) (X, []purekube.Key) { return x.With(as(object.(O))) }))
	}
	without := func(object any, version string) {
		last := as(object.(O))
		for _, tell := range gone {
			tell(object.(O))
		}
		c.enqueue(c.event(resource, version, func(x X) (X, []purekube.Key) { return x.Without(last) }))
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: with,
		UpdateFunc: func(before, object any) {
			if uidOf(before) != uidOf(object) { // the watch was interrupted: one went, and another one of its name came
				without(before, "")
			}
			with(object)
		},
		DeleteFunc: func(object any) {
			// The informer missed the deletion, and has only the last state that it saw: its version tells nothing new.
			if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
				without(missed.Obj, "")
			} else {
				without(object, versionOf(object))
			}
		},
	})
	if err != nil {
		return err // the informer has stopped
	}
	w := &watched{resource: full, synced: registration.HasSynced, remove: func() error { return nil }}
	if removing, ok := informer.(interface {
		RemoveEventHandler(cache.ResourceEventHandlerRegistration) error
	}); ok {
		w.remove = func() error { return removing.RemoveEventHandler(registration) }
	}
	if versioned, ok := informer.(interface{ LastSyncResourceVersion() string }); ok {
		w.version = versioned.LastSyncResourceVersion
	}
	c.watched = append(c.watched, w)
	return nil
}

func versionOf(object any) string {
	o, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return o.GetResourceVersion()
}

func uidOf(object any) types.UID {
	o, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return o.GetUID()
}
