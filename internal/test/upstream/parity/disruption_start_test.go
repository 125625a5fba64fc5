package parity

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/scale"
	upstream "k8s.io/kubernetes/pkg/controller/disruption"
)

// startDisruption builds the real controller. scaleOf answers for the scale subresources: nil
// and no error means that the object is not there. Each lookup is in the trace, as
// "get <resource>/scale". A failed key is "<namespace>/<name>", of a budget.
func startDisruption(scaleOf func(kind schema.GroupKind, namespace, name string) (*autoscalingv1.Scale, error)) Start {
	return func(ctx context.Context, w *World) (func(context.Context), error) {
		w.FailedKey = func(f Failure) string {
			if key := f.Value("key"); key != "" {
				return key
			}
			return f.Err.Error()
		}
		s := &scales{world: w, kinds: map[schema.GroupResource]schema.GroupKind{}, scaleOf: scaleOf}
		c := upstream.NewDisruptionController(ctx,
			w.Informers.Core().V1().Pods(), w.Informers.Policy().V1().PodDisruptionBudgets(),
			w.Informers.Core().V1().ReplicationControllers(), w.Informers.Apps().V1().ReplicaSets(),
			w.Informers.Apps().V1().Deployments(), w.Informers.Apps().V1().StatefulSets(),
			w.Client, scaleMapper{scales: s}, s, scaleDiscovery{scales: s})
		return RunDisruption(c, w), nil
	}
}

// scales is a client for scale subresources of whatever kind.
type scales struct {
	world   *World
	kinds   map[schema.GroupResource]schema.GroupKind // as the mapper met them
	scaleOf func(kind schema.GroupKind, namespace, name string) (*autoscalingv1.Scale, error)
}

func (s *scales) Scales(namespace string) scale.ScaleInterface {
	return scalesIn{scales: s, namespace: namespace}
}

type scalesIn struct {
	scale.ScaleInterface
	scales    *scales
	namespace string
}

func (s scalesIn) Get(_ context.Context, resource schema.GroupResource, name string, _ metav1.GetOptions) (*autoscalingv1.Scale, error) {
	w := s.scales.world
	w.mu.Lock()
	w.trace.Requests = append(w.trace.Requests, Get(resource.Resource, "scale", s.namespace, name))
	w.mu.Unlock()
	found, err := s.scales.scaleOf(s.scales.kinds[resource], s.namespace, name)
	if found == nil && err == nil {
		return nil, apierrors.NewNotFound(resource, name)
	}
	return found, err
}

// scaleMapper knows every kind. Its plurals are guesses, which nobody else has to know.
type scaleMapper struct {
	meta.RESTMapper
	scales *scales
}

func (m scaleMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if len(versions) == 0 {
		return nil, fmt.Errorf("no version of %s", kind)
	}
	plural, _ := meta.UnsafeGuessKindToResource(kind.WithVersion(versions[0]))
	m.scales.kinds[plural.GroupResource()] = kind
	return &meta.RESTMapping{Resource: plural, GroupVersionKind: kind.WithVersion(versions[0])}, nil
}

// scaleDiscovery says of every resource that it has a scale.
type scaleDiscovery struct {
	discovery.DiscoveryInterface
	scales *scales
}

func (d scaleDiscovery) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	list := &metav1.APIResourceList{GroupVersion: groupVersion}
	for resource := range d.scales.kinds {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: resource.Resource + "/scale", Group: "autoscaling", Version: "v1", Kind: "Scale"})
	}
	return list, nil
}

func TestDisruptionStarts(t *testing.T) {
	yes := true
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "p", Labels: map[string]string{"app": "a"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "x.io/v1", Kind: "Widget", Name: "w", UID: "uid-w", Controller: &yes}},
	}}
	one := intstr.FromInt32(1)
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "b", Generation: 3},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: pod.Labels}},
	}
	var found *autoscalingv1.Scale
	start := startDisruption(func(kind schema.GroupKind, namespace, name string) (*autoscalingv1.Scale, error) {
		require.Equal(t, "Widget.x.io ns/w", fmt.Sprintf("%v %s/%s", kind, namespace, name))
		return found, nil
	})
	Run(t, []runtime.Object{pod, budget}, start, func(t *testing.T, w *World) {
		require.Equal(t, `update poddisruptionbudgets/status ns/b: {"metadata":{"generation":3,"name":"b","namespace":"ns"},"spec":{"maxUnavailable":1,"selector":{"matchLabels":{"app":"a"}}},"status":{"conditions":[{"lastTransitionTime":"2000-01-01T00:00:00Z","message":"found no controllers for pod \"p\"","reason":"SyncFailed","status":"False","type":"DisruptionAllowed"}],"currentHealthy":0,"desiredHealthy":0,"disruptionsAllowed":0,"expectedPods":0}}
get widgets/scale ns/w
event Warning CalculateExpectedPodCountFailed on PodDisruptionBudget ns/b`, w.Settle().String())
		found = &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{UID: "uid-w"}, Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
		w.Update(pod.DeepCopy())
		require.Contains(t, w.Settle().String(), `"desiredHealthy":1,"disruptionsAllowed":0,"expectedPods":2`)
	})
}
