package clientgo_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/admission/memory"
	"github.com/purekube/purekube/admission/webhook"
	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/internal/test/reviews"
	"github.com/purekube/purekube/purekubetest"
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

// aged is a Webhook at an API server on which something else than IPAddresses changes every second.
type aged struct {
	*storage
	*clientgo.Webhook
	t *testing.T
}

// start returns it as soon as the caches are full. before is what happens before it is made. Nil: the caches are empty.
func start(t *testing.T, before func(*storage)) *aged {
	t.Helper()
	a := &aged{storage: &storage{revision: 100, changed: 90}, t: t}
	if before != nil {
		before(a.storage)
	}
	var err error
	a.Webhook, err = clientgo.NewWebhook(a.informer, a.storage, admission.Options{}, webhook.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	a.handlers[0].OnAdd(purekubetest.ServiceCIDR("free", "10.97.0.0/24"), true)
	if before == nil {
		a.see()
	}
	return a
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

// deletes is the answer to the deletion of a ServiceCIDR that is free as far as the webhook knows.
func (a *aged) deletes() string {
	body := reviews.DeletesCIDR("free", "10.97.0.0/24")
	body.DryRun = true // so that it is not remembered
	request := httptest.NewRequest(http.MethodPost, "/validate", strings.NewReader(body.Body(a.t, "v1")))
	request.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	a.ServeHTTP(answer, request)
	return answer.Body.String()
}

func (a *aged) decides() {
	a.t.Helper()
	require.NoError(a.t, a.Ready())
	require.Contains(a.t, a.deletes(), `"allowed":true`)
}

func (a *aged) refuses(why string) {
	a.t.Helper()
	require.ErrorContains(a.t, a.Ready(), "ipaddresses.networking.k8s.io: the cache is not known to be younger than 5m0s: "+why)
	require.Contains(a.t, a.deletes(), `"code":503`)
}

func TestAgeOfACache(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		// before is what happens before the webhook is made. Nil: the caches are empty. A change after that may be before or
		// after the first look at the API server.
		before func(*storage)
		play   func(*aged)
	}{
		{"bookmarks come", "the cache reaches what the lists showed; no watch is needed", nil, func(a *aged) {
			a.play(time.Hour, true)
			a.decides()
			require.InDelta(t, 120, a.lists, 2, "two a minute")
			require.Zero(t, a.watches)
		}},
		{"no bookmarks, and no change", "a watch shows that the cache has everything", nil, func(a *aged) {
			for range 20 {
				a.play(3*time.Minute, false)
				a.decides()
			}
			require.Greater(t, a.watches, 10)
		}},
		{"the watch hangs", "an address was added, and the cache does not show it", nil, func(a *aged) {
			a.play(10*time.Minute, true)
			a.change(true)
			a.play(4*time.Minute, false)
			a.decides() // by objects of less than five minutes ago
			a.play(90*time.Second, false)
			a.refuses("the API server has newer objects")
			a.play(time.Hour, false)
			a.refuses("the API server has newer objects")
			a.see() // it lists again
			a.play(time.Minute, false)
			a.decides()
		}},
		{"the API server fails", "nobody knows what changed; the answer is in the error", nil, func(a *aged) {
			a.becomes(func() { a.down = errors.New("not today") })
			a.play(4*time.Minute, true)
			a.decides()
			a.play(2*time.Minute, true)
			a.refuses("not today")
			a.becomes(func() { a.down = nil })
			a.play(2*time.Minute, true)
			a.decides()
		}},
		{"nothing is answered", "a connection that died without an error", nil, func(a *aged) {
			a.becomes(func() { a.hangs = true })
			a.play(6*time.Minute, false)
			a.refuses("context deadline exceeded")
			require.Greater(t, a.lists, 5, "no call waits for ever")
		}},
		{"a restore that the cache has not seen", "its version is that of another history", nil, func(a *aged) {
			a.play(10*time.Minute, true)
			a.becomes(func() { a.revision, a.changed = 50, 50 })
			a.play(6*time.Minute, false)
			a.refuses("the API server is behind the cache")
			a.play(15*time.Minute, false) // the API server comes to the version of the cache again
			a.refuses("the API server is behind the cache")
			a.play(time.Hour, true) // what comes then does not tell what changed before
			a.refuses("the API server is behind the cache")
		}},
		{"a restore that the cache has seen", "it listed again", nil, func(a *aged) {
			a.play(10*time.Minute, true)
			a.becomes(func() { a.revision, a.changed = 50, 50 })
			a.play(time.Minute, false)
			a.see()
			a.play(10*time.Minute, true)
			a.decides()
		}},
		{"a cache that was full before", "how old it is is not known before the first list", func(s *storage) { s.see(); s.change(true) }, func(a *aged) {
			synctest.Wait()
			a.refuses("")
			a.play(time.Hour, false)
			a.refuses("the API server has newer objects")
		}},
		{"a cache that was full before and is up to date", "the first watch shows it", func(s *storage) { s.see(); s.change(false) }, func(a *aged) {
			a.play(time.Minute, false)
			a.decides()
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := start(t, tc.before)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel() // a bubble does not end before its goroutines
				ended := make(chan error, 1)
				go func() { ended <- a.Run(ctx) }()
				tc.play(a)
				cancel()
				require.NoError(t, <-ended)
			})
		})
	}
}

// A deletion that was allowed is remembered for longer than a cache can be too old to show it.
func TestDeletionsAreRememberedForLongerThanACacheIsOld(t *testing.T) {
	require.Greater(t, memory.AssumeServiceCIDRFor, clientgo.MaxCacheAge+time.Minute)
}

// Where nobody runs it, the webhook decides for as long as the first list is new.
func TestAgeThatNobodyAsksFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := start(t, nil)
		a.play(4*time.Minute, true)
		a.decides()
		a.play(time.Minute, true)
		require.ErrorContains(t, a.Ready(), "the API server has newer objects, or does not show")
		require.Contains(t, a.deletes(), `"code":503`)
	})
}
