// Package servicecidrs takes the place of k8s.io/kubernetes/pkg/controller/servicecidrs.
package servicecidrs

import (
	"context"

	informers "k8s.io/client-go/informers/networking/v1"
	"k8s.io/client-go/kubernetes"

	"example.com/purekube-suites/adapter"
)

const ServiceCIDRProtectionFinalizer = "networking.k8s.io/service-cidr-finalizer"

type Controller = adapter.Controller

func NewController(_ context.Context, _ informers.ServiceCIDRInformer, _ informers.IPAddressInformer, client kubernetes.Interface) *Controller {
	return adapter.New("servicecidr", client, adapter.Options())
}
