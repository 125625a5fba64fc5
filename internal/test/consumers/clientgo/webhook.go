package clientgo

import (
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/admission/memory"
	"github.com/purekube/purekube/admission/webhook"
)

// NewWebhook returns a handler for reviews, and whether every event handler has seen the initial list. Start the factory
// afterwards. Until synced returns true the handler refuses.
func NewWebhook(factory informers.SharedInformerFactory, o admission.Options) (h http.Handler, synced func() bool, err error) {
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
	for _, informer := range []cache.SharedIndexInformer{
		factory.Networking().V1().ServiceCIDRs().Informer(), factory.Networking().V1().IPAddresses().Informer(),
		factory.Rbac().V1().ClusterRoles().Informer(), factory.Policy().V1().PodDisruptionBudgets().Informer(),
		factory.Core().V1().Pods().Informer(), factory.Core().V1().ReplicationControllers().Informer(),
		factory.Apps().V1().ReplicaSets().Informer(), factory.Apps().V1().Deployments().Informer(), factory.Apps().V1().StatefulSets().Informer(),
	} {
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
	}, webhook.Options{}), synced, nil
}
