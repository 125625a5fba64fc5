// Package largecluster makes clusters of any size that are idle or nearly so, for benchmarks and for
// internal/test/bounds. The same numbers make the same cluster. It imports no package of the library, so that the
// tests of each of them can import it.
package largecluster

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// Now is the time of each cluster.
var Now = time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)

// Cluster has the objects that its function says, and no others.
type Cluster struct {
	Nodes        []*corev1.Node
	Pods         []*corev1.Pod
	Budgets      []*policyv1.PodDisruptionBudget
	ReplicaSets  []*appsv1.ReplicaSet
	Deployments  []*appsv1.Deployment
	Claims       []*resourcev1.ResourceClaim
	Templates    []*resourcev1.ResourceClaimTemplate
	ServiceCIDRs []*networkingv1.ServiceCIDR
	IPAddresses  []*networkingv1.IPAddress
	ClusterRoles []*rbacv1.ClusterRole
}

// Object is a pointer to an API object.
type Object interface {
	runtime.Object
	metav1.Object
}

// Objects are all objects of the cluster.
func (c Cluster) Objects() []Object {
	all := together(nil, c.Nodes)
	all = together(all, c.Pods)
	all = together(all, c.Budgets)
	all = together(all, c.ReplicaSets)
	all = together(all, c.Deployments)
	all = together(all, c.Claims)
	all = together(all, c.Templates)
	all = together(all, c.ServiceCIDRs)
	all = together(all, c.IPAddresses)
	return together(all, c.ClusterRoles)
}

func together[O Object](all []Object, list []O) []Object {
	for _, o := range list {
		all = append(all, o)
	}
	return all
}

// controlledBy is the reference to the object of this kind in apps/v1.
func controlledBy(kind string, owner metav1.ObjectMeta) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: kind, Name: owner.Name, UID: owner.UID, Controller: ptr.To(true),
	}}
}
