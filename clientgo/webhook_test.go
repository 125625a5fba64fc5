package clientgo_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/admission/webhook"
	"github.com/purekube/purekube/clientgo"
	purefake "github.com/purekube/purekube/clientgo/fake"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/internal/test/reviews"
	"github.com/purekube/purekube/purekubetest"
)

var (
	secrets  = rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}}
	webPods  = purekubetest.Deployment("shop/web", 2).Pods
	ofUsed   = reviews.DeletesCIDR("used", "10.96.0.0/24")
	toView   = reviews.WritesRole(nil, reviews.Role("team", "to-view", secrets))
	protects = admission.Options{ClusterRoles: admission.ClusterRoleOptions{Allowed: reviews.Protected}}
	silent   = webhook.Options{Log: slog.New(slog.DiscardHandler)}
	asJSON   = rest.ContentConfig{ContentType: "application/json"} // package apiserver reads nothing else
)

// reviewing is a webhook whose lists are answered by a handler, and whose caches have the objects of package reviews.
type reviewing struct {
	hook    *clientgo.Webhook
	client  kubernetes.Interface // of the handler
	way     http.RoundTripper    // to the webhook
	release chan struct{}        // closed when the webhook is to see pods
}

// late is an informer whose handlers see nothing before it is released.
type late struct {
	cache.SharedIndexInformer
	release chan struct{}
	ends    <-chan struct{}
}

func (l late) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return l.SharedIndexInformer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(o any, initial bool) {
			select {
			case <-l.release:
			case <-l.ends:
			}
			h.OnAdd(o, initial)
		},
		UpdateFunc: h.OnUpdate, DeleteFunc: h.OnDelete,
	})
}

// newReviewing makes a webhook, in a bubble of synctest. Pods are shown to it when release is closed.
func newReviewing(t *testing.T, lists http.Handler) *reviewing {
	t.Helper()
	toLists, stop := apiserver.Serve(lists)
	t.Cleanup(stop)
	client, err := kubernetes.NewForConfigAndClient(&rest.Config{Host: "http://memory", QPS: -1, ContentConfig: asJSON}, &http.Client{Transport: toLists})
	require.NoError(t, err)
	var cached []runtime.Object
	for _, o := range reviews.Cluster() {
		switch o.(type) {
		case *networkingv1.ServiceCIDR, *networkingv1.IPAddress, *rbacv1.ClusterRole: // no cache has them
		default:
			cached = append(cached, o)
		}
	}
	r := &reviewing{client: client, release: make(chan struct{})}
	factory := informers.NewSharedInformerFactory(fake.NewClientset(cached...), 0)
	all := clientgo.FromFactory(factory)
	r.hook, err = clientgo.NewWebhook(func(o runtime.Object) (clientgo.Informer, error) {
		switch o.(type) {
		case *networkingv1.ServiceCIDR, *networkingv1.IPAddress, *rbacv1.ClusterRole:
			return nil, fmt.Errorf("an informer for a %T", o)
		case *corev1.Pod:
			return late{factory.Core().V1().Pods().Informer(), r.release, t.Context().Done()}, nil
		}
		return all(o)
	}, client, protects, silent)
	require.NoError(t, err)
	way, stopHook := apiserver.Serve(r.hook)
	t.Cleanup(stopHook)
	r.way = way
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	return r
}

// ready shows the pods to the webhook.
func (r *reviewing) ready(t *testing.T) {
	t.Helper()
	close(r.release)
	synctest.Wait()
	require.NoError(t, r.hook.Ready())
}

// answer posts a review with the timeout of an API server.
func (r *reviewing) answer(t *testing.T, timeout string, review reviews.Request) *admissionv1.AdmissionResponse {
	t.Helper()
	code, answer, text := reviews.Post(t, &http.Client{Transport: r.way}, "http://webhook/?timeout="+timeout, review.Body(t, "v1"))
	require.Equal(t, http.StatusOK, code, text)
	return answer.Response
}

// refused requires a refusal with this code and a message with this part.
func (r *reviewing) refused(t *testing.T, review reviews.Request, code int, part string) {
	t.Helper()
	answer := r.answer(t, "10s", review)
	require.False(t, answer.Allowed)
	require.EqualValues(t, code, answer.Result.Code, answer.Result.Message)
	require.Contains(t, answer.Result.Message, part)
}

