package admission

import (
	"cmp"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
)

// BudgetOptions are the options of [BudgetWrite].
type BudgetOptions struct {
	// Refuse a budget that can never let a pod be evicted. By default its writer gets a warning, and so does the writer of
	// an update that leaves the spec as it is.
	Refuse bool
	// AllowUnknown, with Refuse, allows a budget that cannot be computed. By default it is refused.
	AllowUnknown bool
}

// BudgetWrite warns the writer of a PodDisruptionBudget that can never let a pod be evicted, even with all of its pods
// healthy, or refuses it with 403: see [BudgetOptions].Refuse.
//
// It protects against nodes that cannot be drained. The answer is the same for stock kube-controller-manager and
// disruption: both compute the budget alike.
//
// A budget is judged by the workloads that it selects, whether or not their pods exist yet: a ReplicaSet, Deployment,
// StatefulSet or ReplicationController whose template it selects counts with its replicas. A budget that never allows a
// disruption with the existing pods stays one, whatever pods are still to be created. Without pods and workloads, the
// budget is judged by its spec alone. With Refuse, a budget that cannot be computed, for example because the Index
// lacks a scale, is refused with 403 unless AllowUnknown is set. Whether the object is valid is for the API server to
// say.
//
// It cannot see:
//   - other budgets. Two budgets that select the same pod make it impossible to evict;
//   - custom resources that have no pods yet;
//   - later pods and scales: a budget that allows a disruption now may allow none after a scale-down.
//
// It decides CREATE and UPDATE of poddisruptionbudgets in policy/v1, not of their status. A budget with generateName
// and without a name yet is judged as a new one. The package comment says what every decision answers, a nil Index for
// example.
func BudgetWrite(x *disruption.Index, r *admissionv1.AdmissionRequest, o BudgetOptions) *admissionv1.AdmissionResponse {
	if response := budgetWrites.refusal(r); response != nil {
		return response
	}
	if x == nil {
		return notSynced(r)
	}
	budget, err := read[policyv1.PodDisruptionBudget](r, "object", r.Object, "PodDisruptionBudget", "policy/v1")
	if err != nil {
		return refused(r, badRequest, "%v", err)
	}
	if budget.Namespace == "" {
		return refused(r, badRequest, "request.namespace: required")
	}
	if r.Operation == admissionv1.Update {
		old, err := read[policyv1.PodDisruptionBudget](r, "oldObject", r.OldObject, "PodDisruptionBudget", "policy/v1")
		// Nothing is new, and the write may take the last finalizer of a deleted budget.
		o.Refuse = o.Refuse && (err != nil || !equality.Semantic.DeepEqual(old.Spec, budget.Spec))
	}
	budget.Name = cmp.Or(budget.Name, unnamed(budget))
	index, _ := x.With(disruption.Snapshot{Budgets: []*policyv1.PodDisruptionBudget{budget}})
	// The error is part of the error of the second explanation, which has all of these pods.
	now, _ := index.Explain(disruption.KeyOf(budget))
	pods, unusable := firstPods(index, budget.Namespace)
	index, _ = index.With(pods)
	explanation, err := index.Explain(disruption.KeyOf(budget))
	err = errors.Join(err, unusable)
	// Pods to come are a guess: if a ReplicaSet is missing from the Index, its pods may exist already. They make no budget
	// better.
	never := now.Budget != nil && now.Budget.Never || explanation.Budget != nil && explanation.Budget.Never
	name := budget.Namespace + "/" + budget.Name
	const before, after = "PodDisruptionBudget ", " never allows a disruption: nodes with its pods cannot be drained"
	switch e := explanation.Budget; {
	case never && o.Refuse:
		return refused(r, forbidden, "%s%s%s", before, name, after)
	case never:
		return allowed(r, warning(before, name, after))
	case !o.Refuse || o.AllowUnknown:
		return allowed(r)
	case err == nil && e != nil && len(e.Needs) == 0:
		return allowed(r)
	case err == nil && e != nil:
		err = fmt.Errorf("unknown: %v", e.Needs)
	}
	return refused(r, forbidden, "%s%s: the write is refused because the budget cannot be computed: %v", before, name, err)
}

// firstPods has a pod of each workload of the namespace that wants pods and has none, as its template makes it. One is
// enough: a budget counts a workload with its replicas. No API object can have such a name. The error is about
// workloads that the budget may select, and that cannot be used.
func firstPods(x *disruption.Index, namespace string) (s disruption.Snapshot, unusable error) {
	add := func(o metav1.Object, apiVersion, kind string, replicas *int32, template *corev1.PodTemplateSpec) {
		ref := &metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: o.GetName(), UID: o.GetUID(),
			Controller: ptr.To(true)}
		if ptr.Deref(replicas, 1) < 1 || o.GetDeletionTimestamp() != nil || template == nil ||
			x.WorkloadOf(namespace, ref).MaxPods > 0 {
			return
		}
		s.Pods = append(s.Pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: kind + "/" + o.GetName(), Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{*ref},
		}})
	}
	there, unusable := x.WorkloadsIn(namespace)
	running := map[types.UID]bool{} // Deployments that have a ReplicaSet with pods, or with pods to come
	for _, r := range there.ReplicaSets {
		if owner := metav1.GetControllerOfNoCopy(r); owner != nil && ptr.Deref(r.Spec.Replicas, 1) > 0 {
			running[owner.UID] = true
		}
		add(r, "apps/v1", "ReplicaSet", r.Spec.Replicas, &r.Spec.Template)
	}
	for _, d := range there.Deployments {
		if running[d.UID] || d.DeletionTimestamp != nil {
			continue
		}
		r := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: d.Name + "/", UID: d.UID + "/",
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "Deployment", Name: d.Name, UID: d.UID, Controller: ptr.To(true)}},
		}}
		s.ReplicaSets = append(s.ReplicaSets, r)
		add(r, "apps/v1", "ReplicaSet", d.Spec.Replicas, &d.Spec.Template)
	}
	for _, o := range there.StatefulSets {
		add(o, "apps/v1", "StatefulSet", o.Spec.Replicas, &o.Spec.Template)
	}
	for _, o := range there.ReplicationControllers {
		add(o, "v1", "ReplicationController", o.Spec.Replicas, o.Spec.Template)
	}
	return s, unusable
}
