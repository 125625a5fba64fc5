package purekubetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// Created is the creation timestamp of every object that a builder makes.
var Created = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))

// Object is a pointer to an API object.
type Object = manifests.Object

// meta is the metadata of a new object: its name and, where the kind has one, its namespace.
func meta(kind, name string, namespaced bool) metav1.ObjectMeta {
	namespace, name, found := cutName(name)
	if !namespaced {
		namespace = ""
	} else if !found {
		namespace = metav1.NamespaceDefault
	}
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(fmt.Sprintf("%s/%s/%s", kind, namespace, name)),
		CreationTimestamp: Created, ResourceVersion: "1", Generation: 1,
	}
}

func cutName(name string) (namespace, rest string, found bool) {
	namespace, rest, found = strings.Cut(name, "/")
	if !found {
		return "", name, false
	}
	return namespace, rest, true
}

// appLabel is the label that pods of a workload have and that budgets select by.
const appLabel = "app"

// Workload is a workload with its pods.
type Workload struct {
	// Controllers are the workload itself and, for a Deployment, its ReplicaSet.
	Controllers []Object
	// Pods are Running and Ready, one for each replica.
	Pods []*corev1.Pod
}

// Objects are the controllers, the pods, and these others: the arguments of [NewCluster] for a workload with its
// budget.
func (w Workload) Objects(others ...Object) []Object {
	objects := slices.Clone(w.Controllers)
	for _, p := range w.Pods {
		objects = append(objects, p)
	}
	return append(objects, others...)
}

// Deployment returns a Deployment, its ReplicaSet, and its pods: Ready, labelled app=<name>, on the nodes in
// turn. Without nodes the pods have none.
func Deployment(name string, replicas int32, nodes ...string) Workload {
	d := &appsv1.Deployment{ObjectMeta: meta("Deployment", name, true)}
	d.Spec = appsv1.DeploymentSpec{Replicas: ptr.To(replicas), Selector: selects(d.Name), Template: template(d.Name)}
	rs := &appsv1.ReplicaSet{ObjectMeta: meta("ReplicaSet", d.Namespace+"/"+d.Name+"-6d4b75cb6d", true)}
	rs.OwnerReferences = controlledBy("apps/v1", "Deployment", d)
	rs.Spec = appsv1.ReplicaSetSpec{Replicas: ptr.To(replicas), Selector: selects(d.Name), Template: template(d.Name)}
	return Workload{
		Controllers: []Object{d, rs},
		Pods: pods(replicas, nodes, d.Name, "ReplicaSet", rs, func(i int32) string {
			return fmt.Sprintf("%s/%s-%05d", d.Namespace, rs.Name, i)
		}),
	}
}

// StatefulSet returns a StatefulSet and its pods, as [Deployment] does.
func StatefulSet(name string, replicas int32, nodes ...string) Workload {
	s := &appsv1.StatefulSet{ObjectMeta: meta("StatefulSet", name, true)}
	s.Spec = appsv1.StatefulSetSpec{Replicas: ptr.To(replicas), Selector: selects(s.Name), Template: template(s.Name)}
	return Workload{
		Controllers: []Object{s},
		Pods: pods(replicas, nodes, s.Name, "StatefulSet", s, func(i int32) string {
			return fmt.Sprintf("%s/%s-%d", s.Namespace, s.Name, i)
		}),
	}
}

func selects(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: app}}
}

func template(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{appLabel: app}}}
}

func controlledBy(apiVersion, kind string, owner metav1.Object) []metav1.OwnerReference {
	return []metav1.OwnerReference{
		{APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: ptr.To(true)}}
}

func pods(
	replicas int32, nodes []string, app, kind string, owner metav1.Object, name func(int32) string,
) []*corev1.Pod {
	var all []*corev1.Pod
	for i := range replicas {
		p := Pod(name(i))
		p.Labels = map[string]string{appLabel: app}
		p.OwnerReferences = controlledBy("apps/v1", kind, owner)
		if len(nodes) > 0 {
			p.Spec.NodeName = nodes[int(i)%len(nodes)]
		}
		all = append(all, p)
	}
	return all
}

// Pod returns a pod that is Running and Ready, without a controller, a label or a node.
func Pod(name string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: meta("Pod", name, true)}
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: Created}}
	return p
}

// NotReady makes a pod one that is Running and not Ready, and returns it.
func NotReady(p *corev1.Pod) *corev1.Pod {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == corev1.PodReady {
			p.Status.Conditions[i].Status = corev1.ConditionFalse
		}
	}
	return p
}

// Ended makes a pod one whose containers have ended: Succeeded, and not Ready.
func Ended(p *corev1.Pod) *corev1.Pod {
	p.Status.Phase = corev1.PodSucceeded
	return NotReady(p)
}

