package clientgo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/purekube/purekube"
)

// Scales answers the Needs of disruption from the API server.
type Scales struct {
	Client    dynamic.Interface
	Mapper    meta.RESTMapper
	Discovery discovery.ServerResourcesInterface
}

var errNoScale = errors.New("does not implement the scale subresource")

// LookUp answers one Need. After an error the Answer holds the error, too, so that the budget allows nothing:
// write that status, and plan again later.
func (s *Scales) LookUp(ctx context.Context, n purekube.Need) (purekube.Answer, error) {
	found, err := s.get(ctx, n)
	switch {
	case err == nil:
		return purekube.Answer{Object: found}, nil
	case apierrors.IsNotFound(err):
		return purekube.Answer{}, nil
	case errors.Is(err, errNoScale) || meta.IsNoMatchError(err):
		return purekube.Answer{Err: err}, nil // another lookup would not change this
	}
	return purekube.Answer{Err: err}, err
}

func (s *Scales) get(ctx context.Context, n purekube.Need) (any, error) {
	gv, err := schema.ParseGroupVersion(n.APIVersion)
	if err != nil {
		return nil, err
	}
	mapping, err := s.Mapper.RESTMapping(gv.WithKind(n.Kind).GroupKind(), gv.Version)
	if err != nil {
		return nil, err
	}
	objects := s.Client.Resource(mapping.Resource).Namespace(n.Namespace)
	if n.Subresource == "" { // a ReplicaSet: a Deployment that controls it says how many pods there should be
		found, err := objects.Get(ctx, n.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		set := &appsv1.ReplicaSet{}
		return set, runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, set)
	}
	found, err := objects.Get(ctx, n.Name, metav1.GetOptions{}, n.Subresource)
	if apierrors.IsNotFound(err) {
		return nil, s.notFound(mapping.Resource, err)
	}
	if err != nil {
		return nil, err
	}
	scale := &autoscalingv1.Scale{}
	return scale, runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, scale)
}

// notFound tells an object that is not there from a kind that has no scale: the API server answers 404 to both.
func (s *Scales) notFound(resource schema.GroupVersionResource, notFound error) error {
	list, err := s.Discovery.ServerResourcesForGroupVersion(resource.GroupVersion().String())
	if err != nil {
		return fmt.Errorf("%s: is there a scale: %w", resource.GroupResource(), err)
	}
	isScale := func(r metav1.APIResource) bool { return r.Name == resource.Resource+"/scale" }
	if slices.ContainsFunc(list.APIResources, isScale) {
		return notFound
	}
	return fmt.Errorf("%s %w", resource.GroupResource(), errNoScale)
}
