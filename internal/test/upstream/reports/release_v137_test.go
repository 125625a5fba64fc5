//go:build v137

package reports

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"
)

const release = "kube-controller-manager v1.37"

func newResourceClaimController(
	ctx context.Context, client kubernetes.Interface, f informers.SharedInformerFactory,
) (*resourceclaim.Controller, error) {
	return resourceclaim.NewController(klog.FromContext(ctx), client,
		f.Core().V1().Pods(), f.Scheduling().V1beta1().PodGroups(),
		f.Resource().V1().ResourceClaims(), f.Resource().V1().ResourceClaimTemplates())
}

func runDisruption(c *disruption.DisruptionController) func(context.Context) {
	return func(ctx context.Context) { c.Run(ctx, 1) } // the default of --concurrent-disruption-syncs
}
