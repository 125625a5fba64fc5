package memory

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/servicecidr"
)

// snapshots are objects sorted by what decides with them.
type snapshots struct {
	cidrs      servicecidr.Snapshot
	roles      rbacaggregate.Snapshot
	disruption disruption.Snapshot
}

// add sorts one object in. No decision reads objects of other kinds.
func (s *snapshots) add(o runtime.Object) {
	switch o := o.(type) {
	case *networkingv1.ServiceCIDR:
		s.cidrs.ServiceCIDRs = append(s.cidrs.ServiceCIDRs, o)
	case *networkingv1.IPAddress:
		s.cidrs.IPAddresses = append(s.cidrs.IPAddresses, o)
	case *rbacv1.ClusterRole:
		s.roles.ClusterRoles = append(s.roles.ClusterRoles, o)
	case *policyv1.PodDisruptionBudget:
		s.disruption.Budgets = append(s.disruption.Budgets, o)
	case *corev1.Pod:
		s.disruption.Pods = append(s.disruption.Pods, o)
	case *corev1.ReplicationController:
		s.disruption.ReplicationControllers = append(s.disruption.ReplicationControllers, o)
	case *appsv1.ReplicaSet:
		s.disruption.ReplicaSets = append(s.disruption.ReplicaSets, o)
	case *appsv1.Deployment:
		s.disruption.Deployments = append(s.disruption.Deployments, o)
	case *appsv1.StatefulSet:
		s.disruption.StatefulSets = append(s.disruption.StatefulSets, o)
	}
}

func snapshotsOf(objects []runtime.Object) snapshots {
	var s snapshots
	for _, o := range objects {
		s.add(o)
	}
	return s
}

// readable reports whether an object has a name. A nil or nameless one in an Index would make every answer a refusal, and
// nothing would take it out again.
func readable(o runtime.Object) bool {
	named, ok := o.(metav1.Object)
	return ok && !reflect.ValueOf(o).IsNil() && named.GetName() != ""
}
