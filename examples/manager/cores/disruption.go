package cores

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/examples/manager/controller"
	"github.com/purekube/purekube/examples/manager/scale"
)

func newDisruption(c *Cluster) Runner {
	type S = disruption.Snapshot
	index := disruption.NewIndex(S{}, c.Disruption)
	r := controller.New("disruption", index, c.Client, c.Events, controller.Options[*disruption.Index, S, purekube.Key]{
		Begin:  func(x *disruption.Index) []purekube.Key { return begin(x.PlanAll()) },
		At:     func(now time.Time, _ *disruption.Index) S { return S{Now: now} },
		Lookup: c.lookUpScale,
		// A lookup that failed is an answer, too: its text goes into the budget's condition.
		Answers:        func(answers map[purekube.Need]controller.Answer) S { return S{Answers: answers} },
		DecidesWithout: true, // the status that refuses must not wait
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

// lookUpScale looks up a controller that no informer holds.
func (c *Cluster) lookUpScale(ctx context.Context, n purekube.Need) (controller.Answer, error) {
	if n.Subresource == "" { // the ReplicaSet itself: it may be a Deployment's
		return c.lookUp(ctx, appsv1.SchemeGroupVersion.WithResource("replicasets"), n)
	}
	found, err := c.Scales.Get(ctx, n.APIVersion, n.Kind, n.Namespace, n.Name)
	if errors.Is(err, scale.ErrNoScale) {
		return controller.Answer{Err: err}, nil // which no later lookup changes
	}
	return answer(found, err)
}
