// Package late has informers whose handlers are slow, for tests of programs that must wait for them.
package late

import (
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/networking"
	networkingv1 "k8s.io/client-go/informers/networking/v1"
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

// IPAddresses is the factory with an informer of IPAddresses that is late.
func IPAddresses(factory informers.SharedInformerFactory, before func()) informers.SharedInformerFactory {
	return lateFactory{factory, before}
}

type lateFactory struct {
	informers.SharedInformerFactory
	before func()
}

func (f lateFactory) Networking() networking.Interface {
	return lateGroup{f.SharedInformerFactory.Networking(), f.before}
}

type lateGroup struct {
	networking.Interface
	before func()
}

func (g lateGroup) V1() networkingv1.Interface { return lateVersion{g.Interface.V1(), g.before} }

type lateVersion struct {
	networkingv1.Interface
	before func()
}

func (v lateVersion) IPAddresses() networkingv1.IPAddressInformer {
	return lateAddresses{v.Interface.IPAddresses(), v.before}
}

type lateAddresses struct {
	networkingv1.IPAddressInformer
	before func()
}

func (a lateAddresses) Informer() cache.SharedIndexInformer {
	return Informer{a.IPAddressInformer.Informer(), a.before}
}
