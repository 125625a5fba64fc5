// Package controllerruntime plans PodDisruptionBudgets in a reconciler.
package controllerruntime

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/purekube/purekube/disruption"
)

// Budgets reconciles the PodDisruptionBudgets whose pods belong to ReplicaSets and Deployments.
type Budgets struct{ client.Client }

// SetupWithManager has the manager call Reconcile.
func (b *Budgets) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).For(&policyv1.PodDisruptionBudget{}).Owns(&corev1.Pod{}).Complete(b)
}

// Reconcile writes the status of one budget.
func (b *Budgets) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var budget policyv1.PodDisruptionBudget
	if err := b.Get(ctx, request.NamespacedName, &budget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var pods corev1.PodList
	var sets appsv1.ReplicaSetList
	var deployments appsv1.DeploymentList
	for _, list := range []client.ObjectList{&pods, &sets, &deployments} {
		if err := b.List(ctx, list, client.InNamespace(request.Namespace)); err != nil {
			return ctrl.Result{}, err
		}
	}
	now := time.Now()
	result, err := disruption.Plan(disruption.Snapshot{
		Now:         now,
		Budgets:     []*policyv1.PodDisruptionBudget{&budget},
		Pods:        pointers(pods.Items),
		ReplicaSets: pointers(sets.Items),
		Deployments: pointers(deployments.Items),
	}, disruption.KeyOf(&budget), disruption.Options{})
	for _, action := range result.Actions {
		if update, ok := action.(disruption.UpdateStatus); ok {
			if err := b.Status().Update(ctx, update.Apply(&budget)); err != nil {
				return ctrl.Result{}, err
			}
		}
	}
	if !result.RecheckAt.IsZero() {
		return ctrl.Result{RequeueAfter: result.RecheckAt.Sub(now)}, err
	}
	return ctrl.Result{}, err
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}