// allowed requires that a review is allowed.
func (r *reviewing) allowed(t *testing.T, review reviews.Request) {
	t.Helper()
	answer := r.answer(t, "10s", review)
	require.True(t, answer.Allowed, answer.Result)
}

// api is an API server with the objects of package reviews.
type api struct {
	apiserver.Handler
	mu       sync.Mutex
	requests []string
}

// newAPI asks before about each request: its number, verb and resource.
func newAPI(t *testing.T, before func(n int, request string) error) *api {
	t.Helper()
	a := &api{}
	a.Server = apiserver.New()
	for _, o := range reviews.Cluster() {
		a.Server.Put(o.(apiserver.Object))
	}
	a.Allow = func(r purekube.Request) error {
		a.mu.Lock()
		request := r.Verb + " " + r.Resource.Resource
		a.requests = append(a.requests, request)
		n := len(a.requests)
		a.mu.Unlock()
		return before(n, request)
	}
	return a
}

func anyRequest(int, string) error { return nil }

// The webhook decides evictions by its caches, and refuses them as long as one handler has not seen the initial list. An
// eviction asks the API server nothing.
func TestWebhookEvictions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, anyRequest)
		r := newReviewing(t, a)
		synctest.Wait()
		require.EqualError(t, r.hook.Ready(), "pods: not listed yet: have the informers been started?")
		r.refused(t, reviews.Evicts(webPods[0].Name), http.StatusTooManyRequests, "still reading the objects")
		r.ready(t)
		r.refused(t, reviews.Evicts("db-1"), http.StatusTooManyRequests, "disruption budget")
		r.allowed(t, reviews.Evicts(webPods[0].Name))
		r.refused(t, reviews.Evicts(webPods[1].Name), http.StatusTooManyRequests, "disruption budget")
		warned := r.answer(t, "10s", reviews.WritesBudget(purekubetest.MaxUnavailable("shop/web", "0")))
		require.Len(t, warned.Warnings, 1)
		require.Empty(t, a.requests)
	})
}

// ServiceCIDRs and ClusterRoles are judged as they are when the review arrives, whatever the webhook listed before and
// whatever its caches have. A request whose answer depends on none makes no list.
func TestWebhookLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, anyRequest)
		r := newReviewing(t, a)
		r.refused(t, ofUsed, http.StatusConflict, "10.96.0.7 (Service shop/web)")
		free := reviews.DeletesCIDR("free", "10.97.0.0/24")
		r.allowed(t, free)
		_, err := r.client.NetworkingV1().IPAddresses().Create(t.Context(), purekubetest.Address("10.97.0.1", "shop/new"), metav1.CreateOptions{})
		require.NoError(t, err)
		r.refused(t, free, http.StatusConflict, "10.97.0.1 (Service shop/new)")
		_, err = r.client.NetworkingV1().ServiceCIDRs().Create(t.Context(), purekubetest.ServiceCIDR("twin", "10.97.0.0/24"), metav1.CreateOptions{})
		require.NoError(t, err)
		free.DryRun = true
		r.allowed(t, free)

		r.refused(t, toView, http.StatusForbidden, "ClusterRole view would get")
		require.NoError(t, r.client.RbacV1().ClusterRoles().Delete(t.Context(), "view", metav1.DeleteOptions{}))
		r.allowed(t, toView)
		_, err = r.client.RbacV1().ClusterRoles().Create(t.Context(), purekubetest.AggregatedRole("view", "to-view"), metav1.CreateOptions{})
		require.NoError(t, err)
		toView.DryRun = true
		r.refused(t, toView, http.StatusForbidden, "ClusterRole view would get")

		a.requests = nil
		created, status, oldVersion := ofUsed, ofUsed, ofUsed
		created.Operation, status.Subresource, oldVersion.Version = admissionv1.Create, "status", "v1beta1"
		for _, review := range []reviews.Request{
			created, status, oldVersion, reviews.WritesRole(reviews.Role("team", "to-view", secrets), nil),
			{Group: "apps", Resource: "deployments", Operation: admissionv1.Delete},
		} {
			_ = r.answer(t, "10s", review)
		}
		require.Empty(t, a.requests)
	})
}

