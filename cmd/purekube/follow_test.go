package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/manifests"
)

// answers has what is printed, a write at a time.
type answers chan string

func (a answers) Write(text []byte) (int, error) {
	a <- string(text)
	return len(text), nil
}

// until reads answers to the line.
func (a answers) until(t *testing.T, line string) (text string) {
	t.Helper()
	for {
		select {
		case more := <-a:
			if text += more; strings.Contains(text, line) {
				return text
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%q is not printed, but %q", line, text)
		}
	}
}

// A drain that is stuck is answered while it is stuck: what changes is printed, also after the watches ended, and until the
// cluster cannot be read.
func TestWatch(t *testing.T) {
	handler := fleetServer(t)
	var refused atomic.Bool
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refused.Load() {
			http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}`, http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	defer api.Close()
	defer api.CloseClientConnections() // Close waits for the watches of a test that fails
	useCluster(t, api.URL)
	printed, status := answers(make(chan string, 1000)), make(chan int, 1)
	var stderr strings.Builder
	go func() {
		defer func() { printed <- stderr.String() }()
		status <- run([]string{"drain", "east-1", "--watch"}, system{stdout: printed, stderr: &stderr, now: noonClock, settle: time.Millisecond})
	}()
	want := plan(t, nil, "", "drain", "east-1", "-f", fleetFile)
	last := want.stdout[strings.LastIndex(strings.TrimSuffix(want.stdout, "\n"), "\n")+1:]
	text := printed.until(t, last)
	require.Contains(t, text, want.stdout)

	set, err := manifests.Load(manifests.Options{}, fleetFile)
	require.NoError(t, err)
	change := func(maxUnavailable int32) {
		handler.Do(func(s *apiserver.Server) {
			for _, b := range set.Budgets {
				b = b.DeepCopy()
				b.Spec.MinAvailable, b.Spec.MaxUnavailable = nil, ptr.To(intstr.FromInt32(maxUnavailable))
				s.Put(b)
			}
		})
	}
	change(0)
	text = printed.until(t, "+ east-1  never")
	require.Contains(t, text, "2026-11-21T12:00:00Z\n- ")
	require.Contains(t, text, "never allows a disruption")
	require.NotContains(t, text, "+ kubectl drain", "it has not changed")

	api.CloseClientConnections() // and the lists are read again
	change(100)
	printed.until(t, "+ east-1  now")
	handler.Do(func(s *apiserver.Server) {
		for _, pod := range set.Pods {
			if pod.Name == "web-b" {
				s.Remove(pod)
			}
		}
	})
	require.NotContains(t, printed.until(t, "+     round 1: evicts shop/db-0\n"), "+ kubectl drain")

	refused.Store(true)
	api.CloseClientConnections()
	require.Equal(t, exitInput, <-status)
	require.Contains(t, stderr.String(), "purekube: list of pods: ")
}

// A watch that refuses the version of its list has ended, and --request-timeout is for lists, not for watches.
func TestWatchListsAgainOnlyWhenItMust(t *testing.T) {
	handler := fleetServer(t)
	var lists atomic.Int32
	var gone atomic.Bool
	timeouts := make(chan string, 1000)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Base(r.URL.Path) == "pods" {
			timeouts <- r.URL.Query().Get("watch") + r.URL.Query().Get("timeout")
			if r.URL.Query().Get("watch") == "" {
				lists.Add(1)
			} else if !gone.Swap(true) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusGone)
				fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old resource version","reason":"Expired","code":410}`)
				return
			}
		}
		handler.ServeHTTP(w, r)
	}))
	defer api.Close()
	defer api.CloseClientConnections()
	useCluster(t, api.URL)
	printed := answers(make(chan string, 1000))
	go run([]string{"drain", "east-1", "--watch", "--request-timeout", "1m"},
		system{stdout: printed, stderr: printed, now: noonClock, settle: time.Millisecond})
	printed.until(t, "kubectl drain")
	require.Eventually(t, func() bool { return lists.Load() == 2 }, 20*time.Second, time.Millisecond, "the watch of pods was refused once")
	for _, want := range []string{"1m0s", "true", "1m0s", "true"} {
		require.Equal(t, want, <-timeouts, "the timeout is for lists, and a watch lasts")
	}
}

// Without the right to watch, there is one answer, and it is not taken for one that stays true.
func TestWatchIsForbidden(t *testing.T) {
	handler := fleetServer(t)
	handler.Allow = func(r purekube.Request) error {
		if r.Verb == "watch" && r.Resource.Resource == "pods" {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)
		}
		return nil
	}
	got := onCluster(t, handler, "drain", "east-1", "-w")
	require.Equal(t, exitInput, got.status)
	require.Contains(t, got.stderr, "purekube: watch of pods: ")
	require.Contains(t, got.stdout, "kubectl drain")
}

func TestWatchFlags(t *testing.T) {
	const want = "purekube: --watch is for a cluster, and prints text to standard output: without files, -o and --output-file\n"
	for _, args := range []string{"plan --demo -w", "drain all -f x.yaml --watch", "drain all -w -o json", "explain node/east-1 -w --output-file x"} {
		got := onCluster(t, fleetServer(t), strings.Fields(args)...)
		require.Equal(t, outcome{status: exitInput, stderr: want}, got, args)
	}
}

// A line that is there twice is gone once.
func TestChanges(t *testing.T) {
	require.Equal(t, []string{"b", "a"}, without([]string{"a", "b", "a", "c"}, []string{"c", "a"}))
	require.Equal(t, types.NamespacedName{Namespace: "shop", Name: "web"}, itemName([]byte(`{"metadata":{"name":"web","namespace":"shop"}}`)))
}
