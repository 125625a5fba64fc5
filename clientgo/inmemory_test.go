package clientgo

import (
	"context"
	"reflect"
	"sync"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/internal/test/largecluster"
	"github.com/purekube/purekube/servicecidr"
)

// inMemory is the API server in memory with its informers, whose caches are never behind. It counts requests.
type inMemory struct {
	mu        sync.Mutex
	server    *apiserver.Server
	informers map[reflect.Type]*handlers
	live      map[string]apiserver.Object
	requests  map[string]int // by verb, resource and subresource
}

func liveKey(resource schema.GroupVersionResource, namespace, name string) string {
	return resource.Resource + "/" + namespace + "/" + name
}

func newInMemory(c largecluster.Cluster) *inMemory {
	m := &inMemory{
		server: apiserver.New(), informers: map[reflect.Type]*handlers{}, live: map[string]apiserver.Object{},
		requests: map[string]int{},
	}
	m.server.Now = largecluster.Now
	m.server.Changed = m.changed
	for _, o := range c.Objects() {
		m.server.Put(o)
	}
	return m
}

func (m *inMemory) changed(o apiserver.Object, gone bool) {
	key := liveKey(apiserver.ResourceOf(o), o.GetNamespace(), o.GetName())
	before := m.live[key]
	m.live[key] = o
	if gone {
		delete(m.live, key)
	}
	informer := m.informers[reflect.TypeOf(o)]
	switch {
	case informer == nil:
	case gone:
		informer.OnDelete(o)
	case before == nil:
		informer.OnAdd(o, false)
	default:
		informer.OnUpdate(before, o)
	}
}

// informer is Cluster.Informers. It lists nothing: start does.
func (m *inMemory) informer(object runtime.Object) (Informer, error) {
	h := &handlers{}
	m.informers[reflect.TypeOf(object)] = h
	return h, nil
}

// start lists all objects.
func (m *inMemory) start() {
	for _, o := range m.server.All() {
		if informer := m.informers[reflect.TypeOf(o)]; informer != nil {
			informer.OnAdd(o, true)
		}
	}
}

func (m *inMemory) count(verb string, resource schema.GroupVersionResource, subresource string) {
	request := verb + " " + resource.Resource
	if subresource != "" {
		request += "/" + subresource
	}
	m.requests[request]++
}

// Do is part of Client.
func (m *inMemory) Do(_ context.Context, r purekube.Request) (runtime.Object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count(r.Verb, r.Resource, r.Subresource)
	return m.server.Do(r)
}

// Get is part of Getter.
func (m *inMemory) Get(
	_ context.Context, resource schema.GroupVersionResource, subresource, namespace, name string,
) (runtime.Object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count("get", resource, subresource)
	if o := m.live[liveKey(resource, namespace, name)]; o != nil {
		return o.DeepCopyObject(), nil
	}
	return nil, apierrors.NewNotFound(resource.GroupResource(), name)
}

// lists is Cluster.ServiceCIDRs.
func (m *inMemory) lists(context.Context) (s servicecidr.Snapshot, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count("list", networkingv1.SchemeGroupVersion.WithResource("ipaddresses"), "")
	m.count("list", networkingv1.SchemeGroupVersion.WithResource("servicecidrs"), "")
	return servicecidr.Snapshot{
		IPAddresses: apiserver.List[networkingv1.IPAddress](m.server), ServiceCIDRs: apiserver.List[networkingv1.ServiceCIDR](m.server),
	}, nil
}

// happens lets something happen in the cluster, and returns what the controller requests in the hour after it.
func (m *inMemory) happens(what func()) map[string]int {
	m.mu.Lock()
	m.requests = map[string]int{}
	what()
	m.mu.Unlock()
	time.Sleep(time.Hour)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests
}
