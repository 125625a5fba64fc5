package clientgo

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
)

// DisruptionController is the controller of [NewDisruption].
type DisruptionController = Controller[*disruption.Index, disruption.Snapshot, disruption.Action]

// NewDisruption returns a controller of PodDisruptionBudgets and of the pods' condition DisruptionTarget. It watches
// PodDisruptionBudgets, Pods, ReplicationControllers, ReplicaSets, Deployments and StatefulSets, and looks up what else
// controls pods.
func NewDisruption(c Cluster, o disruption.Options) (*DisruptionController, error) {
	type S = disruption.Snapshot
	controller, err := NewController("disruption", disruption.NewIndex(S{}, o), c, Options[*disruption.Index, S]{
		At: func(now time.Time, _ *disruption.Index) S { return S{Now: now} },
		// A lookup that failed is an answer, too: its text goes into the budget's condition.
		Answers:        func(answers map[purekube.Need]purekube.Answer) S { return S{Answers: answers} },
		DecidesWithout: true, // the status that refuses must not wait
	})
	if err != nil {
		return nil, err
	}
	Watch(controller, func(o *policyv1.PodDisruptionBudget) S { return S{Budgets: []*policyv1.PodDisruptionBudget{o}} })
	Watch(controller, func(o *corev1.Pod) S { return S{Pods: []*corev1.Pod{o}} })
	Watch(controller, func(o *corev1.ReplicationController) S {
		return S{ReplicationControllers: []*corev1.ReplicationController{o}}
	})
	Watch(controller, func(o *appsv1.ReplicaSet) S { return S{ReplicaSets: []*appsv1.ReplicaSet{o}} })
	Watch(controller, func(o *appsv1.Deployment) S { return S{Deployments: []*appsv1.Deployment{o}} })
	Watch(controller, func(o *appsv1.StatefulSet) S { return S{StatefulSets: []*appsv1.StatefulSet{o}} })
	return controller, controller.broken
}
