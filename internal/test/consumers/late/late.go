// Package late has informers whose handlers are slow, for tests of programs that must wait for them.
package late

import (
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/informers"
	informersv1 "k8s.io/client-go/informers/networking/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Informer is an informer whose cache fills as usual, and whose handlers are late.
type Informer struct {
	cache.SharedIndexInformer
	// Before is called in the goroutine of a handler before each of its events. The handler is late while it blocks.
	Before func()
}

// AddEventHandler adds a handler that is late.
func (i Informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandler(handler{h, i.Before})
}

// AddEventHandlerWithOptions adds a handler that is late.
func (i Informer) AddEventHandlerWithOptions(
	h cache.ResourceEventHandler, o cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandlerWithOptions(handler{h, i.Before}, o)
}

type handler struct {
	cache.ResourceEventHandler
	before func()
}

func (h handler) OnAdd(object any, initial bool) {
	h.before()
	h.ResourceEventHandler.OnAdd(object, initial)
}

func (h handler) OnUpdate(before, after any) {
	h.before()
	h.ResourceEventHandler.OnUpdate(before, after)
}

func (h handler) OnDelete(object any) {
	h.before()
	h.ResourceEventHandler.OnDelete(object)
}

// IPAddresses makes the factory's informer of IPAddresses late, if it is the first to ask for that, and returns the
// factory.
func IPAddresses(factory informers.SharedInformerFactory, before func()) informers.SharedInformerFactory {
	factory.InformerFor(&networkingv1.IPAddress{},
		func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
			byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
			return Informer{informersv1.NewIPAddressInformer(client, resync, byNamespace), before}
		})
	return factory
}
