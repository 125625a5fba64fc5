package clientgo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/admission/memory"
	"github.com/purekube/purekube/admission/webhook"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/servicecidr"
)

const (
	// maxPages is how many pages a list for a review has at most: 125,000 objects. The API server waits for the answer.
	maxPages = 250
	// maxListing is how many reviews have a list in memory at the same time.
	maxListing = 2
)

// reviewed are the kinds that evictions and budgets are decided by.
var reviewed = []runtime.Object{
	&policyv1.PodDisruptionBudget{}, &corev1.Pod{},
	&corev1.ReplicationController{}, &appsv1.ReplicaSet{}, &appsv1.Deployment{}, &appsv1.StatefulSet{},
}

// Webhook is a handler that answers admission reviews with the decisions of package admission.
//
// A deletion of a ServiceCIDR and a write of a ClusterRole are rare, and nothing checks them again. So they are decided by
// lists that are made for the review: one request for each 500 objects. Two reviews list at the same time; others wait. A
// review is refused if a list fails, does not end in time or has more than 125,000 objects.
//
// Evictions and writes of budgets are decided by what informers show, without a request. The API server checks the status of
// the budget again after a review of an eviction.
type Webhook struct {
	http.Handler
	client  kubernetes.Interface
	options admission.Options
	store   *memory.Store
	caches  []reviewedCache
	listing chan struct{}
}

// reviewedCache is what the informer of one kind shows.
type reviewedCache struct {
	resource schema.GroupResource
	synced   func() bool // reports whether the handler has seen the listed objects
}

var errNotListed = errors.New("not listed yet")

// NewWebhook returns a Webhook. Start the informers afterwards, and serve it by TLS. The client makes the lists; a rate limit
// of the client delays reviews.
func NewWebhook(informers Informers, client kubernetes.Interface, o admission.Options, w webhook.Options) (*Webhook, error) {
	switch {
	case informers == nil:
		return nil, errNoInformers
	case client == nil:
		return nil, errNoClient
	}
	h := &Webhook{client: client, options: o, store: memory.NewStore(memory.Options{}), listing: make(chan struct{}, maxListing)}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { h.store.Put(o.(runtime.Object)) },
		UpdateFunc: func(_, o any) { h.store.Put(o.(runtime.Object)) },
		DeleteFunc: func(o any) {
			if missed, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = missed.Obj
			}
			h.store.Remove(o.(runtime.Object))
		},
	}
	for _, kind := range reviewed {
		resource, err := resourceOf(kind)
		if err != nil {
			return nil, err
		}
		informer, err := informers(kind)
		if err != nil {
			return nil, err
		}
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			return nil, err
		}
		h.caches = append(h.caches, reviewedCache{resource.GroupResource(), registration.HasSynced})
	}
	h.Handler = webhook.New(h.decide, w)
	return h, nil
}

// Ready is an error until every event handler has seen the initial list. The handler then refuses evictions and writes of
// budgets. Make the readiness check of it.
func (h *Webhook) Ready() error {
	for _, c := range h.caches {
		if !c.synced() {
			return fmt.Errorf("%s: %w", c.resource, errNotListed)
		}
	}
	return nil
}

// decide answers a request.
func (h *Webhook) decide(ctx context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	var list func(context.Context) (admission.Indexes, error)
	switch {
	case admission.ReadsServiceCIDRs(r):
		list = h.serviceCIDRs
	case admission.ReadsClusterRoles(r, h.options.ClusterRoles):
		list = h.clusterRoles
	default:
		return h.store.Review(r, h.Ready() == nil, time.Now(), h.options)
	}
	select {
	case h.listing <- struct{}{}:
		defer func() { <-h.listing }()
	case <-ctx.Done():
		return admission.NotNow(r, "the webhook still lists objects for other reviews")
	}
	listed, err := list(ctx)
	switch {
	case errors.Is(err, errTooLong):
		return admission.Failed(r, "the review is refused: "+err.Error())
	case err != nil:
		return admission.NotNow(r, "the review is refused: "+err.Error())
	}
	return admission.Decide(listed, r, h.options)
}

func (h *Webhook) serviceCIDRs(ctx context.Context) (admission.Indexes, error) {
	s, err := listServiceCIDRs(ctx, h.client, maxPages)
	return admission.Indexes{ServiceCIDRs: servicecidr.NewIndex(s, servicecidr.Options{})}, err
}

func (h *Webhook) clusterRoles(ctx context.Context) (admission.Indexes, error) {
	s, err := listClusterRoles(ctx, h.client, maxPages)
	return admission.Indexes{ClusterRoles: rbacaggregate.NewIndex(s, rbacaggregate.Options{})}, err
}
