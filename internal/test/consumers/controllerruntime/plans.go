// Package controllerruntime plans from the cache of a manager of controller-runtime.
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

// Budgets explains PodDisruptionBudgets whenever they change.
type Budgets struct {
	Reader  client.Reader
	Explain func(disruption.Explanation, error)
}

// SetupWithManager has the manager reconcile budgets.
func (b *Budgets) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).For(&policyv1.PodDisruptionBudget{}).Complete(b)
}

// Reconcile explains a budget from what the cache has in its namespace.
func (b *Budgets) Reconcile(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
	var budget policyv1.PodDisruptionBudget
	if err := b.Reader.Get(ctx, r.NamespacedName, &budget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var pods corev1.PodList
	var sets appsv1.StatefulSetList
	for _, list := range []client.ObjectList{&pods, &sets} {
		if err := b.Reader.List(ctx, list, client.InNamespace(r.Namespace)); err != nil {
			return ctrl.Result{}, err
		}
	}
	s := disruption.Snapshot{Now: time.Now(), Budgets: []*policyv1.PodDisruptionBudget{&budget}}
	for i := range pods.Items {
		s.Pods = append(s.Pods, &pods.Items[i])
	}
	for i := range sets.Items {
		s.StatefulSets = append(s.StatefulSets, &sets.Items[i])
	}
	b.Explain(disruption.NewIndex(s, disruption.Options{}).Explain(disruption.BudgetKey(r.Namespace, r.Name)))
	return ctrl.Result{}, nil
}
