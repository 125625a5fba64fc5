package disruption

import (
	"context"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"example.com/purekube-suites/adapter"

	"github.com/purekube/purekube"
	core "github.com/purekube/purekube/disruption"
)

func (dc *DisruptionController) sync(ctx context.Context, key string) error {
	result, err := dc.plan(ctx, core.BudgetKey, key)
	if err != nil {
		return err
	}
	for _, e := range result.Events {
		dc.recorder.Event(&e.Regarding, e.Type, e.Reason, e.Message)
	}
	if !result.RecheckAt.IsZero() {
		dc.recheckQueue.AddAfter(key, result.RecheckAt.Sub(dc.clock.Now()))
	}
	for _, action := range result.Actions {
		err = errors.Join(err, dc.getUpdater()(ctx, action.(core.UpdateStatus).Budget))
	}
	return err
}

func (dc *DisruptionController) syncStalePodDisruption(ctx context.Context, key string) error {
	result, err := dc.plan(ctx, core.PodKey, key)
	if err != nil {
		return err
	}
	if !result.RecheckAt.IsZero() {
		dc.stalePodDisruptionQueue.AddAfter(key, result.RecheckAt.Sub(dc.clock.Now()))
	}
	return adapter.CarryOut(ctx, dc.kubeClient, result.Actions, nil)
}

func (dc *DisruptionController) plan(ctx context.Context, keyOf func(namespace, name string) purekube.Key, key string) (core.Result, error) {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return core.Result{}, err
	}
	all := labels.Everything()
	s := core.Snapshot{Now: dc.clock.Now(), Answers: map[purekube.Need]purekube.Answer{}}
	var errs [6]error
	s.Budgets, errs[0] = dc.pdbLister.List(all)
	s.Pods, errs[1] = dc.podLister.List(all)
	s.ReplicationControllers, errs[2] = dc.rcLister.List(all)
	s.ReplicaSets, errs[3] = dc.rsLister.List(all)
	s.Deployments, errs[4] = dc.dLister.List(all)
	s.StatefulSets, errs[5] = dc.ssLister.List(all)
	if err := errors.Join(errs[:]...); err != nil {
		return core.Result{}, err
	}
	o := adapter.Options().Disruption
	o.StaleDisruptionTimeout = &dc.stalePodDisruptionTimeout
	for range 8 {
		// What is wrong with an object is in the budget's condition.
		result, _ := core.Plan(s, keyOf(namespace, name), o)
		if len(result.Needs) == 0 {
			return result, nil
		}
		s.Answers = maps.Clone(s.Answers)
		for _, n := range result.Needs {
			s.Answers[n] = dc.answer(ctx, n)
		}
	}
	return core.Result{}, fmt.Errorf("%s is never answered", key)
}

func (dc *DisruptionController) answer(ctx context.Context, n purekube.Need) purekube.Answer {
	found, err := dc.lookUp(ctx, n)
	switch {
	case apierrors.IsNotFound(err):
		return purekube.Answer{}
	case err != nil:
		return purekube.Answer{Err: err}
	}
	return purekube.Answer{Object: found}
}

func (dc *DisruptionController) lookUp(ctx context.Context, n purekube.Need) (any, error) {
	if n.Subresource == "" {
		return dc.kubeClient.AppsV1().ReplicaSets(n.Namespace).Get(ctx, n.Name, metav1.GetOptions{})
	}
	gv, err := schema.ParseGroupVersion(n.APIVersion)
	if err != nil {
		return nil, err
	}
	mapping, err := dc.mapper.RESTMapping(schema.GroupKind{Group: gv.Group, Kind: n.Kind}, gv.Version)
	if err != nil {
		return nil, err
	}
	resource := mapping.Resource.GroupResource()
	scale, err := dc.scaleNamespacer.Scales(n.Namespace).Get(ctx, resource, n.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		has, unclear := dc.implementsScale(mapping.Resource)
		if unclear != nil {
			return nil, unclear
		}
		if !has {
			return nil, fmt.Errorf("%s does not implement the scale subresource", resource)
		}
	}
	return scale, err
}
