package main

import (
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

func newDisruption(c *cluster) runner {
	type S = disruption.Snapshot
	index := disruption.NewIndex(S{}, disruption.Options{MatchUpstream: c.release})
	r := controller.New("disruption", index, c.client, c.events, controller.Options[S]{
		At:     func(now time.Time) S { return S{Now: now} },
		Answer: c.answerScales,
	})
	watched := c.informers
	controller.Watch(r, watched.Policy().V1().PodDisruptionBudgets().Informer(), func(o *policyv1.PodDisruptionBudget) S { return S{Budgets: []*policyv1.PodDisruptionBudget{o}} })
	controller.Watch(r, watched.Core().V1().Pods().Informer(), func(o *corev1.Pod) S { return S{Pods: []*corev1.Pod{o}} })
	controller.Watch(r, watched.Core().V1().ReplicationControllers().Informer(), func(o *corev1.ReplicationController) S {
		return S{ReplicationControllers: []*corev1.ReplicationController{o}}
	})
	controller.Watch(r, watched.Apps().V1().ReplicaSets().Informer(), func(o *appsv1.ReplicaSet) S { return S{ReplicaSets: []*appsv1.ReplicaSet{o}} })
	controller.Watch(r, watched.Apps().V1().Deployments().Informer(), func(o *appsv1.Deployment) S { return S{Deployments: []*appsv1.Deployment{o}} })
	controller.Watch(r, watched.Apps().V1().StatefulSets().Informer(), func(o *appsv1.StatefulSet) S { return S{StatefulSets: []*appsv1.StatefulSet{o}} })
	return r
}

// answerScales looks up the scales of controllers that no informer holds. A look-up that fails is an
// answer, too: its text goes into the budget's condition, and the budget is planned again.
func (c *cluster) answerScales(ctx context.Context, needs []purekube.Need) (disruption.Snapshot, error) {
	answers := map[disruption.ScaleKey]disruption.Scale{}
	var failures []error
	for _, n := range needs {
		found, err := c.scales.Get(ctx, n.APIVersion, n.Kind, n.Namespace, n.Name)
		answer := disruption.Scale{}
		switch {
		case err == nil:
			answer = disruption.Scale{Found: true, UID: found.UID, Replicas: found.Spec.Replicas}
		case apierrors.IsNotFound(err): // the zero Scale says so
		default:
			answer.Err = err.Error()
			if !errors.Is(err, scale.ErrNoScale) {
				failures = append(failures, err)
			}
		}
		answers[disruption.ScaleKeyOf(n)] = answer
	}
	return disruption.Snapshot{Scales: answers}, errors.Join(failures...)
}
