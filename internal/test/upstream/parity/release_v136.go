//go:build !v137

package parity

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"

	"github.com/purekube/purekube"
	claims "github.com/purekube/purekube/resourceclaim"
)

// What Kubernetes v1.36 and v1.37 build in different ways. v1.37.mod goes with the tag v137.

// Release is what the real controllers here are built from.
const Release = purekube.V1_36

// TestFlags are what go test needs to build them, in the folder of the module.
const TestFlags = ""

// resourceClaimFeatures are the switches of the controller. PodGroups are compared from v1.37 on.
type resourceClaimFeatures struct{ AdminAccess, PrioritizedList, PodGroups bool }

// podGroupObjects are the groups as the API has them.
func podGroupObjects(groups []claims.PodGroup) []runtime.Object {
	if len(groups) > 0 {
		panic("PodGroups are compared from v1.37 on")
	}
	return nil
}

// releaseKinds are the kinds that caches have in addition to the kinds of every release.
func releaseKinds() []runtime.Object { return nil }

// featuresCanBeOff: a snapshot may come with them off.
const featuresCanBeOff = true

func runResourceClaim(ctx context.Context, w *World, features resourceClaimFeatures) (func(context.Context), error) {
	c, err := resourceclaim.NewController(klog.FromContext(ctx),
		resourceclaim.Features{AdminAccess: features.AdminAccess, PrioritizedList: features.PrioritizedList}, w.Client,
		w.Informers.Core().V1().Pods(), nil, // no PodGroups: their feature is off
		w.Informers.Resource().V1().ResourceClaims(), w.Informers.Resource().V1().ResourceClaimTemplates())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { c.Run(ctx, w.Workers) }, nil
}

// runDisruption is the Run of the disruption controller, with as many workers as the world says.
func runDisruption(c *disruption.DisruptionController, _ *World) func(context.Context) { return c.Run }
