package clientgo

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
)

// aggregated is an API server with the group example.com in version v1, whose discovery answers with a status.
type aggregated struct {
	t *testing.T

	mu     sync.Mutex
	status int                  // of the list of example.com/v1
	kinds  []metav1.APIResource // in that list
	calls  map[string]int       // by path
}

func (a *aggregated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[r.URL.Path]++
	var answer any
	status := http.StatusOK
	switch r.URL.Path {
	case "/apis/example.com/v1":
		status = a.status
		answer = metav1.APIResourceList{TypeMeta: kind("v1", "APIResourceList"), GroupVersion: "example.com/v1", APIResources: a.kinds}
	default:
		answer = autoscalingv1.Scale{TypeMeta: kind("autoscaling/v1", "Scale"), Spec: autoscalingv1.ScaleSpec{Replicas: 3}}
	}
	if status != http.StatusOK { // as the API server answers for an APIService, and for a path that it does not have
		http.Error(w, http.StatusText(status), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		a.t.Error(err)
	}
}

func (a *aggregated) becomes(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

var games = []metav1.APIResource{
	{Name: "games", Kind: "Game", Namespaced: true},
	{Name: "games/scale", Kind: "Scale", Namespaced: true, Group: "autoscaling", Version: "v1"},
	{Name: "games/status", Kind: "Game", Namespaced: true},
}

var notes = []metav1.APIResource{{Name: "notes", Kind: "Note"}}

// discovered calls play with a Lookup of this API server.
func discovered(t *testing.T, play func(t *testing.T, a *aggregated, l *Lookup)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := &aggregated{t: t, status: http.StatusOK, kinds: games, calls: map[string]int{}}
		way, stop := apiserver.Serve(a)
		defer stop()
		l, err := NewLookup(&rest.Config{Host: "http://api", Transport: way})
		require.NoError(t, err)
		play(t, a, l)
	})
}

func scaleOf(t *testing.T, l *Lookup) {
	t.Helper()
	answer, err := l.Lookup(t.Context(), need("example.com/v1", "Game"))
	require.NoError(t, err)
	require.NoError(t, answer.Err)
	require.Equal(t, int32(3), answer.Object.(*autoscalingv1.Scale).Spec.Replicas)
}

// A kind of a group whose discovery fails is not known, and not missing: a final answer would keep a budget closed after
// the API is back.
func TestKindsOfAnAPIThatIsAway(t *testing.T) {
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusForbidden, http.StatusInternalServerError} {
		discovered(t, func(t *testing.T, a *aggregated, l *Lookup) {
			a.becomes(func() { a.status = status })
			for range 600 { // a minute
				answer, err := l.Lookup(t.Context(), need("example.com/v1", "Game"))
				require.Error(t, err, "%d", status)
				require.Equal(t, purekube.Answer{}, answer)
				time.Sleep(100 * time.Millisecond)
			}
			require.LessOrEqual(t, a.calls["/apis/example.com/v1"], 13, "it is asked once in five seconds")
			a.becomes(func() { a.status = http.StatusOK })
			time.Sleep(5 * time.Second)
			scaleOf(t, l)
		})
	}
}

func TestKindOfASubresource(t *testing.T) {
	_, err := scalesOf(&api{get: found}).Get(t.Context(), need("example.com/v1", "Scale"))
	require.ErrorIs(t, err, ErrNoScale)
	require.EqualError(t, err, `no matches for kind "Scale" in version "example.com/v1"`, "it is no kind of objects")
}

// The answer that a kind has gone becomes final.
func TestKindThatHasGone(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		goes         func(*aggregated)
	}{
		{"its version", "the list of the version answers 404", func(a *aggregated) { a.status = http.StatusNotFound }},
		{"the kind", "the version has other kinds", func(a *aggregated) { a.kinds = notes }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			discovered(t, func(t *testing.T, a *aggregated, l *Lookup) {
				scaleOf(t, l)
				a.becomes(func() { tc.goes(a) })
				time.Sleep(10 * time.Second)
				a.becomes(func() { clear(a.calls) })
				for range 10 {
					answer, err := l.Lookup(t.Context(), need("example.com/v1", "Game"))
					if err != nil { // it was not asked for before the reset
						require.ErrorContains(t, err, "no kind Game in example.com/v1, as far as is known; asking again in 10s")
						time.Sleep(10 * time.Second)
						continue
					}
					require.ErrorIs(t, answer.Err, ErrNoScale, tc.reason)
					require.EqualError(t, answer.Err, `no matches for kind "Game" in version "example.com/v1"`)
					break
				}
				require.LessOrEqual(t, a.calls["/apis/example.com/v1"], 3)
				a.becomes(func() { a.status, a.kinds = http.StatusOK, games })
				time.Sleep(10 * time.Second)
				scaleOf(t, l)
			})
		})
	}
}

// A resource of another name has the kind since its CustomResourceDefinition was made anew.
func TestKindThatMoved(t *testing.T) {
	discovered(t, func(t *testing.T, a *aggregated, l *Lookup) {
		scaleOf(t, l)
		a.becomes(func() {
			a.kinds = []metav1.APIResource{{Name: "plays", Kind: "Game"}, {Name: "plays/scale", Kind: "Scale"}}
		})
		time.Sleep(10 * time.Second)
		scaleOf(t, l)
		require.Equal(t, 1, a.calls["/apis/example.com/v1/namespaces/play/plays/chess/scale"])
	})
}

// Users choose the apiVersion and the name of an owner. Neither may be the way to another path of the API server, such
// as an object of another namespace.
func TestNoScaleOutsideItsPath(t *testing.T) {
	var needs []purekube.Need
	for _, apiVersion := range []string{"../metrics", "..", ".", "../..", "a%2e/v1", "a/%2e%2e"} {
		needs = append(needs, need(apiVersion, "Game"))
	}
	for _, name := range []string{"../../../../../../api/v1/namespaces/prod/pods/db-0", "..%2fdb-0", "..", "."} {
		n := need("example.com/v1", "Game")
		n.Name = name
		needs = append(needs, n)
	}
	for _, n := range needs {
		discovered(t, func(t *testing.T, a *aggregated, l *Lookup) {
			answer, err := l.Lookup(t.Context(), n)
			require.NoError(t, err)
			require.ErrorIs(t, answer.Err, ErrNoScale, n)
			require.Empty(t, a.calls, n)
		})
	}
}
