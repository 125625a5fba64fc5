package parity

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// informer is a shared informer that is fed by hand. Its cache holds what it was given and
// its handlers are called in the caller's goroutine, so that nothing happens in between. It
// embeds a real one, never started, for the cache and the indexes.
type informer struct {
	cache.SharedIndexInformer
	handlers []cache.ResourceEventHandler
}

func newInformer(example runtime.Object) *informer {
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	return &informer{SharedIndexInformer: cache.NewSharedIndexInformer(&cache.ListWatch{}, example, 0, byNamespace)}
}

func (i *informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, h)
	return i, nil
}

func (i *informer) AddEventHandlerWithResyncPeriod(
	h cache.ResourceEventHandler, _ time.Duration,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (i *informer) AddEventHandlerWithOptions(
	h cache.ResourceEventHandler, _ cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

// HasSynced is always true: the cache is full before the controller runs.
func (i *informer) HasSynced() bool { return true }
