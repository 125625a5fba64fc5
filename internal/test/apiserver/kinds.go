package apiserver

import (
	"fmt"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

type kind struct {
	schema.GroupVersionKind
	// make returns a new object.
	make func() Object
	// listMaps are the lists that a server-side apply merges by a key, by their path; every
	// other list is written as a whole.
	listMaps map[string]string
}

// kinds are the kinds that the plans read or write, the kinds of the controllers that
// internal/test/upstream/eviction/fleet runs, and Leases.
var kinds = map[schema.GroupVersionResource]kind{
	networkingv1.SchemeGroupVersion.WithResource("servicecidrs"): {
		networkingv1.SchemeGroupVersion.WithKind("ServiceCIDR"), func() Object { return &networkingv1.ServiceCIDR{} },
		map[string]string{"status.conditions": "type"}},
	networkingv1.SchemeGroupVersion.WithResource("ipaddresses"): {
		networkingv1.SchemeGroupVersion.WithKind("IPAddress"), func() Object { return &networkingv1.IPAddress{} }, nil},
	corev1.SchemeGroupVersion.WithResource("pods"): {
		corev1.SchemeGroupVersion.WithKind("Pod"), func() Object { return &corev1.Pod{} },
		map[string]string{"status.resourceClaimStatuses": "name"}},
	corev1.SchemeGroupVersion.WithResource("nodes"): {
		corev1.SchemeGroupVersion.WithKind("Node"), func() Object { return &corev1.Node{} }, nil},
	corev1.SchemeGroupVersion.WithResource("replicationcontrollers"): {
		corev1.SchemeGroupVersion.WithKind("ReplicationController"), func() Object {
			return &corev1.ReplicationController{}
		}, nil},
	resourcev1.SchemeGroupVersion.WithResource("resourceclaims"): {
		resourcev1.SchemeGroupVersion.WithKind("ResourceClaim"), func() Object { return &resourcev1.ResourceClaim{} }, nil},
	resourcev1.SchemeGroupVersion.WithResource("resourceclaimtemplates"): {
		resourcev1.SchemeGroupVersion.WithKind("ResourceClaimTemplate"), func() Object {
			return &resourcev1.ResourceClaimTemplate{}
		}, nil},
	PodGroups: {
		PodGroups.GroupVersion().WithKind("PodGroup"), func() Object { return &PodGroup{} },
		map[string]string{"status.resourceClaimStatuses": "name"}},
	rbacv1.SchemeGroupVersion.WithResource("clusterroles"): {
		rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), func() Object { return &rbacv1.ClusterRole{} }, nil},
	policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"): {
		policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), func() Object {
			return &policyv1.PodDisruptionBudget{}
		}, nil},
	appsv1.SchemeGroupVersion.WithResource("deployments"): {
		appsv1.SchemeGroupVersion.WithKind("Deployment"), func() Object { return &appsv1.Deployment{} }, nil},
	appsv1.SchemeGroupVersion.WithResource("replicasets"): {
		appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), func() Object { return &appsv1.ReplicaSet{} }, nil},
	appsv1.SchemeGroupVersion.WithResource("statefulsets"): {
		appsv1.SchemeGroupVersion.WithKind("StatefulSet"), func() Object { return &appsv1.StatefulSet{} }, nil},
	appsv1.SchemeGroupVersion.WithResource("controllerrevisions"): {
		appsv1.SchemeGroupVersion.WithKind("ControllerRevision"), func() Object { return &appsv1.ControllerRevision{} }, nil},
	batchv1.SchemeGroupVersion.WithResource("jobs"): {
		batchv1.SchemeGroupVersion.WithKind("Job"), func() Object { return &batchv1.Job{} }, nil},
	coordinationv1.SchemeGroupVersion.WithResource("leases"): {
		coordinationv1.SchemeGroupVersion.WithKind("Lease"), func() Object { return &coordinationv1.Lease{} }, nil},
}

func resourceOf(o Object) schema.GroupVersionResource {
	for resource, k := range kinds {
		if reflect.TypeOf(k.make()) == reflect.TypeOf(o) {
			return resource
		}
	}
	panic(fmt.Sprintf("no plan reads or writes a %T", o))
}

// tree is the object as JSON has it.
func tree(o Object) map[string]any {
	t, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		panic(err) // typed objects always convert
	}
	return t
}

// object is the typed object of a tree, without its kind.
func (k kind) object(t map[string]any) (Object, error) {
	o := k.make()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(t, o); err != nil {
		return nil, err
	}
	o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return o, nil
}

// typed is a copy of the object as a typed client returns it: without apiVersion and kind, whatever it came with.
func typed(o runtime.Object) Object {
	c := o.DeepCopyObject().(Object)
	c.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return c
}

// merged is what a write of o makes of the object before: of its status only, or of all but its status.
func merged(before, o Object, subresource string) Object {
	k := kinds[resourceOf(before)]
	from, to := tree(o), tree(before)
	if subresource == "status" {
		to["status"] = from["status"]
		from = to
	} else {
		from["status"] = to["status"]
		was := to["metadata"].(map[string]any)
		is := from["metadata"].(map[string]any)
		// These are the server's.
		for _, name := range []string{"uid", "creationTimestamp", "deletionTimestamp", "generation"} {
			delete(is, name)
			if v, there := was[name]; there {
				is[name] = v
			}
		}
	}
	if from["status"] == nil {
		delete(from, "status")
	}
	after, err := k.object(from)
	if err != nil {
		panic(err) // both came from typed objects
	}
	return after
}
