//go:build v137

package parity

import (
	"context"
	"errors"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"

	"github.com/purekube/purekube"
)

// release is what the real controllers here are built from.
const release = purekube.V1_37

// testFlags are what go test needs to build them.
const testFlags = "-tags v137 -modfile v1.37.mod "

// resourceClaimFeatures are the switches that the controller had: v1.37 has both of them on for good.
type resourceClaimFeatures struct{ AdminAccess, PrioritizedList bool }

const featuresCanBeOff = false

func runResourceClaim(ctx context.Context, w *World, features resourceClaimFeatures) (func(context.Context), error) {
	if !features.AdminAccess || !features.PrioritizedList {
		return nil, errors.New("these features cannot be off any more")
	}
	c, err := resourceclaim.NewController(klog.FromContext(ctx), w.Client,
		w.Informers.Core().V1().Pods(), nil, // no PodGroups: their feature is off
		w.Informers.Resource().V1().ResourceClaims(), w.Informers.Resource().V1().ResourceClaimTemplates())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { c.Run(ctx, w.Workers) }, nil
}

// RunDisruption is the Run of the disruption controller, with as many workers as the world says.
func RunDisruption(c *disruption.DisruptionController, w *World) func(context.Context) {
	return func(ctx context.Context) { c.Run(ctx, w.Workers) }
}
