// Package ttl takes the place of k8s.io/kubernetes/pkg/controller/ttl.
package ttl

import (
	"context"

	informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"

	"example.com/purekube-suites/adapter"
)

type Controller = adapter.Controller

func NewTTLController(_ context.Context, _ informers.NodeInformer, client kubernetes.Interface) *Controller {
	return adapter.New("ttl", client, adapter.Options())
}
