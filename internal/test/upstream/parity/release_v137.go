//go:build v137

package parity

import (
	"context"
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"

	"github.com/purekube/purekube"
	claims "github.com/purekube/purekube/resourceclaim"
)

// Release is what the real controllers here are built from.
const Release = purekube.V1_37

// TestFlags are what go test needs to build them, in the folder of the module.
const TestFlags = "-tags v137 -modfile v1.37.mod "

// resourceClaimFeatures are the switches that the controller had: v1.37 has the first two on for good.
type resourceClaimFeatures struct{ AdminAccess, PrioritizedList, PodGroups bool }

// podGroupObjects are the groups as the API has them. Their type is made by its name: to import its
// package would be an error where k8s.io/api is v0.36, which go mod tidy looks at too.
func podGroupObjects(groups []claims.PodGroup) []runtime.Object {
	var objects []runtime.Object
	for _, g := range groups {
		metadata := map[string]any{"namespace": g.Namespace, "name": g.Name, "uid": g.UID}
		if g.Deleting {
			metadata["deletionTimestamp"] = Epoch
		}
		document, err := json.Marshal(map[string]any{
			"metadata": metadata,
			"spec":     map[string]any{"resourceClaims": g.ResourceClaims},
			"status":   map[string]any{"resourceClaimStatuses": g.ResourceClaimStatuses},
		})
		object := newPodGroup()
		if err := errors.Join(err, json.Unmarshal(document, object)); err != nil {
			panic(err)
		}
		objects = append(objects, object)
	}
	return objects
}

func newPodGroup() runtime.Object {
	object, err := scheme.Scheme.New(
		schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1beta1", Kind: "PodGroup"})
	if err != nil {
		panic(err)
	}
	return object
}

// releaseKinds are the kinds that caches have in addition to the kinds of every release.
func releaseKinds() []runtime.Object { return []runtime.Object{newPodGroup()} }

const featuresCanBeOff = false

func runResourceClaim(ctx context.Context, w *World, features resourceClaimFeatures) (func(context.Context), error) {
	if !features.AdminAccess || !features.PrioritizedList {
		return nil, errors.New("these features cannot be off any more")
	}
	err := utilfeature.DefaultMutableFeatureGate.SetFromMap(
		map[string]bool{"GenericWorkload": features.PodGroups, "DRAWorkloadResourceClaims": features.PodGroups})
	if err != nil {
		return nil, err
	}
	c, err := resourceclaim.NewController(klog.FromContext(ctx), w.Client,
		w.Informers.Core().V1().Pods(), w.Informers.Scheduling().V1beta1().PodGroups(),
		w.Informers.Resource().V1().ResourceClaims(), w.Informers.Resource().V1().ResourceClaimTemplates())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { c.Run(ctx, w.Workers) }, nil
}

// runDisruption is the Run of the disruption controller, with as many workers as the world says.
func runDisruption(c *disruption.DisruptionController, w *World) func(context.Context) {
	return func(ctx context.Context) { c.Run(ctx, w.Workers) }
}
