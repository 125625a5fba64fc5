package clientgo_test

import (
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/metadata"
	fakemetadata "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/admission/webhook"
	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/internal/test/reviews"
	"github.com/purekube/purekube/purekubetest"
)

// late is an informer whose handlers see nothing before it is released.
type late struct {
	cache.SharedIndexInformer
	release chan struct{}
}

func (l late) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return l.SharedIndexInformer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(o any, initial bool) { <-l.release; h.OnAdd(o, initial) },
		UpdateFunc: h.OnUpdate, DeleteFunc: h.OnDelete,
	})
}

// The webhook refuses as long as one handler has not seen the initial list, although the caches are full; then it
// decides, and follows what is deleted.
func TestWebhook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects := []runtime.Object{
			purekubetest.ServiceCIDR("used", "10.96.0.0/24"), purekubetest.ServiceCIDR("free", "10.97.0.0/24"), purekubetest.Address("10.96.0.7", "shop/web"),
		}
		client := fake.NewClientset(objects...)
		factory := informers.NewSharedInformerFactory(client, 0)
		release := make(chan struct{})
		all := clientgo.FromFactory(factory)
		handler, err := clientgo.NewWebhook(func(o runtime.Object) (clientgo.Informer, error) {
			if _, is := o.(*networkingv1.IPAddress); is {
				return late{factory.Networking().V1().IPAddresses().Informer(), release}, nil
			}
			return all(o)
		}, noVersions(), admission.Options{}, webhook.Options{Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		way, stop := apiserver.Serve(handler)
		defer stop()
		answer := func(name, cidr string) string {
			t.Helper()
			_, _, text := reviews.Post(t, &http.Client{Transport: way}, "http://webhook", reviews.DeletesCIDR(name, cidr).Body(t, "v1"))
			return text
		}
		factory.Start(t.Context().Done())
		factory.WaitForCacheSync(t.Context().Done())
		require.Eventually(t, func() bool { // the handlers of the other kinds run a moment after their caches are full
			err := handler.Ready()
			return err != nil && err.Error() == "ipaddresses.networking.k8s.io: not listed yet"
		}, 20*time.Second, time.Millisecond)
		require.Contains(t, answer("free", "10.97.0.0/24"), `"code":503`)
		close(release)
		require.Eventually(t, func() bool { return handler.Ready() == nil }, 20*time.Second, time.Millisecond)
		require.Contains(t, answer("free", "10.97.0.0/24"), `"allowed":true`)
		require.Contains(t, answer("used", "10.96.0.0/24"), "10.96.0.7 (Service shop/web)")
		addresses := networkingv1.SchemeGroupVersion.WithResource("ipaddresses")
		require.NoError(t, client.Tracker().Delete(addresses, "", "10.96.0.7"))
		require.Eventually(t, func() bool {
			_, review, _ := reviews.Post(t, &http.Client{Transport: way}, "http://webhook", reviews.DeletesCIDR("used", "10.96.0.0/24").Body(t, "v1"))
			return review.Response.Allowed
		}, 20*time.Second, time.Millisecond, "the address that is gone is not in the way")
	})
}

// The handler of docs/webhook.md is ready once it has seen the objects.
func TestWebhookOfThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		factory := informers.NewSharedInformerFactory(fake.NewClientset(purekubetest.ServiceCIDR("free", "10.97.0.0/24")), 0)
		handler, err := decide(t.Context(), factory, noVersions(), admission.Options{})
		require.NoError(t, err)
		way, stop := apiserver.Serve(handler)
		defer stop()
		client := &http.Client{Transport: way}
		ready := func() bool {
			response, err := client.Get("http://webhook/readyz")
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			return response.StatusCode == http.StatusOK
		}
		require.False(t, ready())
		factory.Start(t.Context().Done())
		require.Eventually(t, ready, 20*time.Second, time.Millisecond)
		_, review, text := reviews.Post(t, client, "http://webhook/validate", reviews.DeletesCIDR("free", "10.97.0.0/24").Body(t, "v1"))
		require.True(t, review.Response.Allowed, text)
	})
}

// noVersions is a client that knows nothing.
func noVersions() metadata.Interface {
	return fakemetadata.NewSimpleMetadataClient(fakemetadata.NewTestScheme())
}

// A webhook that could not see, or not say how old what it sees is, decides nothing.
func TestWebhookWithoutInformers(t *testing.T) {
	_, err := clientgo.NewWebhook(nil, noVersions(), admission.Options{}, webhook.Options{})
	require.ErrorContains(t, err, "no Informers")
	all := clientgo.FromFactory(informers.NewSharedInformerFactory(fake.NewClientset(), 0))
	_, err = clientgo.NewWebhook(all, nil, admission.Options{}, webhook.Options{})
	require.ErrorContains(t, err, "no client for resourceVersions")
	missing := errors.New("missing")
	_, err = clientgo.NewWebhook(func(o runtime.Object) (clientgo.Informer, error) {
		if _, is := o.(*rbacv1.ClusterRole); is {
			return nil, missing
		}
		return all(o)
	}, noVersions(), admission.Options{}, webhook.Options{})
	require.ErrorIs(t, err, missing)
	_, err = clientgo.NewWebhook(func(o runtime.Object) (clientgo.Informer, error) {
		informer, err := all(o)
		return struct{ clientgo.Informer }{informer}, err
	}, noVersions(), admission.Options{}, webhook.Options{})
	require.ErrorContains(t, err, "servicecidrs.networking.k8s.io: its informer has no LastSyncResourceVersion")
}
