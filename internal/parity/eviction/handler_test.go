package eviction

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
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

// answer is what an eviction comes to.
type answer struct {
	// Code is the HTTP status; Text the message of a refusal and its causes.
	Code int32
	Text string
	// ResourceVersion is the precondition of deleting the pod.
	ResourceVersion string
	// Update is the budget as written, JSON.
	Update string
}

// evict is the answer of the real handler for the pod that the store holds.
func evict(t *testing.T, pods *podStore, budgets *budgetClient) answer {
	t.Helper()
	handler := &storage.EvictionREST{}
	setField(handler, "store", rest.StandardStorage(pods))
	setField(handler, "podDisruptionBudgetClient", policyclient.PodDisruptionBudgetsGetter(budgets))

	name := pods.pod.Name
	body := &policy.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name}}
	out, err := handler.Create(context.Background(), name, body, nil, &metav1.CreateOptions{})
	status, _ := out.(*metav1.Status)
	if err != nil {
		var refused *apierrors.StatusError
		if !errors.As(err, &refused) {
			t.Fatal(err)
		}
		status = &refused.ErrStatus
	}
	var a answer
	if a.Code = status.Code; status.Status == metav1.StatusSuccess {
		a.Code = 201
	} else {
		a.Text = status.Message
	}
	// Since v1.37 a 403 has a cause, which says the same as its message.
	if status.Details != nil && a.Code != 403 {
		for _, c := range status.Details.Causes {
			a.Text += " " + c.Message
		}
	}
	if (pods.deleted != nil) != (a.Code == 201) {
		t.Fatalf("answered %d, pod deleted: %t", a.Code, pods.deleted != nil)
	}
	if pods.deleted != nil && pods.deleted.Preconditions != nil && pods.deleted.Preconditions.ResourceVersion != nil {
		a.ResourceVersion = *pods.deleted.Preconditions.ResourceVersion
	}
	a.Update = asJSON(t, budgets.updated)
	return a
}

func asJSON(t *testing.T, b *policyv1.PodDisruptionBudget) string {
	t.Helper()
	if b == nil {
		return ""
	}
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
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

func storeOf(t *testing.T, pod *corev1.Pod) *podStore {
	t.Helper()
	s := &podStore{pod: &api.Pod{}}
	if err := convert.Convert_v1_Pod_To_core_Pod(pod.DeepCopy(), s.pod, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// stored is the pod as the handler left it.
func (s *podStore) stored(t *testing.T) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	if err := convert.Convert_core_Pod_To_v1_Pod(s.pod, pod, nil); err != nil {
		t.Fatal(err)
	}
	return pod
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

func (s *podStore) Delete(_ context.Context, _ string, _ rest.ValidateObjectFunc, o *metav1.DeleteOptions) (runtime.Object, bool, error) {
	s.deleted = o
	return nil, true, nil
}

// budgetClient hands out a list of budgets and takes one update.
type budgetClient struct {
	policyclient.PodDisruptionBudgetInterface
	list    []policyv1.PodDisruptionBudget
	updated *policyv1.PodDisruptionBudget
}

func clientOf(list []*policyv1.PodDisruptionBudget) *budgetClient {
	c := &budgetClient{}
	for _, b := range list {
		c.list = append(c.list, *b.DeepCopy())
	}
	return c
}

func (c *budgetClient) PodDisruptionBudgets(string) policyclient.PodDisruptionBudgetInterface {
	return c
}

func (c *budgetClient) List(context.Context, metav1.ListOptions) (*policyv1.PodDisruptionBudgetList, error) {
	return &policyv1.PodDisruptionBudgetList{Items: c.list}, nil
}

func (c *budgetClient) UpdateStatus(_ context.Context, b *policyv1.PodDisruptionBudget, _ metav1.UpdateOptions) (*policyv1.PodDisruptionBudget, error) {
	c.updated = b.DeepCopy()
	return b, nil
}
