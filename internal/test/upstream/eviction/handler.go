package eviction

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	policyclient "k8s.io/client-go/kubernetes/typed/policy/v1"
	api "k8s.io/kubernetes/pkg/apis/core"
	convert "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/policy"
	"k8s.io/kubernetes/pkg/registry/core/pod/storage"
)

// Answer is what an eviction comes to.
type Answer struct {
	// Code is the HTTP status; Text the message of a refusal and its causes.
	Code int32
	Text string
	// ResourceVersion is the precondition of deleting the pod.
	ResourceVersion string
	// Update is the budget as written.
	Update *policyv1.PodDisruptionBudget
	// Pod is the pod as the handler left it before it deleted it; nil if it refused.
	Pod *corev1.Pod
}

// Evict is the answer of the real handler of the API server to the eviction of a pod, when these are
// the budgets of its namespace.
func Evict(pod *corev1.Pod, budgets []*policyv1.PodDisruptionBudget) (Answer, error) {
	store, client := &podStore{pod: &api.Pod{}}, &budgetClient{}
	if err := convert.Convert_v1_Pod_To_core_Pod(pod.DeepCopy(), store.pod, nil); err != nil {
		return Answer{}, err
	}
	for _, b := range budgets {
		client.list = append(client.list, *b.DeepCopy())
	}
	handler := &storage.EvictionREST{}
	setField(handler, "store", rest.StandardStorage(store))
	setField(handler, "podDisruptionBudgetClient", policyclient.PodDisruptionBudgetsGetter(client))

	body := &policy.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}}
	out, err := handler.Create(context.Background(), pod.Name, body, nil, &metav1.CreateOptions{})
	status, _ := out.(*metav1.Status)
	if err != nil {
		var refused *apierrors.StatusError
		if !errors.As(err, &refused) {
			return Answer{}, err
		}
		status = &refused.ErrStatus
	}
	a := Answer{Code: status.Code, Text: status.Message, Update: client.updated}
	if status.Status == metav1.StatusSuccess {
		a.Code, a.Text = 201, ""
	}
	// Since v1.37 a 403 has a cause, which says the same as its message.
	if status.Details != nil && a.Code != 403 {
		for _, c := range status.Details.Causes {
			a.Text += " " + c.Message
		}
	}
	if (store.deleted != nil) != (a.Code == 201) {
		return Answer{}, fmt.Errorf("answered %d, pod deleted: %t", a.Code, store.deleted != nil)
	}
	if store.deleted == nil {
		return a, nil
	}
	if p := store.deleted.Preconditions; p != nil && p.ResourceVersion != nil {
		a.ResourceVersion = *p.ResourceVersion
	}
	a.Pod = &corev1.Pod{}
	return a, convert.Convert_core_Pod_To_v1_Pod(store.pod, a.Pod, nil)
}

// setField sets a field that the handler's package keeps to itself: its constructor is not exported, and
// the one around it wants etcd.
func setField(handler *storage.EvictionREST, name string, value any) {
	f := reflect.ValueOf(handler).Elem().FieldByName(name)
	reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().Set(reflect.ValueOf(value))
}

// podStore holds one pod.
type podStore struct {
	rest.StandardStorage
	pod     *api.Pod
	deleted *metav1.DeleteOptions
}

func (s *podStore) Get(context.Context, string, *metav1.GetOptions) (runtime.Object, error) {
	return s.pod.DeepCopy(), nil
}

func (s *podStore) Update(ctx context.Context, _ string, info rest.UpdatedObjectInfo, _ rest.ValidateObjectFunc,
	_ rest.ValidateObjectUpdateFunc, _ bool, _ *metav1.UpdateOptions) (runtime.Object, bool, error) {
	updated, err := info.UpdatedObject(ctx, s.pod)
	if err == nil {
		s.pod = updated.(*api.Pod)
	}
	return updated, false, err
}

func (s *podStore) Delete(
	_ context.Context, _ string, _ rest.ValidateObjectFunc, o *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	s.deleted = o
	return nil, true, nil
}

// budgetClient hands out a list of budgets and takes one update.
type budgetClient struct {
	policyclient.PodDisruptionBudgetInterface
	list    []policyv1.PodDisruptionBudget
	updated *policyv1.PodDisruptionBudget
}

func (c *budgetClient) PodDisruptionBudgets(string) policyclient.PodDisruptionBudgetInterface {
	return c
}

func (c *budgetClient) List(context.Context, metav1.ListOptions) (*policyv1.PodDisruptionBudgetList, error) {
	return &policyv1.PodDisruptionBudgetList{Items: c.list}, nil
}

func (c *budgetClient) UpdateStatus(
	_ context.Context, b *policyv1.PodDisruptionBudget, _ metav1.UpdateOptions,
) (*policyv1.PodDisruptionBudget, error) {
	c.updated = b.DeepCopy()
	return b, nil
}
