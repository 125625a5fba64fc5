package clientgo

import (
	"cmp"
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
	"github.com/purekube/purekube/disruption"
)

// Scales answers the Needs of disruption from the API server.
type Scales struct {
	Client    dynamic.Interface
	Mapper    meta.RESTMapper
	Discovery discovery.ServerResourcesInterface
}

var errNoScale = errors.New("does not implement the scale subresource")

// LookUp answers one Need. After an error the Scale holds the text of the error, so that the budget allows nothing:
// write that status, and plan again later.
func (s *Scales) LookUp(ctx context.Context, n purekube.Need) (disruption.Scale, error) {
	scale, err := s.get(ctx, n)
	switch {
	case err == nil:
		return scale, nil
	case apierrors.IsNotFound(err):
		return disruption.Scale{}, nil
	}
	scale = disruption.Scale{Err: cmp.Or(err.Error(), "no answer")} // an empty Err would say that the object is gone
	if errors.Is(err, errNoScale) || meta.IsNoMatchError(err) {
		return scale, nil // another look-up would not change this
	}
	return scale, err
}

func (s *Scales) get(ctx context.Context, n purekube.Need) (disruption.Scale, error) {
	gv, err := schema.ParseGroupVersion(n.APIVersion)
	if err != nil {
		return disruption.Scale{}, err
	}
	mapping, err := s.Mapper.RESTMapping(gv.WithKind(n.Kind).GroupKind(), gv.Version)
	if err != nil {
		return disruption.Scale{}, err
	}
	objects := s.Client.Resource(mapping.Resource).Namespace(n.Namespace)
	if n.Subresource == "" { // a ReplicaSet: a Deployment that controls it says how many pods there should be
		found, err := objects.Get(ctx, n.Name, metav1.GetOptions{})
		if err != nil {
			return disruption.Scale{}, err
		}
		set := &appsv1.ReplicaSet{}
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, set)
		return disruption.Scale{Found: true, ReplicaSet: set}, err
	}
	found, err := objects.Get(ctx, n.Name, metav1.GetOptions{}, n.Subresource)
	if apierrors.IsNotFound(err) {
		return disruption.Scale{}, s.notFound(mapping.Resource, err)
	}
	if err != nil {
		return disruption.Scale{}, err
	}
	scale := &autoscalingv1.Scale{}
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, scale)
	return disruption.Scale{Found: true, UID: scale.UID, Replicas: scale.Spec.Replicas}, err
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
