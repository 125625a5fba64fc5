// Package disruption takes the place of k8s.io/kubernetes/pkg/controller/disruption.
package disruption

import (
	"context"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	policyinformers "k8s.io/client-go/informers/policy/v1"
	"k8s.io/client-go/kubernetes"
	scaleclient "k8s.io/client-go/scale"
	"k8s.io/utils/clock"

	"example.com/purekube-suites/adapter"
	"github.com/purekube/purekube/disruption"
)

type DisruptionController struct{ controller *adapter.Controller }

func (c *DisruptionController) Run(ctx context.Context) { c.controller.Run(ctx, 1) }

func NewDisruptionController(ctx context.Context, pods coreinformers.PodInformer, budgets policyinformers.PodDisruptionBudgetInformer,
	controllers coreinformers.ReplicationControllerInformer, replicaSets appsinformers.ReplicaSetInformer, deployments appsinformers.DeploymentInformer,
	statefulSets appsinformers.StatefulSetInformer, client kubernetes.Interface, mapper apimeta.RESTMapper, scales scaleclient.ScalesGetter,
	resources discovery.DiscoveryInterface) *DisruptionController {
	return NewDisruptionControllerInternal(ctx, pods, budgets, controllers, replicaSets, deployments, statefulSets, client, mapper, scales, resources,
		clock.RealClock{}, disruption.DefaultStaleDisruptionTimeout)
}

func NewDisruptionControllerInternal(_ context.Context, pods coreinformers.PodInformer, _ policyinformers.PodDisruptionBudgetInformer,
	_ coreinformers.ReplicationControllerInformer, _ appsinformers.ReplicaSetInformer, _ appsinformers.DeploymentInformer,
	_ appsinformers.StatefulSetInformer, client kubernetes.Interface, _ apimeta.RESTMapper, _ scaleclient.ScalesGetter,
	_ discovery.DiscoveryInterface, _ clock.WithTicker, stale time.Duration) *DisruptionController {
	pods.Informer() // which the tests read, and expect to be started with the informers of the controller
	o := adapter.Options()
	o.Disruption.StaleDisruptionTimeout = &stale
	return &DisruptionController{adapter.New("disruption", client, o)}
}
