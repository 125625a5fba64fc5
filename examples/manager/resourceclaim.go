package main

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/examples/manager/controller"
	"github.com/purekube/purekube/resourceclaim"
)

func newResourceClaim(c *cluster) runner {
	type S = resourceclaim.Snapshot
	var deleted resourceclaim.DeletedPods   // saves look-ups
	var written resourceclaim.AssumedClaims // what the informer may not show yet
	claims := c.informers.Resource().V1().ResourceClaims()
	index := newResourceClaimIndex(resourceclaim.Options{MatchUpstream: c.release}, S{Deleted: deleted.Has})
	r := controller.New("resourceclaim", index, c.client, c.events, controller.Options[S]{
		At: func(now time.Time) S {
			listed, _ := claims.Lister().List(labels.Everything())
			return S{Now: now, Assumed: written.List(now, listed)}
		},
		Answer: c.answerClaims,
		Written: func(o runtime.Object) {
			// One that is being deleted may be gone by now, and would be believed in for an hour.
			if claim, ok := o.(*resourcev1.ResourceClaim); ok && claim.DeletionTimestamp == nil {
				written.Add(claim, time.Now())
			}
		},
		RetryProblems: true,
	})
	controller.Watch(r, c.informers.Core().V1().Pods().Informer(), func(o *corev1.Pod) S { return S{Pods: []*corev1.Pod{o}} },
		func(o *corev1.Pod) { deleted.Add(o.UID) })
	controller.Watch(r, claims.Informer(), func(o *resourcev1.ResourceClaim) S { return S{Claims: []*resourcev1.ResourceClaim{o}} },
		func(o *resourcev1.ResourceClaim) { written.Forget(o.UID) })
	controller.Watch(r, c.informers.Resource().V1().ResourceClaimTemplates().Informer(), func(o *resourcev1.ResourceClaimTemplate) S {
		return S{Templates: []*resourcev1.ResourceClaimTemplate{o}}
	})
	return r
}

// answerClaims asks the API server for the pods and claims whose absence from the informer proves
// nothing. One that cannot be looked up stays a need.
func (c *cluster) answerClaims(ctx context.Context, needs []purekube.Need) (resourceclaim.Snapshot, error) {
	pods := map[types.NamespacedName]*corev1.Pod{}
	claims := map[types.NamespacedName]*resourcev1.ResourceClaim{}
	var failures []error
	for _, n := range needs {
		resource := corev1.SchemeGroupVersion.WithResource("pods")
		if n.Kind == "ResourceClaim" {
			resource = resourcev1.SchemeGroupVersion.WithResource("resourceclaims")
		}
		found, err := c.live.Get(ctx, resource, "", n.Namespace, n.Name)
		if err != nil && !apierrors.IsNotFound(err) {
			failures = append(failures, err)
			continue
		}
		name := types.NamespacedName{Namespace: n.Namespace, Name: n.Name}
		if n.Kind == "ResourceClaim" {
			claims[name], _ = found.(*resourcev1.ResourceClaim)
		} else {
			pods[name], _ = found.(*corev1.Pod)
		}
	}
	return resourceclaim.Snapshot{Confirmed: pods, ConfirmedClaims: claims}, errors.Join(failures...)
}
