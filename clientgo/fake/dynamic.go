package fake

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/testing"
)

// NewDynamicClient returns a dynamic client for the objects of a clientset that [NewClientset] made. The clientset
// answers its requests, records them as its Actions, and asks its own reactors.
func NewDynamicClient(clientset *fake.Clientset) *dynamicfake.FakeDynamicClient {
	client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
	client.PrependReactor("*", "*", func(action testing.Action) (bool, runtime.Object, error) {
		action, err := typedAction(action)
		if err != nil {
			return true, nil, err
		}
		answer, err := clientset.Invokes(action, nil)
		if err != nil || answer == nil {
			return true, nil, err
		}
		o, err := untyped(answer)
		return true, o, err
	})
	client.PrependWatchReactor("*", func(action testing.Action) (bool, watch.Interface, error) {
		typed, err := clientset.InvokesWatch(action)
		if err != nil {
			return true, nil, err
		}
		return true, watch.Filter(typed, func(e watch.Event) (watch.Event, bool) {
			o, err := untyped(e.Object)
			e.Object = o
			return e, err == nil
		}), nil
	})
	return client
}

// typedAction is the action with an object of the type that client-go has for its kind.
func typedAction(action testing.Action) (testing.Action, error) {
	switch a := action.(type) {
	case testing.CreateActionImpl:
		o, err := typed(a.Object)
		a.Object = o
		return a, err
	case testing.UpdateActionImpl:
		o, err := typed(a.Object)
		a.Object = o
		return a, err
	}
	return action, nil
}

func typed(o runtime.Object) (runtime.Object, error) {
	u, is := o.(*unstructured.Unstructured)
	if !is {
		return o, nil
	}
	t, err := scheme.Scheme.New(u.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	return t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, t)
}

// untyped returns a list as an UnstructuredList.
func untyped(o runtime.Object) (runtime.Object, error) {
	o = o.DeepCopyObject()
	kinds, _, err := scheme.Scheme.ObjectKinds(o)
	if err != nil {
		return nil, err
	}
	o.GetObjectKind().SetGroupVersionKind(kinds[0])
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	if u.IsList() {
		return u.ToList()
	}
	return u, nil
}
