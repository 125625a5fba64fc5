package clientgo

import (
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
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

// NewWebhook returns a handler that answers admission reviews with the decisions of package admission, by what the informers
// show. Start the informers afterwards, and serve the handler by TLS.
//
// synced reports whether every event handler has seen the initial list: make the readiness check of it. Until then the
// handler refuses what it would decide. Informers do not tell when a watch has been silent for long; until its connection
// breaks, the handler decides by what it saw last.
func NewWebhook(informers Informers, o admission.Options, w webhook.Options) (h http.Handler, synced func() bool, err error) {
	if informers == nil {
		return nil, nil, errNoInformers
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
	var all []cache.InformerSynced
	for _, kind := range reviewed {
		informer, err := informers(kind)
		if err != nil {
			return nil, nil, err
		}
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, registration.HasSynced)
	}
	synced = func() bool {
		for _, synced := range all {
			if !synced() {
				return false
			}
		}
		return true
	}
	return webhook.New(func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return store.Review(r, synced(), time.Now(), o)
	}, w), synced, nil
}
