package parity

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/scale"
	upstream "k8s.io/kubernetes/pkg/controller/disruption"

	"github.com/purekube/purekube"
)

// ScaleOf answers for a scale subresource. Nil and no error means that the object is not there.
type ScaleOf func(kind schema.GroupKind, namespace, name string) (*autoscalingv1.Scale, error)

// ScalesIn answers as a snapshot with these answers does, which may be for any version of the kind.
func ScalesIn(answers map[purekube.Need]purekube.Answer) ScaleOf {
	return func(kind schema.GroupKind, namespace, name string) (*autoscalingv1.Scale, error) {
		for need, answer := range answers {
			gv, err := schema.ParseGroupVersion(need.APIVersion)
			if err != nil || gv.WithKind(need.Kind).GroupKind() != kind || need.Namespace != namespace || need.Name != name {
				continue
			}
			if answer.Err != nil || answer.Object == nil {
				return nil, answer.Err
			}
			found := answer.Object.(*autoscalingv1.Scale).DeepCopy()
			found.Namespace, found.Name = namespace, name
			return found, nil
		}
		return nil, nil
	}
}

// StartDisruption builds the real disruption controller. Each lookup of a scale is in the trace, as
// "get <resource>/scale". A failed key is "<namespace>/<name>", of a budget.
func StartDisruption(scaleOf ScaleOf) Start {
	return func(ctx context.Context, w *World) (func(context.Context), error) {
		w.FailedKey = func(f Failure) string {
			if key := f.Value("key"); key != "" {
				return key
			}
			return fmt.Sprint(f.Err)
		}
		s := &scales{world: w, kinds: map[schema.GroupResource]schema.GroupKind{}, scaleOf: scaleOf}
		c := upstream.NewDisruptionController(ctx,
			w.Informers.Core().V1().Pods(), w.Informers.Policy().V1().PodDisruptionBudgets(),
			w.Informers.Core().V1().ReplicationControllers(), w.Informers.Apps().V1().ReplicaSets(),
			w.Informers.Apps().V1().Deployments(), w.Informers.Apps().V1().StatefulSets(),
			w.Client, scaleMapper{scales: s}, s, scaleDiscovery{scales: s})
		return runDisruption(c, w), nil
	}
}

// scales is a client for the scale subresource of any kind.
type scales struct {
	world   *World
	kinds   map[schema.GroupResource]schema.GroupKind // as the mapper met them, under the world's lock
	scaleOf ScaleOf
}

func (s *scales) Scales(namespace string) scale.ScaleInterface {
	return scalesIn{scales: s, namespace: namespace}
}

type scalesIn struct {
	scale.ScaleInterface
	scales    *scales
	namespace string
}

func (s scalesIn) Get(
	_ context.Context, resource schema.GroupResource, name string, _ metav1.GetOptions,
) (*autoscalingv1.Scale, error) {
	w := s.scales.world
	w.mu.Lock()
	w.trace.Requests = append(w.trace.Requests, Get(resource.Resource, "scale", s.namespace, name))
	kind := s.scales.kinds[resource]
	w.mu.Unlock()
	found, err := s.scales.scaleOf(kind, s.namespace, name)
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
	m.scales.world.mu.Lock()
	m.scales.kinds[plural.GroupResource()] = kind
	m.scales.world.mu.Unlock()
	return &meta.RESTMapping{Resource: plural, GroupVersionKind: kind.WithVersion(versions[0])}, nil
}

// scaleDiscovery says that every resource has a scale, except the resources of Kubernetes that have none.
type scaleDiscovery struct {
	discovery.DiscoveryInterface
	scales *scales
}

func (d scaleDiscovery) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	d.scales.world.mu.Lock()
	defer d.scales.world.mu.Unlock()
	list := &metav1.APIResourceList{GroupVersion: groupVersion}
	for resource := range d.scales.kinds {
		if resource.Group == "batch" || resource.String() == "daemonsets.apps" {
			continue
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: resource.Resource + "/scale", Group: "autoscaling", Version: "v1", Kind: "Scale",
		})
	}
	return list, nil
}
