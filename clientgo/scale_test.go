package clientgo

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/purekube/purekube"
)

// api is an API server with the kinds Game (it has a scale) and Note (it has none) of example.com/v1.
type api struct {
	discovery.ServerResourcesInterface
	meta.RESTMapper
	get     func(schema.GroupVersionResource, string) (runtime.Object, error)
	away    error // of discovery
	unknown bool  // the mapper does not know the kinds until it is reset
	keeps   bool  // it does not know them afterwards, either
	empty   bool  // discovery lists nothing
	kinds   []metav1.APIResource
	resets  int
}

func (a *api) Get(_ context.Context, r schema.GroupVersionResource, sub, namespace, name string) (runtime.Object, error) {
	return a.get(r, namespace+"/"+name+"/"+sub)
}

func (a *api) ServerResourcesForGroupVersion(string) (*metav1.APIResourceList, error) {
	list := &metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "games"}, {Name: "games/scale"}, {Name: "notes"}}}
	if a.empty || a.kinds != nil {
		list.APIResources = a.kinds
	}
	return list, a.away
}

func (a *api) RESTMapping(gk schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	resource, known := map[string]string{"Game": "games", "Note": "notes"}[gk.Kind]
	if !known || a.unknown {
		return nil, &meta.NoKindMatchError{GroupKind: gk}
	}
	return &meta.RESTMapping{Resource: schema.GroupVersionResource{Group: gk.Group, Version: "v1", Resource: resource}}, nil
}

func (a *api) Reset() { a.resets++; a.unknown = a.unknown && a.keeps }

// found is the get of an API server that has every scale.
func found(schema.GroupVersionResource, string) (runtime.Object, error) {
	return &autoscalingv1.Scale{}, nil
}

func scalesOf(a *api) *scales {
	return &scales{get: a, kinds: a, mapper: a, resetEvery: time.Hour}
}

func TestScales(t *testing.T) {
	three := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{UID: "7"}, Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "games"}, "chess")
	away := errors.New("away")
	noScale := func(err error) bool { return errors.Is(err, ErrNoScale) }
	unclear := func(err error) bool { return errors.Is(err, away) && !noScale(err) && !apierrors.IsNotFound(err) }
	for _, tc := range []struct {
		name, reason     string
		apiVersion, kind string
		answer           runtime.Object
		err, discovery   error
		want             func(error) bool // nil: the scale
		text             string
	}{
		{"found", "the scale is what the API server says", "example.com/v1", "Game", three, nil, nil, nil, ""},
		{"gone", "the kind has a scale, so the object is gone", "example.com/v1", "Game", nil, gone, nil, apierrors.IsNotFound, ""},
		{"without a scale", "the API server answers 404 to that, too", "example.com/v1", "Note", nil, gone, nil, noScale, "notes.example.com does not implement the scale subresource"},
		{"unknown kind", "no resource is known for it", "example.com/v1", "Thing", nil, nil, nil, noScale, `no matches for kind "Thing" in group "example.com"`},
		{"bad version", "an owner reference can hold anything", "a/b/c", "Game", nil, nil, nil, noScale, "unexpected GroupVersion string: a/b/c"},
		{"away", "no answer is not an answer", "example.com/v1", "Game", nil, away, nil, unclear, "away"},
		{"discovery away", "what the 404 means is not known", "example.com/v1", "Game", nil, gone, away, unclear, "away"},
		{"something else", "a scale of a kind that this does not know", "example.com/v1", "Game", &corev1.Pod{}, nil, nil, noScale, "games.example.com answers with a *v1.Pod in place of a scale"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := &api{away: tc.discovery, get: func(r schema.GroupVersionResource, name string) (runtime.Object, error) {
				require.Equal(t, "play/chess/scale", name)
				return tc.answer, tc.err
			}}
			got, err := scalesOf(a).Get(t.Context(), need(tc.apiVersion, tc.kind))
			if tc.want == nil {
				require.NoError(t, err)
				require.Equal(t, three, got)
				return
			}
			require.True(t, tc.want(err), "%s: %v", tc.reason, err)
			if tc.text != "" {
				require.Equal(t, tc.text, err.Error())
			}
		})
	}
}

func need(apiVersion, kind string) purekube.Need {
	return purekube.Need{APIVersion: apiVersion, Kind: kind, Namespace: "play", Name: "chess", Subresource: "scale"}
}

// A kind that came into the cluster after the controller is found. One that never comes costs one discovery in ten seconds,
// and not one for each lookup. That it is missing is final only after a discovery that is newer than the question: a
// kind may come at any time, and nothing tells.
func TestNewKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{unknown: true, get: found}
		c := scalesOf(a)
		c.resetEvery = 10 * time.Second
		_, err := c.Get(t.Context(), need("example.com/v1", "Game"))
		require.NoError(t, err)
		time.Sleep(4 * time.Second)
		for range 10 {
			_, err := c.Get(t.Context(), need("example.com/v1", "Thing"))
			seconds, says := apierrors.SuggestsClientDelay(err)
			require.True(t, says, "%v", err)
			require.Equal(t, 6, seconds)
			require.NotErrorIs(t, err, ErrNoScale)
		}
		require.Equal(t, 1, a.resets)
		time.Sleep(6 * time.Second)
		later := need("example.com/v1", "Thing")
		later.Name = "later"
		_, err = c.Get(t.Context(), need("example.com/v1", "Thing"))
		require.ErrorIs(t, err, ErrNoScale)
		time.Sleep(time.Millisecond)
		_, err = c.Get(t.Context(), later)
		require.NotErrorIs(t, err, ErrNoScale, "it was asked for after the discovery")
		require.Equal(t, 2, a.resets)
	})
}
