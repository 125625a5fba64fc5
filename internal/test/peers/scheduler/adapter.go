package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
)

type budgets = []*policyv1.PodDisruptionBudget

// FilterPodsWithPDBViolation has the signature of koordinator's copies, in its plugins elasticquota and reservation.
func FilterPodsWithPDBViolation(victims []fwk.PodInfo, pdbs budgets) (violating, allowed []fwk.PodInfo) {
	return sorted(victims, fwk.PodInfo.GetPod, pdbs)
}

// VictimTasks is what volcano's plugin pdb returns: the tasks whose pods violate no budget.
func VictimTasks(tasks []*TaskInfo, pdbs budgets) []*TaskInfo {
	_, allowed := sorted(tasks, func(t *TaskInfo) *corev1.Pod { return t.Pod }, pdbs)
	return allowed
}

// sorted sorts victims of any type, and keeps their order.
func sorted[T any](victims []T, pod func(T) *corev1.Pod, pdbs budgets) (violating, allowed []T) {
	s := disruption.Snapshot{Budgets: pdbs}
	var names []types.NamespacedName
	of := map[types.NamespacedName]T{}
	for _, v := range victims {
		p := pod(v)
		name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
		s.Pods, names, of[name] = append(s.Pods, p), append(names, name), v
	}
	no, yes := drain.Violations(disruption.NewIndex(s, disruption.Options{}), names)
	for _, name := range no {
		violating = append(violating, of[name])
	}
	for _, name := range yes {
		allowed = append(allowed, of[name])
	}
	return violating, allowed
}
