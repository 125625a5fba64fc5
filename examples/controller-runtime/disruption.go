package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/disruption"
)

func newDisruptionReconciler(c client.Client, lookup *clientgo.Lookup, recorder events.EventRecorder) *reconciler[purekube.Key, disruption.Action] {
	return &reconciler[purekube.Key, disruption.Action]{client: c, events: recorder,
		plan: func(ctx context.Context, key purekube.Key) (disruption.Result, error) {
			s, err := disruptionsIn(ctx, c, key.Namespace)
			if err != nil {
				return disruption.Result{}, err
			}
			return answered(ctx, func(answers map[purekube.Need]purekube.Answer) (disruption.Result, error) {
				s.Answers = answers
				return disruption.Plan(s, key, disruption.Options{})
			}, func(ctx context.Context, n purekube.Need) (purekube.Answer, error) {
				found, err := lookup.Lookup(ctx, n)
				if err != nil {
					found.Err = err
				}
				return found, err
			})
		}}
}

const (
	// maxRounds of lookups for one plan: a ReplicaSet and the scale of its Deployment are two.
	maxRounds = 8
	// lookUpTimeout is for all lookups of one plan. Writes have their own time.
	lookUpTimeout = 30 * time.Second
)

// answered plans until nothing is left to look up. A lookup that failed is in the plan, which allows nothing then, and
// it is the error as well, so that the key is planned again. Only the first one is: there may be thousands.
func answered(
	ctx context.Context, plan func(map[purekube.Need]purekube.Answer) (disruption.Result, error),
	lookUp func(context.Context, purekube.Need) (purekube.Answer, error),
) (disruption.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	answers := map[purekube.Need]purekube.Answer{}
	var failed error
	for round := 0; ; round++ {
		result, err := plan(answers)
		if len(result.Needs) == 0 {
			logProblems(ctx, err)
			return result, failed
		}
		if round == maxRounds {
			return disruption.Result{}, fmt.Errorf("%d lookups open after %d rounds: first %v", len(result.Needs), round, result.Needs[0])
		}
		for _, n := range result.Needs {
			found, err := lookUp(ctx, n)
			if failed == nil {
				failed = err
			}
			answers[n] = found
		}
	}
}

// disruptionsIn reads the budgets, pods and workloads of a namespace.
func disruptionsIn(ctx context.Context, c client.Reader, namespace string) (disruption.Snapshot, error) {
	var budgets policyv1.PodDisruptionBudgetList
	var pods corev1.PodList
	var controllers corev1.ReplicationControllerList
	var replicaSets appsv1.ReplicaSetList
	var deployments appsv1.DeploymentList
	var statefulSets appsv1.StatefulSetList
	var errs []error
	for _, list := range []client.ObjectList{&budgets, &pods, &controllers, &replicaSets, &deployments, &statefulSets} {
		errs = append(errs, c.List(ctx, list, client.InNamespace(namespace)))
	}
	return disruption.Snapshot{
		Now: time.Now(), Budgets: pointers(budgets.Items), Pods: pointers(pods.Items), ReplicationControllers: pointers(controllers.Items),
		ReplicaSets: pointers(replicaSets.Items), Deployments: pointers(deployments.Items), StatefulSets: pointers(statefulSets.Items),
	}, errors.Join(errs...)
}

func setUpDisruptions(m manager.Manager, lookup *clientgo.Lookup) error {
	c := m.GetClient()
	b := builder.TypedControllerManagedBy[purekube.Key](m).Named("disruption").WithOptions(options[purekube.Key]())
	for _, kind := range []client.Object{&policyv1.PodDisruptionBudget{}, &corev1.Pod{}, &corev1.ReplicationController{},
		&appsv1.ReplicaSet{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}} {
		b = b.Watches(kind, handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []purekube.Key {
			s, err := disruptionsIn(ctx, c, o.GetNamespace())
			if err != nil {
				return nil // only before the caches have synced, and then every object comes again
			}
			return affected(s, o)
		}))
	}
	return b.Complete(newDisruptionReconciler(c, lookup, m.GetEventRecorder("disruption")))
}

// affected are the budgets and pods to plan again after an event of the object. The cache has no object from before the
// event: whatever the object concerns now is planned.
func affected(s disruption.Snapshot, o client.Object) []purekube.Key {
	var one disruption.Snapshot
	switch o := o.(type) {
	case *policyv1.PodDisruptionBudget:
		one.Budgets = append(one.Budgets, o)
	case *corev1.Pod:
		one.Pods = append(one.Pods, o)
	case *corev1.ReplicationController:
		one.ReplicationControllers = append(one.ReplicationControllers, o)
	case *appsv1.ReplicaSet:
		one.ReplicaSets = append(one.ReplicaSets, o)
	case *appsv1.Deployment:
		one.Deployments = append(one.Deployments, o)
	case *appsv1.StatefulSet:
		one.StatefulSets = append(one.StatefulSets, o)
	}
	without, _ := disruption.NewIndex(s, disruption.Options{}).Without(one)
	_, keys := without.With(one)
	return keys
}
