package eviction

import (
	"context"
	"fmt"
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/scale"
	upstream "k8s.io/kubernetes/pkg/controller/disruption"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/upstream/parity"
)

// StartDisruption builds the real disruption controller. It finds the scales of the snapshot.
func StartDisruption(known map[purekube.Need]purekube.Answer) parity.Start {
	return func(ctx context.Context, w *parity.World) (func(context.Context), error) {
		s := &scales{known: known, kinds: map[schema.GroupResource]schema.GroupKind{}}
		c := upstream.NewDisruptionController(ctx,
			w.Informers.Core().V1().Pods(), w.Informers.Policy().V1().PodDisruptionBudgets(),
			w.Informers.Core().V1().ReplicationControllers(), w.Informers.Apps().V1().ReplicaSets(),
			w.Informers.Apps().V1().Deployments(), w.Informers.Apps().V1().StatefulSets(),
			w.Client, scaleMapper{scales: s}, s, scaleDiscovery{scales: s})
		return parity.RunDisruption(c, w), nil
	}
}

// scales is a client for the scale subresource of any kind.
type scales struct {
	known map[purekube.Need]purekube.Answer
	mu    sync.Mutex
	kinds map[schema.GroupResource]schema.GroupKind
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
	s.scales.mu.Lock()
	kind := s.scales.kinds[resource]
	s.scales.mu.Unlock()
	for need, answer := range s.scales.known {
		gv, err := schema.ParseGroupVersion(need.APIVersion)
		if err != nil || gv.Group != kind.Group || need.Kind != kind.Kind || need.Namespace != s.namespace ||
			need.Name != name {
			continue
		}
		if answer.Err != nil {
			return nil, answer.Err
		}
		if found, ok := answer.Object.(*autoscalingv1.Scale); ok {
			found = found.DeepCopy()
			found.Namespace, found.Name = s.namespace, name
			return found, nil
		}
	}
	return nil, apierrors.NewNotFound(resource, name)
}

// scaleMapper knows every kind, by a guess of its plural.
type scaleMapper struct {
	meta.RESTMapper
	scales *scales
}

func (m scaleMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if len(versions) == 0 {
		return nil, fmt.Errorf("no version of %s", kind)
	}
	plural, _ := meta.UnsafeGuessKindToResource(kind.WithVersion(versions[0]))
	m.scales.mu.Lock()
	m.scales.kinds[plural.GroupResource()] = kind
	m.scales.mu.Unlock()
	return &meta.RESTMapping{Resource: plural, GroupVersionKind: kind.WithVersion(versions[0])}, nil
}

// scaleDiscovery says that every resource has a scale, except the resources of Kubernetes that have none.
type scaleDiscovery struct {
	discovery.DiscoveryInterface
	scales *scales
}

func (d scaleDiscovery) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	d.scales.mu.Lock()
	defer d.scales.mu.Unlock()
	list := &metav1.APIResourceList{GroupVersion: groupVersion}
	for resource := range d.scales.kinds {
		if resource.Group == "batch" || resource.String() == "daemonsets.apps" {
			continue
		}
		list.APIResources = append(list.APIResources,
			metav1.APIResource{Name: resource.Resource + "/scale", Group: "autoscaling", Version: "v1", Kind: "Scale"})
	}
	return list, nil
}
