package admission_test

import (
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/servicecidr"
)

// request is a review of an object as an API server sends it.
func request(group, resource string, operation admissionv1.Operation, o purekubetest.Object) *admissionv1.AdmissionRequest {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	r := &admissionv1.AdmissionRequest{
		UID: "1", Resource: metav1.GroupVersionResource{Group: group, Version: "v1", Resource: resource},
		Namespace: o.GetNamespace(), Name: o.GetName(), Operation: operation,
	}
	if operation == admissionv1.Delete {
		r.OldObject = runtime.RawExtension{Raw: text}
	} else {
		r.Object = runtime.RawExtension{Raw: text}
	}
	return r
}

// A ClusterRole with the label for view would give view secrets.
func ExampleClusterRoleWrite() {
	team := purekubetest.ClusterRole("team", rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}})
	team.Labels = map[string]string{"to-view": "true"}
	object, err := json.Marshal(team)
	if err != nil {
		fmt.Println(err)
		return
	}
	request := &admissionv1.AdmissionRequest{ // the request of the AdmissionReview that the API server sends
		UID: "1", Operation: admissionv1.Create, Name: team.Name, Object: runtime.RawExtension{Raw: object},
		Resource: metav1.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
	}

	roles := []*rbacv1.ClusterRole{purekubetest.AggregatedRole("view", "to-view")} // list them for the review
	index := rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: roles}, rbacaggregate.Options{})
	response := admission.ClusterRoleWrite(index, request, admission.ClusterRoleOptions{
		Allowed: map[string][]rbacv1.PolicyRule{
			"view": {{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"*"}, Resources: []string{"pods", "services"}}},
		},
	})
	fmt.Println(response.Allowed, response.Result.Code, response.Result.Message)
	// Output:
	// false 403 ClusterRole view would get a rule that is not allowed for it: ["get"] on ["secrets"] of [""] (team has the rule)
}

// The only range of an address.
func ExampleServiceCIDRDelete() {
	review := request("networking.k8s.io", "servicecidrs", admissionv1.Delete, purekubetest.ServiceCIDR("services", "10.96.0.0/24"))

	addresses := []*networkingv1.IPAddress{purekubetest.Address("10.96.0.7", "shop/web")} // list them for the review
	index := servicecidr.NewIndex(servicecidr.Snapshot{IPAddresses: addresses}, servicecidr.Options{})
	response := admission.ServiceCIDRDelete(index, review)
	fmt.Println(response.Allowed, response.Result.Code, response.Result.Message)
	// Output:
	// false 409 ServiceCIDR services is the only range of 10.96.0.7 (Service shop/web)
}

// List ClusterRoles for a review if its answer depends on them.
func ExampleReadsClusterRoles() {
	protected := admission.ClusterRoleOptions{Allowed: map[string][]rbacv1.PolicyRule{"view": nil}}
	for _, operation := range []admissionv1.Operation{admissionv1.Create, admissionv1.Delete} {
		review := request("rbac.authorization.k8s.io", "clusterroles", operation, purekubetest.ClusterRole("team"))
		fmt.Println(operation, admission.ReadsClusterRoles(review, protected))
	}
	// Output:
	// CREATE true
	// DELETE false
}

// One of two pods has to stay, and the other one is not ready.
func ExampleEviction() {
	web, budget := purekubetest.StatefulSet("shop/web", 2), purekubetest.MaxUnavailable("shop/web", "1")
	purekubetest.NotReady(web.Pods[0])
	snapshot := disruption.Snapshot{ // from your caches
		Now: purekubetest.Created.Time, Budgets: []*policyv1.PodDisruptionBudget{budget}, Pods: web.Pods,
		StatefulSets: []*appsv1.StatefulSet{web.Controllers[0].(*appsv1.StatefulSet)},
	}
	index := disruption.NewIndex(snapshot, disruption.Options{})

	review := request("", "pods", admissionv1.Create, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1"}})
	review.SubResource = "eviction"
	response := admission.Eviction(index, review, admission.EvictionOptions{})
	fmt.Println(response.Allowed, response.Result.Code, response.Result.Reason)
	fmt.Println(response.Result.Message)
	// Output:
	// false 429 TooManyRequests
	// Cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 1 healthy pods and has 1 currently
}

// A budget that allows no disruption: its writer is warned.
func ExampleBudgetWrite() {
	index := disruption.NewIndex(disruption.Snapshot{}, disruption.Options{})
	review := request("policy", "poddisruptionbudgets", admissionv1.Create, purekubetest.MaxUnavailable("shop/web", "0"))
	response := admission.BudgetWrite(index, review, admission.BudgetOptions{})
	fmt.Println(response.Allowed, response.Warnings[0])
	// Output:
	// true PodDisruptionBudget shop/web never allows a disruption: nodes with its pods cannot be drained
}

// Decide picks the decision. Until the objects are known, every decision refuses.
func ExampleDecide() {
	review := request("policy", "poddisruptionbudgets", admissionv1.Create, purekubetest.MaxUnavailable("shop/web", "0"))
	response := admission.Decide(admission.Indexes{}, review, admission.Options{})
	fmt.Println(response.Allowed, response.Result.Code, response.Result.Message)
	// Output:
	// false 503 the webhook is still reading the objects of the cluster; try again
}
