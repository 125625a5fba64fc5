package controller

import (
	"fmt"

	"k8s.io/client-go/tools/cache"

	"github.com/purekube/purekube"
)

// Watch keeps the objects of an informer in the controller's Index: as puts one into a Snapshot. Each of gone is
// told of a deleted object before that.
func Watch[T any, X Index[X, S, K, A], S any, K comparable, A purekube.Action](
	c *Controller[X, S, K, A], informer cache.SharedIndexInformer, as func(*T) S, gone ...func(*T),
) {
	with := func(object any) {
		c.Update(func(x X) (X, []K) { return x.With(as(object.(*T))) })
	}
	without := func(object any) {
		// The informer missed the deletion, and has only the last state that it saw.
		if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = missed.Obj
		}
		for _, tell := range gone {
			tell(object.(*T))
		}
		c.Update(func(x X) (X, []K) { return x.Without(as(object.(*T))) })
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    with,
		UpdateFunc: func(_, object any) { with(object) },
		DeleteFunc: without,
	})
	if err != nil {
		// Only a stopped informer refuses a handler: a mistake in the program.
		panic(fmt.Sprintf("%s: %v", c.name, err))
	}
	c.synced = append(c.synced, registration.HasSynced)
}
