package cores

import (
	"cmp"
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/examples/manager/controller"
	"github.com/purekube/purekube/examples/manager/scale"
)

func newDisruption(c *Cluster) Runner {
	type S = disruption.Snapshot
	index := disruption.NewIndex(S{}, c.Disruption)
	r := controller.New("disruption", index, c.Client, c.Events, controller.Options[*disruption.Index, S]{
		At:     func(now time.Time, _ *disruption.Index) S { return S{Now: now} },
		Answer: c.answerScales,
	})
	core, apps := c.Informers.Core().V1(), c.Informers.Apps().V1()
	controller.Watch(r, c.Informers.Policy().V1().PodDisruptionBudgets().Informer(),
		func(o *policyv1.PodDisruptionBudget) S { return S{Budgets: []*policyv1.PodDisruptionBudget{o}} })
	controller.Watch(r, core.Pods().Informer(), func(o *corev1.Pod) S { return S{Pods: []*corev1.Pod{o}} })
	controller.Watch(r, core.ReplicationControllers().Informer(),
		func(o *corev1.ReplicationController) S {
			return S{ReplicationControllers: []*corev1.ReplicationController{o}}
		})
	controller.Watch(r, apps.ReplicaSets().Informer(), func(o *appsv1.ReplicaSet) S { return S{ReplicaSets: []*appsv1.ReplicaSet{o}} })
	controller.Watch(r, apps.Deployments().Informer(), func(o *appsv1.Deployment) S { return S{Deployments: []*appsv1.Deployment{o}} })
	controller.Watch(r, apps.StatefulSets().Informer(), func(o *appsv1.StatefulSet) S { return S{StatefulSets: []*appsv1.StatefulSet{o}} })
	return r
}

// answerScales looks up the controllers that no informer holds. A look-up that fails is an answer, too:
// its text goes into the budget's condition. The budget is planned again then.
func (c *Cluster) answerScales(ctx context.Context, needs []purekube.Need) (disruption.Snapshot, error) {
	answers := map[disruption.ScaleKey]disruption.Scale{}
	var failures []error
	for _, n := range needs {
		answer, err := c.lookUp(ctx, n)
		switch {
		case apierrors.IsNotFound(err):
			answer = disruption.Scale{}
		case err != nil:
			answer = disruption.Scale{Err: cmp.Or(err.Error(), "no answer")} // empty would say that it is gone
			if !errors.Is(err, scale.ErrNoScale) {                           // which no later look-up changes
				failures = append(failures, err)
			}
		}
		answers[disruption.ScaleKeyOf(n)] = answer
	}
	return disruption.Snapshot{Scales: answers}, errors.Join(failures...)
}

func (c *Cluster) lookUp(ctx context.Context, n purekube.Need) (disruption.Scale, error) {
	if n.Subresource == "" { // the ReplicaSet itself: it may be a Deployment's
		found, err := c.Live.Get(ctx, appsv1.SchemeGroupVersion.WithResource("replicasets"), "", n.Namespace, n.Name)
		set, _ := found.(*appsv1.ReplicaSet)
		return disruption.Scale{Found: true, ReplicaSet: set}, err
	}
	found, err := c.Scales.Get(ctx, n.APIVersion, n.Kind, n.Namespace, n.Name)
	if err != nil {
		return disruption.Scale{}, err
	}
	return disruption.Scale{Found: true, UID: found.UID, Replicas: found.Spec.Replicas}, nil
}
