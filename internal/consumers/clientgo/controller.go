// Package clientgo plans from informer caches and sends with client-go's dynamic client.
package clientgo

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// Roles plans for one ClusterRole from the informer's cache.
func Roles(factory informers.SharedInformerFactory, name string) (rbacaggregate.Result, error) {
	roles, err := factory.Rbac().V1().ClusterRoles().Lister().List(labels.Everything())
	if err != nil {
		return rbacaggregate.Result{}, err
	}
	return rbacaggregate.Plan(rbacaggregate.Snapshot{ClusterRoles: roles}, name, rbacaggregate.Options{})
}

// Claims plans for one key from the informers' caches.
func Claims(factory informers.SharedInformerFactory, key resourceclaim.Key) (resourceclaim.Result, error) {
	pods, err := factory.Core().V1().Pods().Lister().List(labels.Everything())
	if err != nil {
		return resourceclaim.Result{}, err
	}
	claims, err := factory.Resource().V1().ResourceClaims().Lister().List(labels.Everything())
	if err != nil {
		return resourceclaim.Result{}, err
	}
	templates, err := factory.Resource().V1().ResourceClaimTemplates().Lister().List(labels.Everything())
	if err != nil {
		return resourceclaim.Result{}, err
	}
	return resourceclaim.Plan(resourceclaim.Snapshot{Pods: pods, Claims: claims, Templates: templates}, key, resourceclaim.Options{})
}

// Ranges answers for every ServiceCIDR whether it may be deleted.
func Ranges(factory informers.SharedInformerFactory) (safe map[string]bool, err error) {
	ranges, err := factory.Networking().V1().ServiceCIDRs().Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	addresses, err := factory.Networking().V1().IPAddresses().Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	s := servicecidr.Snapshot{Now: time.Now(), ServiceCIDRs: ranges, IPAddresses: addresses}
	safe = map[string]bool{}
	for _, r := range ranges {
		deletion, err := servicecidr.CheckDeletion(s, r.Name, servicecidr.Options{})
		safe[r.Name] = err == nil && deletion.Safe
	}
	return safe, nil
}

// Nodes plans for every node.
func Nodes(factory informers.SharedInformerFactory) ([]ttl.Outcome, error) {
	nodes, err := factory.Core().V1().Nodes().Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	_, outcomes, err := ttl.PlanAll(ttl.Snapshot{Nodes: nodes}, ttl.Options{})
	return outcomes, err
}

// Send makes the calls that the actions of one plan ask for.
func Send[A purekube.Action](ctx context.Context, client dynamic.Interface, actions []A) error {
	var done []runtime.Object
	var failed error
	for _, action := range actions {
		request := action.Request(done)
		returned, err := call(ctx, client, request)
		done = append(done, returned)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", request, err))
			if !request.GoOn {
				break
			}
		}
	}
	return failed
}

// call makes the call of one request.
func call(ctx context.Context, client dynamic.Interface, r purekube.Request) (runtime.Object, error) {
	objects := client.Resource(r.Resource).Namespace(r.Namespace)
	var subresources []string
	if r.Subresource != "" {
		subresources = []string{r.Subresource}
	}
	switch r.Verb {
	case "create", "update":
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r.Object)
		if err != nil {
			return nil, err
		}
		body := &unstructured.Unstructured{Object: content}
		if r.Verb == "create" {
			return answer(objects.Create(ctx, body, metav1.CreateOptions{FieldManager: r.FieldManager}, subresources...))
		}
		return answer(objects.Update(ctx, body, metav1.UpdateOptions{FieldManager: r.FieldManager}, subresources...))
	case "patch":
		options := metav1.PatchOptions{FieldManager: r.FieldManager}
		if r.Force {
			options.Force = &r.Force
		}
		return answer(objects.Patch(ctx, r.Name, r.PatchType, r.Patch, options, subresources...))
	case "delete":
		return nil, objects.Delete(ctx, r.Name, metav1.DeleteOptions{Preconditions: r.Preconditions}, subresources...)
	}
	return nil, fmt.Errorf("%s: unknown verb", r)
}

// answer keeps a nil pointer from becoming an object that is not nil.
func answer(o *unstructured.Unstructured, err error) (runtime.Object, error) {
	if err != nil {
		return nil, err
	}
	return o, nil
}
