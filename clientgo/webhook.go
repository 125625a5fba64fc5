package clientgo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/admission/memory"
	"github.com/purekube/purekube/admission/webhook"
)

// reviewed are the kinds that package admission decides by.
var reviewed = []runtime.Object{
	&networkingv1.ServiceCIDR{}, &networkingv1.IPAddress{}, &rbacv1.ClusterRole{}, &policyv1.PodDisruptionBudget{}, &corev1.Pod{},
	&corev1.ReplicationController{}, &appsv1.ReplicaSet{}, &appsv1.Deployment{}, &appsv1.StatefulSet{},
}

// Webhook is a handler that answers admission reviews with the decisions of package admission, by what informers show.
type Webhook struct {
	http.Handler
	caches []reviewedCache
}

// reviewedCache is what the informer of one kind shows.
type reviewedCache struct {
	synced func() bool // reports whether the handler has seen the listed objects
	age    *cacheAge
}

var (
	errNoVersions = errors.New("no client for resourceVersions")
	errNotListed  = errors.New("not listed yet")
	errNoVersion  = errors.New("its informer has no LastSyncResourceVersion, without which nobody knows how old the cache is")
)

// NewWebhook returns a Webhook. Start the informers afterwards, [Webhook.Run] it, and serve it by TLS. The client asks the
// API server of the informers how far it is: see [Webhook.Run].
//
// It is an error if an informer has no method LastSyncResourceVersion() string, as client-go's have. The informers of a
// controller-runtime cache of several namespaces have none.
func NewWebhook(informers Informers, client metadata.Interface, o admission.Options, w webhook.Options) (*Webhook, error) {
	switch {
	case informers == nil:
		return nil, errNoInformers
	case client == nil:
		return nil, errNoVersions
	}
	store := memory.NewStore(memory.Options{})
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { store.Put(o.(runtime.Object)) },
		UpdateFunc: func(_, o any) { store.Put(o.(runtime.Object)) },
		DeleteFunc: func(o any) {
			if missed, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = missed.Obj
			}
			store.Remove(o.(runtime.Object))
		},
	}
	h := &Webhook{}
	for _, kind := range reviewed {
		resource, err := resourceOf(kind)
		if err != nil {
			return nil, err
		}
		informer, err := informers(kind)
		if err != nil {
			return nil, err
		}
		versioned, ok := informer.(interface{ LastSyncResourceVersion() string })
		if !ok {
			return nil, fmt.Errorf("%s: %w", resource.GroupResource(), errNoVersion)
		}
		age := newCacheAge(time.Now(), resource, versioned.LastSyncResourceVersion, client.Resource(resource), MaxCacheAge/2)
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			return nil, err
		}
		h.caches = append(h.caches, reviewedCache{registration.HasSynced, age})
	}
	h.Handler = webhook.New(func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return store.Review(r, h.Ready() == nil, time.Now(), o)
	}, w)
	return h, nil
}

// Ready is an error until every event handler has seen the initial list, and when a cache may be older than [MaxCacheAge].
// The handler then refuses what it would decide. Make the readiness check of it.
func (h *Webhook) Ready() error {
	for _, c := range h.caches {
		if !c.synced() {
			return fmt.Errorf("%s: %w", c.age.resource.GroupResource(), errNotListed)
		}
		if err := c.age.check(time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// Run finds out how old the caches are, until ctx ends. Without it the handler refuses everything after [MaxCacheAge].
//
// The watch of an informer can hang: its connection stays open, and no event comes. So each kind is listed every 30
// seconds, with a limit of one, for the resourceVersion of that moment, which the cache then has to reach. An API server
// sends bookmarks once a minute, so that the cache reaches it where nothing changes. A cache that has not done so for half
// of MaxCacheAge is as new as the list if a watch of five seconds, from the version of the cache, shows nothing but a
// bookmark.
func (h *Webhook) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, c := range h.caches {
		running.Go(func() { c.age.run(ctx) })
	}
	running.Wait()
	return nil
}
