package cores

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/examples/manager/controller"
	"github.com/purekube/purekube/resourceclaim"
)

func newResourceClaim(c *Cluster) Runner {
	type S = resourceclaim.Snapshot
	var deleted resourceclaim.DeletedPods   // saves look-ups
	var written resourceclaim.AssumedClaims // what the informer may not show yet
	index := resourceclaim.NewIndex(S{Deleted: deleted.Has}, c.ResourceClaim)
	r := controller.New("resourceclaim", index, c.Client, c.Events, controller.Options[*resourceclaim.Index, S]{
		At: func(now time.Time, index *resourceclaim.Index) S {
			return S{Now: now, Assumed: written.ListFor(now, index)}
		},
		Answer: c.answerClaims,
		Written: func(o runtime.Object) {
			// A claim that is being deleted may be gone by now, and would be believed in for an hour.
			if claim, ok := o.(*resourcev1.ResourceClaim); ok && claim.DeletionTimestamp == nil {
				written.Add(claim, time.Now())
			}
		},
		RetryProblems: true,
	})
	pods, claims := c.Informers.Core().V1().Pods(), c.Informers.Resource().V1().ResourceClaims()
	templates := c.Informers.Resource().V1().ResourceClaimTemplates()
	controller.Watch(r, pods.Informer(), func(o *corev1.Pod) S { return S{Pods: []*corev1.Pod{o}} },
		func(o *corev1.Pod) { deleted.Add(o.UID) })
	controller.Watch(r, claims.Informer(), func(o *resourcev1.ResourceClaim) S { return S{Claims: []*resourcev1.ResourceClaim{o}} },
		func(o *resourcev1.ResourceClaim) { written.Forget(o.UID) })
	controller.Watch(r, templates.Informer(), func(o *resourcev1.ResourceClaimTemplate) S {
		return S{Templates: []*resourcev1.ResourceClaimTemplate{o}}
	})
	return r
}

// answerClaims asks the API server for the pods and claims whose absence from the informers proves
// nothing. One that cannot be looked up stays a need.
func (c *Cluster) answerClaims(ctx context.Context, needs []purekube.Need) (resourceclaim.Snapshot, error) {
	answers := resourceclaim.Snapshot{Confirmed: map[types.NamespacedName]*corev1.Pod{}, ConfirmedClaims: map[types.NamespacedName]*resourcev1.ResourceClaim{}}
	var failures []error
	for _, n := range needs {
		name := types.NamespacedName{Namespace: n.Namespace, Name: n.Name}
		var err error
		switch n.Kind {
		case "Pod":
			err = answer(ctx, c, answers.Confirmed, corev1.SchemeGroupVersion.WithResource("pods"), name)
		case "ResourceClaim":
			err = answer(ctx, c, answers.ConfirmedClaims, resourcev1.SchemeGroupVersion.WithResource("resourceclaims"), name)
		}
		failures = append(failures, err)
	}
	return answers, errors.Join(failures...)
}

// answer puts the object of that name, or nil if there is none, among the answers.
func answer[P runtime.Object](ctx context.Context, c *Cluster, answers map[types.NamespacedName]P, resource schema.GroupVersionResource, name types.NamespacedName) error {
	found, err := c.Live.Get(ctx, resource, "", name.Namespace, name.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	answers[name], _ = found.(P)
	return nil
}
