package clientgo

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/resourceclaim/memory"
)

// ResourceClaimController is the controller of [NewResourceClaim].
type ResourceClaimController = Controller[*resourceclaim.Index, resourceclaim.Snapshot, resourceclaim.Action]

// NewResourceClaim returns a controller of ResourceClaims. It watches Pods, ResourceClaims and ResourceClaimTemplates, and
// looks up pods and claims whose absence from the informers proves nothing. With Options.PodGroupOf it watches and looks up
// PodGroups, too: Cluster.PodGroups says where, and without it the error is [ErrPodGroups].
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
	var written memory.AssumedClaims // what the informer may not show yet
	var deleted memory.DeletedPods
	claimsAt := func() string { return "" } // compares with nothing
	controller, err := NewController("resourceclaim", resourceclaim.NewIndex(S{}, o), c, Options[*resourceclaim.Index, S]{
		At: func(now time.Time, index *resourceclaim.Index) S {
			written.CacheAt(claimsAt())
			return S{Now: now, Assumed: written.ListFor(now, index)}
		},
		Restored: func(index *resourceclaim.Index) *resourceclaim.Index { // UIDs may be back
			index, _ = index.Without(S{Deleted: deleted.UIDs()})
			deleted.Clear()
			return index
		},
		Answers: confirmed,
		Written: func(now time.Time, o runtime.Object) {
			// A claim that is being deleted may be gone by now, and would be believed in for an hour.
			if claim, err := meta.Accessor(o); err == nil && claim.GetDeletionTimestamp() == nil {
				written.Add(o, now)
			}
		},
		RetryProblems: true,
	})
	if err != nil {
		return nil, err
	}
	gone := func(uid types.UID) {
		dropped := deleted.Add(uid)
		controller.Update(func(index *resourceclaim.Index) (*resourceclaim.Index, []purekube.Key) {
			index, affected := index.With(S{Deleted: sets.New(uid)})
			index, others := index.Without(S{Deleted: dropped})
			return index, append(affected, others...)
		})
	}
	Watch(controller, func(o *corev1.Pod) S { return S{Pods: []*corev1.Pod{o}} }, func(o *corev1.Pod) {
		if len(o.Spec.ResourceClaims) > 0 || o.Status.ExtendedResourceClaimStatus != nil {
			gone(o.UID)
		}
	})
	Watch(controller, func(o *resourcev1.ResourceClaim) S { return S{Claims: []*resourcev1.ResourceClaim{o}} },
		func(o *resourcev1.ResourceClaim) { written.Forget(o.UID) })
	if version := controller.watched[len(controller.watched)-1].version; version != nil {
		claimsAt = version
	}
	Watch(controller, func(o *resourcev1.ResourceClaimTemplate) S {
		return S{Templates: []*resourcev1.ResourceClaimTemplate{o}}
	})
	if o.PodGroupOf != nil {
		if err := c.PodGroups.watch(controller, func(g *unstructured.Unstructured) { gone(g.GetUID()) }); err != nil {
			return controller, errors.Join(controller.broken, fmt.Errorf("resourceclaim: %w", err))
		}
	}
	return controller, controller.broken
}

// confirmed are the answers as the package takes them. A lookup that failed is no answer.
func confirmed(answers map[purekube.Need]purekube.Answer) resourceclaim.Snapshot {
	s := resourceclaim.Snapshot{Answers: map[purekube.Need]purekube.Answer{}}
	for n, a := range answers {
		if a.Err == nil {
			s.Answers[n] = a
		}
	}
	return s
}
