package manifests

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// ServiceCIDR is the snapshot of the package of that name, at this time. The snapshot shares the set's objects, as the
// others do.
func (s *Set) ServiceCIDR(now time.Time) servicecidr.Snapshot {
	return servicecidr.Snapshot{Now: now, ServiceCIDRs: whole(s, ServiceCIDR, s.ServiceCIDRs), IPAddresses: s.IPAddresses}
}

// ResourceClaim is the snapshot of the package of that name, at this time, without answers.
func (s *Set) ResourceClaim(now time.Time) resourceclaim.Snapshot {
	return resourceclaim.Snapshot{Now: now, Pods: s.Pods, Claims: s.Claims,
		Templates: whole(s, ResourceClaimTemplate, s.ClaimTemplates)}
}

// TTL is the snapshot of the package of that name, at the step that the nodes' annotations show.
func (s *Set) TTL() ttl.Snapshot {
	x, _ := ttl.NewIndex(ttl.Snapshot{Nodes: s.Nodes}, ttl.Options{}).Recover()
	return ttl.Snapshot{Step: x.Step(), Nodes: s.Nodes}
}

// RBACAggregate is the snapshot of the package of that name.
func (s *Set) RBACAggregate() rbacaggregate.Snapshot {
	return rbacaggregate.Snapshot{ClusterRoles: s.ClusterRoles}
}

// Disruption is the snapshot of the package of that name, at this time. Its answers are the scales that the set has:
// spec.replicas of a custom workload that controls pods of the set, with their UID. The snapshot has copies of these.
// Workloads that were read only in part are left out, since a field such as spec.replicas may be missing: their scales
// are lookups.
func (s *Set) Disruption(now time.Time) disruption.Snapshot {
	return disruption.Snapshot{
		Now: now, Budgets: s.Budgets, Pods: s.Pods,
		ReplicationControllers: whole(s, ReplicationController, s.ReplicationControllers),
		ReplicaSets:            whole(s, ReplicaSet, s.ReplicaSets), Deployments: whole(s, Deployment, s.Deployments),
		StatefulSets: whole(s, StatefulSet, s.StatefulSets), Answers: s.answers(),
	}
}

// whole are the objects of the list that were not read only in part.
func whole[T any, P interface {
	*T
	metav1.Object
}](s *Set, kind schema.GroupKind, list []P) []P {
	if len(s.inPart) == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(o P) bool {
		return o != nil && s.inPart[planned(key(kind, o), kind)]
	})
}
