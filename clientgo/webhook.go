package clientgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/admission/memory"
	"github.com/purekube/purekube/admission/webhook"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/servicecidr"
)

// maxPages is how many pages a list for a review has at most: 125,000 objects. The API server waits for the answer.
const maxPages = 250

// reviewed are the kinds that evictions and budgets are decided by.
var reviewed = []runtime.Object{
	&policyv1.PodDisruptionBudget{}, &corev1.Pod{},
	&corev1.ReplicationController{}, &appsv1.ReplicaSet{}, &appsv1.Deployment{}, &appsv1.StatefulSet{},
}

// Webhook is a handler that answers admission reviews with the decisions of package admission.
//
// A deletion of a ServiceCIDR and a write of a ClusterRole are rare, and nothing checks them again. So they are decided
// by lists that are made for the review: one request for each 500 objects. They take turns, one deletion and one write
// at a time. A review is refused if a list fails, does not end in time or has more than 125,000 objects.
//
// An allowed deletion of a ServiceCIDR counts for the reviews that follow, until a list shows it, for two minutes at
// most. Replicas of the webhook do not know of each other's: two deletions that two replicas allow at the same moment
// may leave an address without a range (D-1 of docs/divergences.md). NewServiceCIDR keeps the last range.
//
// Evictions and writes of budgets are decided by what informers show, without a request. The API server checks the
// status of the budget again after a review of an eviction.
type Webhook struct {
	http.Handler
	client  kubernetes.Interface
	options admission.Options
	store   *memory.Store
	caches  []reviewedCache
	// A review that lists has the place in one of these, so that few lists are in memory.
	deletionTurn, roleTurn chan struct{}
	deletions              deletions // of the review that has the deletionTurn
}

// reviewedCache is what the informer of one kind shows.
type reviewedCache struct {
	resource schema.GroupResource
	synced   func() bool // reports whether the handler has seen the listed objects
}

var errNotListed = errors.New("not listed yet: have the informers been started?")

// NewWebhook returns a Webhook. Start the informers afterwards, and serve it by TLS. The client makes the lists; a rate
// limit of the client delays reviews.
func NewWebhook(
	informers Informers, client kubernetes.Interface, o admission.Options, w webhook.Options,
) (*Webhook, error) {
	switch {
	case informers == nil:
		return nil, errNoInformers
	case client == nil:
		return nil, errNoClient
	}
	h := &Webhook{
		client: client, options: o, store: memory.NewStore(memory.Options{}),
		deletionTurn: make(chan struct{}, 1), roleTurn: make(chan struct{}, 1), deletions: deletions{},
	}
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

// Ready is an error until every event handler has seen the initial list. The handler then refuses evictions and writes
// of budgets. Use it as the readiness check.
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
	switch {
	case admission.ReadsServiceCIDRs(r):
		return inTurn(ctx, r, h.deletionTurn, h.serviceCIDRDelete)
	case admission.ReadsClusterRoles(r, h.options.ClusterRoles):
		return inTurn(ctx, r, h.roleTurn, h.clusterRoleWrite)
	}
	return h.store.Review(r, h.Ready() == nil, time.Now(), h.options)
}

// inTurn decides when it is the turn of the review, or refuses it.
func inTurn(
	ctx context.Context, r *admissionv1.AdmissionRequest, turn chan struct{},
	decide func(context.Context, *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error),
) *admissionv1.AdmissionResponse {
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return admission.NotNow(r, "the webhook still lists objects for other reviews")
	}
	response, err := decide(ctx, r)
	switch {
	case errors.Is(err, errTooLong):
		return admission.Failed(r, "the review is refused: "+err.Error())
	case err != nil:
		return admission.NotNow(r, "the review is refused: "+err.Error())
	}
	return response
}

func (h *Webhook) serviceCIDRDelete(
	ctx context.Context, r *admissionv1.AdmissionRequest,
) (*admissionv1.AdmissionResponse, error) {
	s, err := listServiceCIDRs(ctx, h.client, maxPages)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	h.deletions.mark(s.ServiceCIDRs, now)
	response := admission.ServiceCIDRDelete(servicecidr.NewIndex(s, servicecidr.Options{}), r)
	if response.Allowed && !ptr.Deref(r.DryRun, false) {
		return response, h.deletions.add(r, now)
	}
	return response, nil
}

func (h *Webhook) clusterRoleWrite(
	ctx context.Context, r *admissionv1.AdmissionRequest,
) (*admissionv1.AdmissionResponse, error) {
	s, err := listClusterRoles(ctx, h.client, maxPages)
	if err != nil {
		return nil, err
	}
	return admission.ClusterRoleWrite(rbacaggregate.NewIndex(s, rbacaggregate.Options{}), r, h.options.ClusterRoles), nil
}

// deletions are the ServiceCIDRs whose deletion was allowed, by UID, and when. The next list may not show that yet. Of
// two ServiceCIDRs that are the only ranges of an address, kube-controller-manager lets both go if both are being
// deleted (D-1).
type deletions map[types.UID]time.Time

// assumeDeletionFor: by then the API server has deleted what was allowed, or never does. Its --request-timeout is a
// minute, unless it is told otherwise.
const assumeDeletionFor = 2 * time.Minute

// mark gives a deletionTimestamp to each listed ServiceCIDR whose deletion was allowed and is not shown yet. It forgets
// all other deletions.
func (d deletions) mark(listed []*networkingv1.ServiceCIDR, now time.Time) {
	open := deletions{}
	for _, cidr := range listed {
		at, allowed := d[cidr.UID]
		if allowed && cidr.DeletionTimestamp == nil && now.Sub(at) < assumeDeletionFor {
			open[cidr.UID], cidr.DeletionTimestamp = at, &metav1.Time{Time: at}
		}
	}
	clear(d)
	maps.Copy(d, open)
}

// add remembers the deletion that a request is for.
func (d deletions) add(r *admissionv1.AdmissionRequest, now time.Time) error {
	var cidr metav1.PartialObjectMetadata
	if err := json.Unmarshal(r.OldObject.Raw, &cidr); err != nil {
		return err
	}
	d[cidr.UID] = now
	return nil
}
