package clientgo

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
)

// Informer is what a controller needs of an informer: client-go's SharedIndexInformer has it, and controller-runtime's
// cache.Informer.
//
// Where an informer has a method LastSyncResourceVersion() string, as client-go's has, a controller notices by it that
// etcd was restored from a backup: see [ErrRestored].
type Informer interface {
	AddEventHandler(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error)
}

// Informers returns the informer for objects of the type of its argument, for example &corev1.Pod{}. Starting it is up
// to the caller.
type Informers func(object runtime.Object) (Informer, error)

// FromFactory returns the informers of a factory. Start the factory when all controllers are made.
func FromFactory(factory informers.SharedInformerFactory) Informers {
	return func(object runtime.Object) (Informer, error) {
		resource, err := resourceOf(object)
		if err != nil {
			return nil, err
		}
		informer, err := factory.ForResource(resource)
		if err != nil {
			return nil, err
		}
		return informer.Informer(), nil
	}
}

// listsOfNow makes an informer's first list a current one. Where the API server does not stream lists, client-go asks
// for a list of any age, which may be older than the writes of the previous process.
func listsOfNow(o *metav1.ListOptions) {
	if o.ResourceVersion == "0" {
		o.ResourceVersion = ""
	}
}

// resourceOf is the resource of a Go type.
func resourceOf(object runtime.Object) (schema.GroupVersionResource, error) {
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		return schema.GroupVersionResource{}, fmt.Errorf("no informer for a %T: %w", object, err)
	}
	resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return resource, nil
}
