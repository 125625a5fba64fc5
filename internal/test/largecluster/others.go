package largecluster

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Nodes has so many nodes, node-00000 and on, with the same TTL annotation.
func Nodes(count int, ttl string) Cluster {
	var c Cluster
	for i := range count {
		name := fmt.Sprintf("node-%05d", i)
		c.Nodes = append(c.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{corev1.LabelHostname: name},
			Annotations: map[string]string{corev1.ObjectTTLAnnotationKey: ttl, "other": "kept"},
		}})
	}
	return c
}

// Claims has that many running pods, each with a generated claim that is allocated
// and reserved for it. Of the pods, every doneEvery-th has succeeded; 0: none.
func Claims(pods, doneEvery int) Cluster {
	const ns = "ml"
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: "gpu", UID: "uid-gpu", ResourceVersion: "50",
	}}
	template.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{
		Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", Count: 1},
	}}
	c := Cluster{Templates: []*resourcev1.ResourceClaimTemplate{template}}
	for i := range pods {
		claimName := fmt.Sprintf("worker-%d-gpu-x4z9k", i)
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: fmt.Sprintf("worker-%d", i), ResourceVersion: "100",
			UID: types.UID(fmt.Sprintf("4de993c4-133e-463f-aac8-%012d", i)),
		}}
		p.Spec.NodeName = "node-1"
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu")}}
		p.Status.Phase = corev1.PodRunning
		if doneEvery > 0 && i%doneEvery == 0 {
			p.Status.Phase = corev1.PodSucceeded
		}
		p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &claimName}}
		claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: claimName, ResourceVersion: "200",
			UID:         types.UID(fmt.Sprintf("914111d9-2462-4b9b-842a-%012d", i)),
			Finalizers:  []string{resourcev1.Finalizer},
			Annotations: map[string]string{"resource.kubernetes.io/pod-claim-name": "gpu"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "Pod", Name: p.Name, UID: p.UID, Controller: ptr.To(true),
			}},
		}}
		claim.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
			Results: []resourcev1.DeviceRequestAllocationResult{{
				Request: "gpu", Driver: "gpu.example.com", Pool: "p", Device: "d-" + claimName,
			}},
		}}
		claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{
			Resource: "pods", Name: p.Name, UID: p.UID,
		}}
		c.Pods, c.Claims = append(c.Pods, p), append(c.Claims, claim)
	}
	return c
}

// Rule is the i-th of many rules.
func Rule(i int) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		Verbs:     []string{"get", "list", "watch"},
		APIGroups: []string{fmt.Sprintf("group-%d.example.com", i/10)},
		Resources: []string{fmt.Sprintf("resources%d", i), fmt.Sprintf("resources%d/status", i)},
	}
}

// ClusterRoles has n ClusterRoles as charts and operators bring them, three aggregated roles over each other, and
// for each hundred of the others one more aggregated role. No rules are aggregated yet.
func ClusterRoles(n int) Cluster {
	var c Cluster
	role := func(name string, labels map[string]string, rules []rbacv1.PolicyRule, of ...string) {
		r := &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: labels}, Rules: rules,
		}
		if len(of) > 0 {
			r.AggregationRule = &rbacv1.AggregationRule{}
		}
		for _, label := range of {
			r.AggregationRule.ClusterRoleSelectors = append(r.AggregationRule.ClusterRoleSelectors,
				metav1.LabelSelector{MatchLabels: map[string]string{label: "true"}})
		}
		c.ClusterRoles = append(c.ClusterRoles, r)
	}
	role("admin", nil, nil, "to-admin", "edits")
	role("edit", map[string]string{"edits": "true"}, nil, "to-edit", "views")
	role("view", map[string]string{"views": "true"}, nil, "to-view")
	for i := range 30 {
		to := "to-" + []string{"admin", "edit", "view"}[i%3]
		role(fmt.Sprintf("system:%02d", i), map[string]string{to: "true"}, []rbacv1.PolicyRule{Rule(i)})
	}
	for i := range n {
		name, group := fmt.Sprintf("operator-%07d", i), fmt.Sprint("group-", i/100)
		labels := map[string]string{
			"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "Helm", "team": fmt.Sprint("team-", i%100),
		}
		var of []string
		switch {
		case i%100 == 0:
			of = []string{group}
		case i%100 < 10:
			labels[group] = "true"
		}
		role(name, labels, []rbacv1.PolicyRule{Rule(i)}, of...)
	}
	return c
}

// Addresses has so many ServiceCIDRs and addresses in them. Of four ServiceCIDRs one stays, one is
// being deleted while it is in use, one while a larger one contains it, and one of two
// families while a larger one contains a part of it. dying is how many of them are being deleted, of four.
func Addresses(cidrs, addresses, dying int) Cluster {
	var c Cluster
	longAgo := Now.Add(-time.Hour)
	cidr := func(name string, prefixes ...string) *networkingv1.ServiceCIDR {
		o := &networkingv1.ServiceCIDR{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, UID: types.UID("uid-of-" + name),
				Finalizers: []string{"networking.k8s.io/service-cidr-finalizer"},
			},
			Spec: networkingv1.ServiceCIDRSpec{CIDRs: prefixes},
			Status: networkingv1.ServiceCIDRStatus{Conditions: []metav1.Condition{{
				Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue,
				Message: "Kubernetes Service CIDR is ready", LastTransitionTime: metav1.NewTime(longAgo),
			}}},
		}
		c.ServiceCIDRs = append(c.ServiceCIDRs, o)
		return o
	}
	address := func(name, family string) {
		c.IPAddresses = append(c.IPAddresses, &networkingv1.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
				networkingv1.LabelManagedBy: "ipallocator.k8s.io", networkingv1.LabelIPAddressFamily: family,
			}},
			Spec: networkingv1.IPAddressSpec{
				ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: "shop", Name: "s-" + name},
			},
		})
	}
	cidr("around", "10.128.0.0/9", "fd00:0:0:8000::/49")
	// A quarter of the ServiceCIDRs is inside the first, which stays.
	four := func(i, host int) string {
		return fmt.Sprintf("10.%d.%d.%d", i%4*64+i/4/64%64, i/4%64*4+host>>8, host&255)
	}
	six := func(i int) string { return fmt.Sprintf("fd00:0:0:%x", i) }
	for i := range cidrs - 1 {
		o := cidr(fmt.Sprintf("cidr-%05d", i), four(i, 0)+"/22")
		if i%4 == 3 {
			o.Spec.CIDRs = append(o.Spec.CIDRs, six(i)+"::/64")
		}
		if i%4 < dying {
			o.DeletionTimestamp = &metav1.Time{Time: longAgo.Add(time.Duration(i%7) * time.Second)}
		}
	}
	for i := range addresses {
		at := i % (cidrs - 1)
		host := i/(cidrs-1) + 1
		if at%4 == 3 && host%2 == 0 {
			address(fmt.Sprintf("%s::%x", six(at), host), "IPv6")
			continue
		}
		address(four(at, host), "IPv4")
	}
	return c
}
