//go:build !v137

package reports

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"
)

// What Kubernetes v1.36 and v1.37 build in different ways.

const release = "kube-controller-manager v1.36"

func newResourceClaimController(
	ctx context.Context, client kubernetes.Interface, f informers.SharedInformerFactory,
) (*resourceclaim.Controller, error) {
	features := resourceclaim.Features{AdminAccess: true, PrioritizedList: true}
	return resourceclaim.NewController(klog.FromContext(ctx), features, client,
		f.Core().V1().Pods(), nil, // no PodGroups: their feature is off
		f.Resource().V1().ResourceClaims(), f.Resource().V1().ResourceClaimTemplates())
}

func runDisruption(c *disruption.DisruptionController) func(context.Context) { return c.Run }