// Of two equal ServiceCIDRs that are in use, each may go while the other one stays. As long as no list shows the deletion
// of the first one, the deletion of the second one is refused, for two minutes.
func TestWebhookTwoDeletionsThatNoListShows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, anyRequest)
		used, twin := purekubetest.ServiceCIDR("used", "10.96.0.0/24"), purekubetest.ServiceCIDR("twin", "10.96.0.0/24")
		used.UID, twin.UID = "u", "t"
		a.Server.Put(used)
		a.Server.Put(twin)
		r := newReviewing(t, a)
		ofUsed, ofTwin := reviews.DeletesCIDR("used", "10.96.0.0/24"), reviews.DeletesCIDR("twin", "10.96.0.0/24")
		ofUsed.OldObject, ofTwin.OldObject = used, twin
		ofUsed.DryRun, ofTwin.DryRun = true, true
		r.allowed(t, ofUsed)
		r.allowed(t, ofTwin) // a dry run deletes nothing
		ofUsed.DryRun = false
		r.allowed(t, ofUsed)
		r.refused(t, ofTwin, http.StatusConflict, "ServiceCIDR twin is the only range of 10.96.0.7")
		r.allowed(t, ofUsed) // it is asked for again
		time.Sleep(2*time.Minute - time.Second)
		r.refused(t, ofTwin, http.StatusConflict, "is the only range")
		time.Sleep(time.Second)
		r.allowed(t, ofTwin) // something else has refused the deletion of used

		ofTwin.DryRun = false
		var allowed atomic.Int32
		var asking sync.WaitGroup
		for _, review := range []reviews.Request{ofUsed, ofTwin} {
			asking.Go(func() {
				if r.answer(t, "10s", review).Allowed {
					allowed.Add(1)
				}
			})
		}
		asking.Wait()
		require.EqualValues(t, 1, allowed.Load(), "of two at the same time")
	})
}

// A review is refused if one of its lists fails, on whatever page, or if it ends too late.
func TestWebhookListsThatFail(t *testing.T) {
	resource := schema.GroupResource{Resource: "things"}
	for name, failure := range map[string]error{
		"403": apierrors.NewForbidden(resource, "", errors.New("why")), "410": apierrors.NewResourceExpired("why"), "429": apierrors.NewTooManyRequests("why", 0),
		"500": apierrors.NewInternalError(errors.New("why")), "503": apierrors.NewServiceUnavailable("why"),
	} {
		for request, review := range map[string]reviews.Request{"list ipaddresses": ofUsed, "list servicecidrs": ofUsed, "list clusterroles": toView} {
			for page := range 2 {
				t.Run(fmt.Sprintf("%s for page %d of %s", name, page, request), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						asked := 0
						a := newAPI(t, func(_ int, r string) error {
							if r == request {
								asked++
								if asked > page {
									return failure
								}
							}
							return nil
						})
						for i := range 501 { // two pages each
							name := fmt.Sprintf("more-%d", i)
							a.Server.Put(purekubetest.ServiceCIDR(name, fmt.Sprintf("10.98.%d.0/28", i%250)))
							a.Server.Put(purekubetest.ClusterRole(name))
							a.Server.Put(purekubetest.Address(fmt.Sprintf("10.98.%d.%d", i/250, 1+i%250), "shop/more"))
						}
						kinds := map[string]string{"list ipaddresses": "list IPAddresses: ", "list servicecidrs": "list ServiceCIDRs: ", "list clusterroles": "list ClusterRoles: "}
						r := newReviewing(t, a)
						r.refused(t, review, http.StatusServiceUnavailable, "the review is refused: "+kinds[request])
						r.refused(t, review, http.StatusServiceUnavailable, "why")
					})
				})
			}
		}
	}
	for request, review := range map[string]reviews.Request{"list servicecidrs": ofUsed, "list clusterroles": toView} {
		t.Run("no answer to "+request, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hang := make(chan struct{})
				defer close(hang)
				r := newReviewing(t, newAPI(t, func(_ int, r string) error {
					if r == request {
						<-hang
					}
					return nil
				}))
				began := time.Now()
				r.refused(t, review, http.StatusServiceUnavailable, "could not decide in time")
				require.Equal(t, 9*time.Second, time.Since(began))
			})
		})
	}
}

