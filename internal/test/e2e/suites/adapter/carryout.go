package adapter

import (
	"context"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/purekube/purekube"
)

// CarryOut makes the calls of a plan with the typed clients, whose calls Kubernetes' unit tests look at: a fake
// clientset has no REST client. Each call is reported to told, which may be nil.
func CarryOut[A purekube.Action](
	ctx context.Context, client kubernetes.Interface, actions []A, told func(purekube.Request, error),
) error {
	_, err := purekube.CarryOut(actions, func(request purekube.Request) (runtime.Object, error) {
		object, err := call(ctx, client, request)
		if told != nil {
			told(request, err)
		}
		return object, err
	}, nil)
	return err
}

func call(ctx context.Context, client kubernetes.Interface, r purekube.Request) (runtime.Object, error) {
	if r.Object != nil {
		// A fake clientset keeps objects as they are sent; typed clients send them without these fields.
		r.Object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	var options metav1.PatchOptions
	options.FieldManager = r.FieldManager
	if r.Force {
		options.Force = &r.Force
	}
	var subresources []string
	if r.Subresource != "" {
		subresources = []string{r.Subresource}
	}
	switch r.Resource.Resource + " " + r.Verb + " " + r.Subresource {
	case "nodes patch ":
		return client.CoreV1().Nodes().Patch(ctx, r.Name, r.PatchType, r.Patch, options)
	case "servicecidrs patch ", "servicecidrs patch status":
		return client.NetworkingV1().ServiceCIDRs().Patch(ctx, r.Name, r.PatchType, r.Patch, options, subresources...)
	case "clusterroles patch ":
		return client.RbacV1().ClusterRoles().Patch(ctx, r.Name, r.PatchType, r.Patch, options)
	case "poddisruptionbudgets patch status":
		return client.PolicyV1().PodDisruptionBudgets(r.Namespace).Patch(ctx, r.Name, r.PatchType, r.Patch, options,
			subresources...)
	case "pods patch status":
		return client.CoreV1().Pods(r.Namespace).Patch(ctx, r.Name, r.PatchType, r.Patch, options, subresources...)
	case "podgroups patch status":
		return client.SchedulingV1alpha2().PodGroups(r.Namespace).Patch(ctx, r.Name, r.PatchType, r.Patch, options,
			subresources...)
	case "resourceclaims create ":
		return client.ResourceV1().ResourceClaims(r.Namespace).Create(ctx, r.Object.(*resourcev1.ResourceClaim),
			metav1.CreateOptions{})
	case "resourceclaims patch ", "resourceclaims patch status":
		return client.ResourceV1().ResourceClaims(r.Namespace).Patch(ctx, r.Name, r.PatchType, r.Patch, options,
			subresources...)
	case "resourceclaims delete ":
		return nil, client.ResourceV1().ResourceClaims(r.Namespace).Delete(ctx, r.Name,
			metav1.DeleteOptions{Preconditions: r.Preconditions})
	}
	return nil, fmt.Errorf("no client for %s", r)
}
