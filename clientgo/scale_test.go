package clientgo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/purekube/purekube"
)

// api is an API server with the kinds Game (it has a scale) and Note (it has none) of example.com/v1.
type api struct {
	discovery.ServerResourcesInterface
	get   func(schema.GroupVersionResource, string) (runtime.Object, error)
	away  error                // of discovery
	kinds []metav1.APIResource // if not nil, in place of Game and Note
	calls int                  // of discovery
}

func (a *api) Get(_ context.Context, r schema.GroupVersionResource, sub, namespace, name string) (runtime.Object, error) {
	return a.get(r, namespace+"/"+name+"/"+sub)
}

func (a *api) ServerResourcesForGroupVersion(string) (*metav1.APIResourceList, error) {
	a.calls++
	list := &metav1.APIResourceList{APIResources: slices.Concat(notes, games)}
	if a.kinds != nil {
		list.APIResources = a.kinds
	}
	return list, a.away
}

// found is the get of an API server that has every scale.
func found(schema.GroupVersionResource, string) (runtime.Object, error) {
	return &autoscalingv1.Scale{}, nil
}

func scalesOf(a *api) *scales {
	return newScales(a, a, time.Hour)
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
		{"unknown kind", "no resource is known for it", "example.com/v1", "Thing", nil, nil, nil, noScale, `no matches for kind "Thing" in version "example.com/v1"`},
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
		a := &api{kinds: notes, get: found}
		c := scalesOf(a)
		c.resetEvery = 10 * time.Second
		_, err := c.Get(t.Context(), need("example.com/v1", "Note"))
		require.ErrorIs(t, err, ErrNoScale)
		time.Sleep(time.Millisecond)
		a.kinds = games
		_, err = c.Get(t.Context(), need("example.com/v1", "Game"))
		require.NoError(t, err)
		time.Sleep(4 * time.Second)
		for range 10 {
			_, err := c.Get(t.Context(), need("example.com/v1", "Thing"))
			seconds, says := apierrors.SuggestsClientDelay(err)
			require.True(t, says, "%v", err)
			require.Equal(t, 6, seconds)
			require.NotErrorIs(t, err, ErrNoScale)
		}
		require.Equal(t, 2, a.calls)
		time.Sleep(6 * time.Second)
		later := need("example.com/v1", "Thing")
		later.Name = "later"
		_, err = c.Get(t.Context(), need("example.com/v1", "Thing"))
		require.ErrorIs(t, err, ErrNoScale)
		time.Sleep(time.Millisecond)
		_, err = c.Get(t.Context(), later)
		require.ErrorIs(t, err, ErrNoScale, "it was asked for after the discovery, so there is another one")
		time.Sleep(time.Millisecond)
		later.Name = "last"
		_, err = c.Get(t.Context(), later)
		require.NotErrorIs(t, err, ErrNoScale, "it was asked for after that one")
		require.Equal(t, 4, a.calls)
	})
}

// Who asked before a discovery that somebody else caused has its answer with it.
func TestKindIsMissingSinceItWasAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{get: found}
		c := scalesOf(a)
		c.resetEvery = 10 * time.Second
		start := time.Now()
		for _, q := range []struct {
			at      time.Duration
			kind    string
			settled bool
			calls   int // of discovery, by then
		}{
			{0, "Note", true, 1},
			{1 * time.Second, "Thing", true, 2},
			{2 * time.Second, "Other", false, 2},
			{11 * time.Second, "Note", true, 3},
			{12 * time.Second, "Other", true, 3},
		} {
			time.Sleep(time.Until(start.Add(q.at)))
			_, err := c.Get(t.Context(), need("example.com/v1", q.kind))
			require.Equal(t, q.settled, errors.Is(err, ErrNoScale), "%s at %s: %v", q.kind, q.at, err)
			require.Equal(t, q.calls, a.calls, "%s at %s", q.kind, q.at)
		}
	})
}

// Users write group versions into owner references, as many as they like. None is remembered for longer than it is used,
// and neither is who asked.
func TestMadeUpGroupVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{get: found}
		c := scalesOf(a)
		c.resetEvery = 10 * time.Second
		for i := range 1_000 {
			_, err := c.Get(t.Context(), need(fmt.Sprintf("example.com/v%d", i), "Thing"))
			require.ErrorIs(t, err, ErrNoScale)
			_, err = c.Get(t.Context(), need("example.com/v1", fmt.Sprintf("Thing%d", i)))
			if !errors.Is(err, ErrNoScale) {
				require.ErrorContains(t, err, "asking again")
			}
			time.Sleep(time.Second)
		}
		require.LessOrEqual(t, len(c.listings), 20)
		require.LessOrEqual(t, len(c.asked), 70)
	})
}
