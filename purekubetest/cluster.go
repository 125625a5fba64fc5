package purekubetest

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// Cluster is a set of objects by type. Its methods are the snapshots of the five packages.
type Cluster struct {
	// Now is the time that the snapshots have.
	Now time.Time

	Nodes                  []*corev1.Node
	Pods                   []*corev1.Pod
	ReplicationControllers []*corev1.ReplicationController
	ReplicaSets            []*appsv1.ReplicaSet
	Deployments            []*appsv1.Deployment
	StatefulSets           []*appsv1.StatefulSet
	Budgets                []*policyv1.PodDisruptionBudget
	ServiceCIDRs           []*networkingv1.ServiceCIDR
	IPAddresses            []*networkingv1.IPAddress
	ClusterRoles           []*rbacv1.ClusterRole
	Claims                 []*resourcev1.ResourceClaim
	ClaimTemplates         []*resourcev1.ResourceClaimTemplate
}

// NewCluster returns a cluster an hour after [Created] with these objects, and the objects of workloads.
func NewCluster(t testing.TB, objects ...any) *Cluster {
	t.Helper()
	c := &Cluster{Now: Created.Add(time.Hour)}
	for _, o := range objects {
		switch o := o.(type) {
		case Workload:
			for _, o := range o.Objects() {
				c.add(t, o)
			}
		case runtime.Object:
			c.add(t, o)
		default:
			t.Fatalf("%T is not an API object or a Workload", o)
		}
	}
	return c
}

// add puts the object into the slice of its type.
func (c *Cluster) add(t testing.TB, o runtime.Object) {
	t.Helper()
	switch o := o.(type) {
	case *corev1.Node:
		c.Nodes = append(c.Nodes, o)
	case *corev1.Pod:
		c.Pods = append(c.Pods, o)
	case *corev1.ReplicationController:
		c.ReplicationControllers = append(c.ReplicationControllers, o)
	case *appsv1.ReplicaSet:
		c.ReplicaSets = append(c.ReplicaSets, o)
	case *appsv1.Deployment:
		c.Deployments = append(c.Deployments, o)
	case *appsv1.StatefulSet:
		c.StatefulSets = append(c.StatefulSets, o)
	case *policyv1.PodDisruptionBudget:
		c.Budgets = append(c.Budgets, o)
	case *networkingv1.ServiceCIDR:
		c.ServiceCIDRs = append(c.ServiceCIDRs, o)
	case *networkingv1.IPAddress:
		c.IPAddresses = append(c.IPAddresses, o)
	case *rbacv1.ClusterRole:
		c.ClusterRoles = append(c.ClusterRoles, o)
	case *resourcev1.ResourceClaim:
		c.Claims = append(c.Claims, o)
	case *resourcev1.ResourceClaimTemplate:
		c.ClaimTemplates = append(c.ClaimTemplates, o)
	default:
		t.Fatalf("no package plans with a %T", o)
	}
}

// Disruption is the snapshot of the package of that name.
func (c *Cluster) Disruption() disruption.Snapshot {
	return disruption.Snapshot{
		Now: c.Now, Budgets: c.Budgets, Pods: c.Pods, ReplicationControllers: c.ReplicationControllers,
		ReplicaSets: c.ReplicaSets, Deployments: c.Deployments, StatefulSets: c.StatefulSets,
	}
}

// ServiceCIDR is the snapshot of the package of that name.
func (c *Cluster) ServiceCIDR() servicecidr.Snapshot {
	return servicecidr.Snapshot{Now: c.Now, ServiceCIDRs: c.ServiceCIDRs, IPAddresses: c.IPAddresses}
}

// RBACAggregate is the snapshot of the package of that name.
func (c *Cluster) RBACAggregate() rbacaggregate.Snapshot {
	return rbacaggregate.Snapshot{ClusterRoles: c.ClusterRoles}
}

// ResourceClaim is the snapshot of the package of that name.
func (c *Cluster) ResourceClaim() resourceclaim.Snapshot {
	return resourceclaim.Snapshot{Now: c.Now, Pods: c.Pods, Claims: c.Claims, Templates: c.ClaimTemplates}
}

// TTL is the snapshot of the package of that name, at the step that the nodes' annotations say.
func (c *Cluster) TTL() ttl.Snapshot {
	return ttl.Snapshot{Step: ttl.Table{}.Recover(c.Nodes), Nodes: c.Nodes}
}
