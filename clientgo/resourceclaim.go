package clientgo

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/purekube/purekube/internal/reconcile/claimmemory"
	"github.com/purekube/purekube/resourceclaim"
)

// ResourceClaimController is the controller of [NewResourceClaim].
type ResourceClaimController = Controller[*resourceclaim.Index, resourceclaim.Snapshot, resourceclaim.Action]

// NewResourceClaim returns a controller of ResourceClaims. It watches Pods, ResourceClaims and ResourceClaimTemplates,
// and looks up pods and claims whose absence from the informers proves nothing. With Options.PodGroupOf it watches and
// looks up PodGroups, too: Cluster.PodGroups says where, and without it the error is [ErrPodGroups].
func NewResourceClaim(c Cluster, o resourceclaim.Options) (*ResourceClaimController, error) {
	type S = resourceclaim.Snapshot
	if o.PodGroupOf != nil {
		if err := c.PodGroups.check(); err != nil {
			return nil, err
		}
		if c.Lookup != nil {
			c.Lookup = podGroupLookup{c.Lookup, c.PodGroups.Version}
		}
	}
	m := &claimmemory.Memory{}
	controller, err := NewController("resourceclaim", resourceclaim.NewIndex(S{}, o), c, Options[*resourceclaim.Index, S]{
		At: m.At, Answers: claimmemory.Confirmed, Written: m.Wrote, RetryProblems: true,
	})
	if err != nil {
		return nil, err
	}
	Watch(controller, func(o *corev1.Pod) S { return S{Pods: []*corev1.Pod{o}} }, func(o *corev1.Pod) {
		if change := m.PodGone(o); change != nil {
			controller.Update(change)
		}
	})
	Watch(controller, func(o *resourcev1.ResourceClaim) S {
		return S{Claims: []*resourcev1.ResourceClaim{o}}
	}, m.ClaimGone)
	Watch(controller, func(o *resourcev1.ResourceClaimTemplate) S {
		return S{Templates: []*resourcev1.ResourceClaimTemplate{o}}
	})
	if o.PodGroupOf != nil {
		if err := c.PodGroups.watch(controller, func(g *unstructured.Unstructured) {
			controller.Update(m.Gone(g.GetUID()))
		}); err != nil {
			return controller, errors.Join(controller.broken, fmt.Errorf("resourceclaim: %w", err))
		}
	}
	return controller, controller.broken
}
