package clientgo

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/purekube/purekube"
)

// Getter reads one object past every cache: an [Executor] or a [DynamicExecutor].
type Getter interface {
	Get(ctx context.Context, resource schema.GroupVersionResource, subresource, namespace, name string) (runtime.Object,
		error)
}

// Lookup answers the Needs of plans from the API server: Pods, ResourceClaims, ReplicaSets, and the scale of any kind.
// It is safe for concurrent use.
type Lookup struct {
	get    Getter
	scales *scales
}

// NewLookup returns a Lookup with clients of this configuration.
func NewLookup(config *rest.Config) (*Lookup, error) {
	get, err := NewExecutor(config)
	if err != nil {
		return nil, err
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return LookupFor(get, kinds), nil
}

// LookupFor returns a Lookup with these clients. The client of the kinds must not have a cache: it shows what the API
// server has now. While it answers, it is asked for a group version twice in ten seconds at most, and every five
// seconds while it does not.
func LookupFor(get Getter, kinds discovery.ServerResourcesInterface) *Lookup {
	return &Lookup{get, newScales(get, kinds, resetEvery)}
}

// resetEvery is how old what is known about the kinds may be.
const resetEvery = 10 * time.Second

// resources are the resources of the kinds that plans need as objects.
var resources = map[string]struct {
	resource schema.GroupVersionResource
	typed    func() runtime.Object
}{
	"Pod": {corev1.SchemeGroupVersion.WithResource("pods"), func() runtime.Object { return &corev1.Pod{} }},
	"ResourceClaim": {resourcev1.SchemeGroupVersion.WithResource("resourceclaims"), func() runtime.Object {
		return &resourcev1.ResourceClaim{}
	}},
	"ReplicaSet": {appsv1.SchemeGroupVersion.WithResource("replicasets"), func() runtime.Object {
		return &appsv1.ReplicaSet{}
	}},
}

// Lookup answers one Need. Objects that the API server does not have are the zero Answer. Answer.Err is final: the kind
// has no scale, or no such kind exists. An error that another attempt may mend is returned; it may say when
// (errors.SuggestsClientDelay of apimachinery).
//
// All objects of a kind without a scale cost one request in ten seconds.
func (l *Lookup) Lookup(ctx context.Context, n purekube.Need) (purekube.Answer, error) {
	var found runtime.Object
	var err error
	switch of, known := resources[n.Kind]; {
	case n.Subresource == "scale":
		found, err = l.scales.Get(ctx, n)
	case n.Subresource == "" && known:
		found, err = l.get.Get(ctx, of.resource, "", n.Namespace, n.Name)
		if err == nil {
			err = isOf(found, n)
		}
		if err == nil {
			found, err = typed(found, of.typed())
		}
	case n.Subresource == "" && n.Kind == podGroupKind:
		return l.podGroup(ctx, n)
	default:
		return purekube.Answer{Err: fmt.Errorf("%v of %s: not a lookup of the packages of purekube", n, n.APIVersion)}, nil
	}
	switch {
	case isGone(err):
		return purekube.Answer{}, nil
	case errors.Is(err, ErrNoScale):
		return purekube.Answer{Err: err}, nil
	case err != nil:
		return purekube.Answer{}, err
	}
	return purekube.Answer{Object: found}, nil
}

// isOf checks that an answer with status 200 is about the object that was asked for. Otherwise a plan would regard
// another object, or an empty answer, as an object that was recreated under the name, and would release what the first
// object uses.
func isOf(found runtime.Object, n purekube.Need) error {
	of, err := meta.Accessor(found)
	if err != nil {
		return fmt.Errorf("%v: %w", n, err)
	}
	if u, untyped := found.(*unstructured.Unstructured); untyped && u.GetKind() != n.Kind {
		return fmt.Errorf("%v: the answer is about a %s %s", n, u.GetAPIVersion(), u.GetKind())
	}
	if of.GetName() != n.Name || of.GetNamespace() != n.Namespace {
		return fmt.Errorf("%v: the answer is about %q in namespace %q", n, of.GetName(), of.GetNamespace())
	}
	return nil
}

// podGroup answers the Need of a PodGroup in the version that it names.
func (l *Lookup) podGroup(ctx context.Context, n purekube.Need) (purekube.Answer, error) {
	version, err := schema.ParseGroupVersion(n.APIVersion)
	if err != nil {
		return purekube.Answer{}, err
	}
	found, err := l.get.Get(ctx, PodGroupsOf(version.Version), "", n.Namespace, n.Name)
	switch {
	case isGone(err):
		return purekube.Answer{}, nil
	case err != nil: // it may be about the content of the answer, and then does not name the object
		return purekube.Answer{}, fmt.Errorf("%v: %w", n, err)
	}
	if err := isOf(found, n); err != nil {
		return purekube.Answer{}, err
	}
	group, err := podGroupOf(found)
	if err != nil {
		return purekube.Answer{}, fmt.Errorf("%v: %w", n, err)
	}
	group.APIVersion = n.APIVersion // a typed object does not say it
	return purekube.Answer{Object: group}, nil
}

// isGone reports whether the API server says that there is no such object. A 404 without a Status is not about the
// object: the API server does not serve the version, or something else answered.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err)
}

// typed is the object as the packages take it: a dynamic client returns it without a type.
func typed(found, as runtime.Object) (runtime.Object, error) {
	u, ok := found.(*unstructured.Unstructured)
	if !ok {
		return found, nil
	}
	return as, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, as)
}

func asScale(found runtime.Object) (*autoscalingv1.Scale, error) {
	found, err := typed(found, &autoscalingv1.Scale{})
	if err != nil {
		return nil, err
	}
	scale, ok := found.(*autoscalingv1.Scale)
	if !ok {
		return nil, fmt.Errorf("a %T in place of a scale", found)
	}
	return scale, nil
}
