package clientgo_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/purekube/purekube/clientgo"
)

// storage is an API server and the informers at it, as far as resourceVersions go. The cache of IPAddresses does what a
// test says. The caches of all other kinds are always as new as the API server.
type storage struct {
	mu       sync.Mutex
	revision int
	changed  int   // revision of the last change of an IPAddress
	cache    int   // revision of their cache; 0 before the first list of any kind
	down     error // of all requests for IPAddresses
	hangs    bool  // no request for IPAddresses is answered
	lists    int
	watches  int
	handlers []cache.ResourceEventHandler // in the order of the informers
}

func (s *storage) Resource(r schema.GroupVersionResource) metadata.Getter {
	return &resource{storage: s, addresses: r.Resource == "ipaddresses"}
}

func (s *storage) informer(o runtime.Object) (clientgo.Informer, error) {
	_, addresses := o.(*networkingv1.IPAddress)
	return &resource{storage: s, addresses: addresses}, nil
}

// change is a write of any kind, or of an IPAddress.
func (s *storage) change(address bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++
	if address {
		s.changed = s.revision
	}
}

// becomes changes what a test says.
func (s *storage) becomes(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// see lets the cache of IPAddresses come to where the API server is: it lists, or an event or a bookmark comes.
func (s *storage) see() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cache = s.revision
}

// resource is the informer of one kind and its client.
type resource struct {
	metadata.Getter
	*storage
	addresses bool
}

func (r *resource) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	r.handlers = append(r.handlers, h)
	return synced{}, nil
}

type synced struct {
	cache.ResourceEventHandlerRegistration
}

func (synced) HasSynced() bool { return true }

func (r *resource) LastSyncResourceVersion() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.cache == 0:
		return ""
	case !r.addresses:
		return strconv.Itoa(r.revision)
	}
	return strconv.Itoa(r.cache)
}

// answers is what becomes of a request.
func (r *resource) answers(ctx context.Context, count *int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.addresses {
		return nil
	}
	*count++
	if r.hangs {
		r.mu.Unlock()
		<-ctx.Done()
		r.mu.Lock()
		return ctx.Err()
	}
	return r.down
}

func (r *resource) List(ctx context.Context, o metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	if err := r.answers(ctx, &r.lists); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.Limit != 1 || o.ResourceVersion != "" {
		return nil, errors.New("not the cheap list of this moment")
	}
	return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(r.revision)}}, nil
}

// Watch sends a change after the version, or otherwise a bookmark before its end.
func (r *resource) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	if err := r.answers(ctx, &r.watches); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	from, err := strconv.Atoi(o.ResourceVersion)
	if err != nil || o.TimeoutSeconds == nil || !o.AllowWatchBookmarks {
		return nil, errors.New("a watch that does not end, or begins nowhere")
	}
	events := watch.NewRaceFreeFake()
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.Itoa(r.revision)}}
	if r.changed > from {
		object.ResourceVersion = strconv.Itoa(r.changed)
		events.Modify(object)
	} else {
		events.Action(watch.Bookmark, object)
	}
	return events, nil
}

// aged is a storage on which something else than IPAddresses changes every second.
type aged struct {
	*storage
	t *testing.T
}

// play lets time pass. Every second something changes, and every minute a bookmark comes where they come.
func (a *aged) play(for_ time.Duration, bookmarks bool) {
	for second := 1; second <= int(for_/time.Second); second++ {
		time.Sleep(time.Second)
		a.change(false)
		if bookmarks && second%60 == 0 {
			a.see()
		}
	}
	synctest.Wait()
}
