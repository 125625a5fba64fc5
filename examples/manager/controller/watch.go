package controller

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/purekube/purekube"
)

// Watch keeps the objects of an informer in the controller's Index: as puts one into a Snapshot. Each of gone is
// told of a deleted object before that.
func Watch[T any, X Index[X, S, K, A], S any, K comparable, A purekube.Action](
	c *Controller[X, S, K, A], informer cache.SharedIndexInformer, as func(*T) S, gone ...func(*T),
) {
	resource := resourceOf(new(T))
	update := func(object any, change func(X) (X, []K)) {
		version := ""
		if o, err := meta.Accessor(object); err == nil {
			version = o.GetResourceVersion()
		}
		c.update(change, resource, version)
	}
	c.fences.seen[resource] = "" // is watched
	with := func(object any) {
		update(object, func(x X) (X, []K) { return x.With(as(object.(*T))) })
	}
	without := func(object any) {
		// The informer missed the deletion, and has only the last state that it saw.
		if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = missed.Obj
		}
		last := as(object.(*T))
		for _, tell := range gone {
			tell(object.(*T))
		}
		update(object, func(x X) (X, []K) { return x.Without(last) })
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: with,
		UpdateFunc: func(before, object any) {
			if uidOf(before) != uidOf(object) { // the watch was interrupted: one went, and another one of its name came
				without(before)
			}
			with(object)
		},
		DeleteFunc: without,
	})
	if err != nil {
		// Only a stopped informer refuses a handler: a mistake in the program.
		panic(fmt.Sprintf("%s: %v", c.name, err))
	}
	c.synced = append(c.synced, registration.HasSynced)
}

func uidOf(object any) types.UID {
	o, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return o.GetUID()
}
