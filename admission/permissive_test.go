package admission

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube/internal/test/contract"
	"github.com/purekube/purekube/internal/test/reviews"
	"github.com/purekube/purekube/purekubetest"
)

// document is the objects that decisions read, as JSON.
type document struct {
	ServiceCIDRs []*networkingv1.ServiceCIDR
	IPAddresses  []*networkingv1.IPAddress
	ClusterRoles []*rbacv1.ClusterRole
	Budgets      []*policyv1.PodDisruptionBudget
	Pods         []*corev1.Pod
	ReplicaSets  []*appsv1.ReplicaSet
	Deployments  []*appsv1.Deployment
	StatefulSets []*appsv1.StatefulSet
}

func (d document) indexes(t *testing.T) Indexes {
	c := purekubetest.NewCluster(t)
	c.ServiceCIDRs, c.IPAddresses, c.ClusterRoles, c.Budgets, c.Pods = d.ServiceCIDRs, d.IPAddresses, d.ClusterRoles, d.Budgets, d.Pods
	c.ReplicaSets, c.Deployments, c.StatefulSets = d.ReplicaSets, d.Deployments, d.StatefulSets
	return indexesOf(c)
}

// names reports whether an object of the document has this workload as its controller.
func (d document) names(workload runtime.Object) bool {
	o := workload.(metav1.Object)
	by := func(owned metav1.Object) bool {
		ref := metav1.GetControllerOf(owned)
		return ref != nil && ref.UID == o.GetUID() && ref.Name == o.GetName() && owned.GetNamespace() == o.GetNamespace()
	}
	return slices.ContainsFunc(d.Pods, func(p *corev1.Pod) bool { return p != nil && by(p) }) ||
		slices.ContainsFunc(d.ReplicaSets, func(rs *appsv1.ReplicaSet) bool { return rs != nil && by(rs) })
}

// TestNeverMorePermissive: a request that is refused is not allowed where an object of the Index is of no use or, except for these, left
// out: an address that is left out is free, a pod or a budget that is left out is gone, and so is the ClusterRole that a
// label would have reached, and the workload that no other object names. That the caches have synced is the caller's
// statement.
func TestNeverMorePermissive(t *testing.T) {
	c := purekubetest.NewCluster(t)
	for _, o := range reviews.Cluster() {
		require.NoError(t, c.Add(o))
	}
	whole := document{c.ServiceCIDRs, c.IPAddresses, c.ClusterRoles, c.Budgets, c.Pods, c.ReplicaSets, c.Deployments, c.StatefulSets}
	words := []string{"", "shop", "db", "web", "view", "to-view", "used", "free", "app", "true", "10.96.0.0/24", "10.96.0.7", "x", "1", "0%", "100%", "True", "False", "Ready",
		"StatefulSet", "a/b/c"}
	requests := refusals()
	refused := 0
	contract.Random(t, func(*rand.Rand) document { return whole }, words, func(t *testing.T, d document) {
		before := d.indexes(t)
		for name, request := range requests {
			r := request.Review(t)
			if ask(name, before, r).Allowed {
				continue
			}
			refused++
			contract.Each(d, func(how contract.Damage, field string, object runtime.Object, spoiled document) {
				workload := field == "ReplicaSets" || field == "Deployments" || field == "StatefulSets"
				if how == contract.LeftOut && field != "ServiceCIDRs" && !(workload && d.names(object)) {
					return
				}
				require.False(t, ask(name, spoiled.indexes(t), r).Allowed, "%s: with %T %s it is allowed", name, object, how)
			})
		}
	})
	require.NotZero(t, refused)
}
