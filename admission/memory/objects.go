package memory

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube/disruption"
)

// add sorts one object in. No decision on an eviction or a budget reads objects of other kinds.
func add(s *disruption.Snapshot, o runtime.Object) {
	switch o := o.(type) {
	case *policyv1.PodDisruptionBudget:
		s.Budgets = append(s.Budgets, o)
	case *corev1.Pod:
		s.Pods = append(s.Pods, o)
	case *corev1.ReplicationController:
		s.ReplicationControllers = append(s.ReplicationControllers, o)
	case *appsv1.ReplicaSet:
		s.ReplicaSets = append(s.ReplicaSets, o)
	case *appsv1.Deployment:
		s.Deployments = append(s.Deployments, o)
	case *appsv1.StatefulSet:
		s.StatefulSets = append(s.StatefulSets, o)
	}
}

// readable reports whether an object has a name. A nil or nameless one in an Index would make every answer a refusal,
// and nothing would take it out again.
func readable(o runtime.Object) bool {
	named, ok := o.(metav1.Object)
	return ok && !reflect.ValueOf(o).IsNil() && named.GetName() != ""
}