// Budget returns a PodDisruptionBudget over the pods of the workload of that name: those with the label
// app=<name>. Set MinAvailable or MaxUnavailable with the functions of these names.
func Budget(name string) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: meta("PodDisruptionBudget", name, true)}
	b.Spec.Selector = selects(b.Name)
	return b
}

// MinAvailable is [Budget] with spec.minAvailable, a number or a percentage: "2", "50%".
func MinAvailable(name, value string) *policyv1.PodDisruptionBudget {
	b := Budget(name)
	b.Spec.MinAvailable = ptr.To(intstr.Parse(value))
	return b
}

// MaxUnavailable is [Budget] with spec.maxUnavailable, a number or a percentage: "1", "30%".
func MaxUnavailable(name, value string) *policyv1.PodDisruptionBudget {
	b := Budget(name)
	b.Spec.MaxUnavailable = ptr.To(intstr.Parse(value))
	return b
}

// Node returns a node that is ready and has room for 110 pods, with the TTL annotation of a small cluster and the
// labels that the kubelet gives a Linux node. Its allocatable resources have no processor and no memory: set what your
// pods request.
func Node(name string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: meta("Node", name, false)}
	n.Labels = map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux",
		corev1.LabelArchStable: "amd64"}
	n.Annotations = map[string]string{ttl.Annotation: "0"}
	n.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

// ServiceCIDR returns a ServiceCIDR that is in use: with its finalizer, and Ready.
func ServiceCIDR(name string, cidrs ...string) *networkingv1.ServiceCIDR {
	c := &networkingv1.ServiceCIDR{ObjectMeta: meta("ServiceCIDR", name, false)}
	c.Finalizers = []string{servicecidr.Finalizer}
	c.Spec.CIDRs = cidrs
	c.Status.Conditions = []metav1.Condition{{
		Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue,
		Message: "Kubernetes Service CIDR is ready", LastTransitionTime: Created,
	}}
	return c
}

// Deleted gives an object a deletion timestamp, and returns it.
func Deleted[T Object](o T, at time.Time) T {
	o.SetDeletionTimestamp(&metav1.Time{Time: at})
	return o
}

// Address returns the IPAddress that the API server allocates for a Service, "shop/web".
func Address(ip, service string) *networkingv1.IPAddress {
	a := &networkingv1.IPAddress{ObjectMeta: meta("IPAddress", ip, false)}
	a.Name = ip // an IPv6 address has no slash, but colons
	family := corev1.IPv4Protocol
	if strings.Contains(ip, ":") {
		family = corev1.IPv6Protocol
	}
	a.Labels = map[string]string{
		networkingv1.LabelManagedBy: servicecidr.ManagedBy, networkingv1.LabelIPAddressFamily: string(family),
	}
	namespace, name, found := cutName(service)
	if !found {
		namespace = metav1.NamespaceDefault
	}
	a.Spec.ParentRef = &networkingv1.ParentReference{Resource: "services", Namespace: namespace, Name: name}
	return a
}

// ClusterRole returns a ClusterRole with these rules.
func ClusterRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: meta("ClusterRole", name, false), Rules: rules}
}

// AggregatedRole returns a ClusterRole that aggregates those with the label <label>=true.
func AggregatedRole(name, label string) *rbacv1.ClusterRole {
	r := ClusterRole(name)
	r.AggregationRule = &rbacv1.AggregationRule{
		ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{label: "true"}}}}
	return r
}

// ClaimFor gives the pod an entry of spec.resourceClaims, and returns the claim for it as it is while the pod
// runs: generated for the pod, named in its status, allocated, and reserved for it.
func ClaimFor(p *corev1.Pod, entry string) *resourcev1.ResourceClaim {
	c := Claim(p.Namespace+"/"+p.Name+"-"+entry, p)
	c.OwnerReferences = controlledBy("v1", "Pod", p)
	c.Annotations = map[string]string{resourceclaim.PodClaimAnnotation: entry}
	p.Spec.ResourceClaims = append(p.Spec.ResourceClaims,
		corev1.PodResourceClaim{Name: entry, ResourceClaimTemplateName: ptr.To(entry)})
	p.Status.ResourceClaimStatuses = append(p.Status.ResourceClaimStatuses,
		corev1.PodResourceClaimStatus{Name: entry, ResourceClaimName: ptr.To(c.Name)})
	return c
}

// Claim returns a ResourceClaim that is allocated, and reserved for the pods.
func Claim(name string, reservedFor ...*corev1.Pod) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: meta("ResourceClaim", name, true)}
	c.Finalizers = []string{resourcev1.Finalizer}
	c.Status.Allocation = &resourcev1.AllocationResult{}
	for _, p := range reservedFor {
		c.Status.ReservedFor = append(c.Status.ReservedFor,
			resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: p.Name, UID: p.UID})
	}
	return c
}
