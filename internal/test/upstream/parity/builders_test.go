package parity

import (
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
)

// Objects for benchmarks and for tests of what a file of package conformance does not say.

func rangesOf(objects []runtime.Object) servicecidr.Snapshot {
	s := servicecidr.Snapshot{Now: Epoch}
	for _, o := range objects {
		switch o := o.(type) {
		case *networkingv1.ServiceCIDR:
			s.ServiceCIDRs = append(s.ServiceCIDRs, o)
		case *networkingv1.IPAddress:
			s.IPAddresses = append(s.IPAddresses, o)
		}
	}
	return s
}

// settled is a ServiceCIDR that needs nothing.
func settled(c *networkingv1.ServiceCIDR) *networkingv1.ServiceCIDR {
	c.Finalizers = []string{servicecidr.Finalizer}
	c.Status.Conditions = []metav1.Condition{{
		Type: "Ready", Status: metav1.ConditionTrue, Message: "Kubernetes Service CIDR is ready", LastTransitionTime: metav1.NewTime(Epoch),
	}}
	return c
}

// leaving is a ServiceCIDR whose deletion began some time ago.
func leaving(c *networkingv1.ServiceCIDR, ago time.Duration) *networkingv1.ServiceCIDR {
	settled(c).DeletionTimestamp = &metav1.Time{Time: Epoch.Add(-ago)}
	return c
}

// allocated is the address of a Service, IPv4.
func allocated(address string) *networkingv1.IPAddress {
	return &networkingv1.IPAddress{ObjectMeta: metav1.ObjectMeta{
		Name: address, UID: types.UID("uid-" + address),
		Labels: map[string]string{networkingv1.LabelManagedBy: servicecidr.ManagedBy, networkingv1.LabelIPAddressFamily: "IPv4"},
	}}
}

func claimsCaseOf(objects []runtime.Object) claimsCase {
	c := claimsCase{snapshot: resourceclaim.Snapshot{Now: Epoch}}
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Pod:
			c.snapshot.Pods = append(c.snapshot.Pods, o)
		case *resourcev1.ResourceClaim:
			c.snapshot.Claims = append(c.snapshot.Claims, o)
		case *resourcev1.ResourceClaimTemplate:
			c.snapshot.Templates = append(c.snapshot.Templates, o)
		default:
			panic(fmt.Sprintf("%T", o))
		}
	}
	return c
}

func templated(entry, template string) corev1.PodResourceClaim {
	return corev1.PodResourceClaim{Name: entry, ResourceClaimTemplateName: &template}
}

func withEntries(p *corev1.Pod, entries ...corev1.PodResourceClaim) *corev1.Pod {
	p.Spec.ResourceClaims = entries
	return p
}

// inUse is an allocated claim, with the finalizer that comes with that.
func inUse(c *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	c.Finalizers = []string{resourcev1.Finalizer}
	c.Status.Allocation = &resourcev1.AllocationResult{}
	return c
}

func claimTemplate(name string) *resourcev1.ResourceClaimTemplate {
	t := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	t.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "gpu"}}
	return t
}

// consumerOf is how the pod appears in a claim's status.reservedFor.
func consumerOf(p *corev1.Pod) resourcev1.ResourceClaimConsumerReference {
	return resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: p.Name, UID: p.UID}
}

// aggregated is a role of the rules of all roles with the label.
func aggregated(name, label string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		AggregationRule: &rbacv1.AggregationRule{
			ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{label: "true"}}},
		},
	}
}

// plain is a role that allows a verb on pods.
func plain(name, verb string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{verb}, APIGroups: []string{""}, Resources: []string{"pods"}}},
	}
}

func labelled(label string, role *rbacv1.ClusterRole) *rbacv1.ClusterRole {
	role.Labels = map[string]string{label: "true"}
	return role
}

func budgetsOf(objects []runtime.Object) disruption.Snapshot {
	s := disruption.Snapshot{Now: Epoch, Answers: map[purekube.Need]purekube.Answer{
		scaleNeed("", "Node", "ns", "n"):            {Err: errors.New("the scale is out of reach")},
		scaleNeed("apps", "ReplicaSet", "ns", "rs"): scaleAnswer("uid-rs", 3),
		scaleNeed("apps", "Deployment", "ns", "d"):  scaleAnswer("uid-d", 4)}}
	for _, o := range objects {
		switch o := o.(type) {
		case *policyv1.PodDisruptionBudget:
			s.Budgets = append(s.Budgets, o)
		case *corev1.Pod:
			s.Pods = append(s.Pods, o)
		case *appsv1.StatefulSet:
			s.StatefulSets = append(s.StatefulSets, o)
		case *appsv1.Deployment:
			s.Deployments = append(s.Deployments, o)
		case *appsv1.ReplicaSet:
			s.ReplicaSets = append(s.ReplicaSets, o)
		}
	}
	return s
}

func named(entry, claim string) corev1.PodResourceClaim {
	return corev1.PodResourceClaim{Name: entry, ResourceClaimName: &claim}
}
