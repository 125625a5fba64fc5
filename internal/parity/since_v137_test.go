//go:build v137

package parity

import (
	"context"
	"fmt"

	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"
)

// resourceClaimFeatures are the switches of the controller, which v1.37 takes from the process.
type resourceClaimFeatures struct{ AdminAccess, PrioritizedList bool }

func runResourceClaim(ctx context.Context, w *World, features resourceClaimFeatures) (func(context.Context), error) {
	err := feature.DefaultMutableFeatureGate.Set(
		fmt.Sprintf("DRAAdminAccess=%v,DRAPrioritizedList=%v", features.AdminAccess, features.PrioritizedList))
	if err != nil {
		return nil, err
	}
	c, err := resourceclaim.NewController(klog.FromContext(ctx), w.Client,
		w.Informers.Core().V1().Pods(), nil, // no PodGroups: their feature is off
		w.Informers.Resource().V1().ResourceClaims(), w.Informers.Resource().V1().ResourceClaimTemplates())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { c.Run(ctx, w.Workers) }, nil
}

func runDisruption(c *disruption.DisruptionController, w *World) func(context.Context) {
	return func(ctx context.Context) { c.Run(ctx, w.Workers) }
}