// One deletion and one write list at a time. Another review waits, and is refused in time; reviews of evictions go on. When
// a list ends, the next one begins.
func TestWebhookListsOfManyReviews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		a := newAPI(t, func(int, string) error { <-hang; return nil })
		r := newReviewing(t, a)
		r.ready(t)
		var asking sync.WaitGroup
		for _, review := range []reviews.Request{ofUsed, toView} {
			asking.Go(func() { require.False(t, r.answer(t, "20s", review).Allowed) })
		}
		synctest.Wait()
		require.Len(t, a.requests, 2)
		began := time.Now()
		r.refused(t, reviews.DeletesCIDR("free", "10.97.0.0/24"), http.StatusServiceUnavailable, "try again")
		require.Equal(t, 9*time.Second, time.Since(began))
		require.Len(t, a.requests, 2, "it has not listed")
		r.allowed(t, reviews.Evicts(webPods[0].Name))
		require.Equal(t, 9*time.Second, time.Since(began))
		close(hang)
		asking.Wait()
		r.allowed(t, reviews.DeletesCIDR("free", "10.97.0.0/24"))
	})
}

// manyAddresses lists so many IPAddresses, no ServiceCIDRs and so many ClusterRoles, and counts requests.
type manyAddresses struct{ addresses, roles, requests int }

func (m *manyAddresses) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.requests++
	kind, all := "ServiceCIDRList", 0
	switch {
	case strings.HasSuffix(r.URL.Path, "/ipaddresses"):
		kind, all = "IPAddressList", m.addresses
	case strings.HasSuffix(r.URL.Path, "/clusterroles"):
		kind, all = "ClusterRoleList", m.roles
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	meta, items := map[string]any{"resourceVersion": "1"}, []any{}
	for i := from; i < min(from+limit, all); i++ {
		name := fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255)
		items = append(items, map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{"parentRef": map[string]any{"resource": "services", "name": "s", "namespace": "shop"}}})
	}
	if from+limit < all {
		meta["continue"] = strconv.Itoa(from + limit)
	}
	version := strings.TrimPrefix(r.URL.Path[:strings.LastIndex(r.URL.Path, "/")], "/apis/")
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": version, "kind": kind, "metadata": meta, "items": items})
}

// A review takes one request for each 500 objects, and more than 250 of them are too many.
func TestWebhookRequestsOfAReview(t *testing.T) {
	outside := reviews.DeletesCIDR("free", "192.168.0.0/24")
	for _, tc := range []struct {
		name     string
		many     manyAddresses
		review   reviews.Request
		requests int
		message  string
	}{
		{"10,000 addresses", manyAddresses{addresses: 10_000}, outside, 20 + 1, ""},
		{"100,000 addresses", manyAddresses{addresses: 100_000}, outside, 200 + 1, ""},
		{"125,000 addresses", manyAddresses{addresses: 125_000}, outside, 250 + 1, ""},
		{"125,001 addresses", manyAddresses{addresses: 125_001}, outside, 250, "the review is refused: list IPAddresses: too many objects: more than 125000"},
		{"1,000 ClusterRoles", manyAddresses{roles: 1_000}, toView, 2, ""},
		{"125,001 ClusterRoles", manyAddresses{roles: 125_001}, toView, 250, "the review is refused: list ClusterRoles: too many objects: more than 125000"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReviewing(t, &tc.many)
				if tc.message == "" {
					r.allowed(t, tc.review)
				} else {
					r.refused(t, tc.review, http.StatusInternalServerError, tc.message)
				}
				require.Equal(t, tc.requests, tc.many.requests)
			})
		})
	}
}

// The handler of docs/webhook.md is ready once it has seen the objects.
func TestWebhookOfThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := purefake.NewClientset(purekubetest.ServiceCIDR("free", "10.97.0.0/24"))
		factory := informers.NewSharedInformerFactory(kube, 0)
		handler, err := decide(factory, kube, admission.Options{})
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
