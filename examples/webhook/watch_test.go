package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/admission/memory"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/servicecidr"
)

// An API server that lists one ServiceCIDR, adds an address in it by the watch, ends the watch, and lists an empty
// cluster then: the state follows.
func TestWatcherFollows(t *testing.T) {
	used, address := purekubetest.ServiceCIDR("used", "10.96.0.0/24"), purekubetest.Address("10.96.0.7", "shop/web")
	var ended atomic.Bool
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("secret\n"), 0o600))
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		if r.URL.Query().Get("watch") == "" {
			items := []any{}
			if r.URL.Path == "/apis/networking.k8s.io/v1/servicecidrs" && !ended.Load() {
				items = append(items, used)
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"metadata": map[string]string{"resourceVersion": "7"}, "items": items})
			return
		}
		if r.URL.Path == "/apis/networking.k8s.io/v1/ipaddresses" && !ended.Load() {
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "ADDED", "object": address})
			w.(http.Flusher).Flush()
		}
		for !ended.Load() {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "ERROR", "object": map[string]any{"code": 410}})
	}))
	defer api.Close()
	client, err := newClient(api.URL, token, "")
	require.NoError(t, err)
	s := memory.NewStore(memory.Options{})
	w := &watcher{client: client, store: s, log: quiet}
	w.run(t.Context())

	require.Eventually(t, w.synced, 10*time.Second, time.Millisecond)
	require.Eventually(t, func() bool {
		d, err := s.Indexes().ServiceCIDRs.CheckDeletion(servicecidr.Key("used"), 0)
		return err == nil && len(d.Orphans) == 1
	}, 10*time.Second, time.Millisecond, "the address came by the watch")
	ended.Store(true)
	require.Eventually(t, func() bool {
		_, err := s.Indexes().ServiceCIDRs.CheckDeletion(servicecidr.Key("used"), 0)
		return errors.Is(err, purekube.ErrNotFound)
	}, 10*time.Second, time.Millisecond, "the list without it took it away")
}

// A webhook that has lost a watch decides by what it had for a minute, and then no more, until it has listed the kind again.
func TestLostWatch(t *testing.T) {
	w := &watcher{}
	require.False(t, w.synced(), "nothing is listed")
	var last string
	for path := range watched {
		w.follows(path, false)
		require.False(t, w.synced())
		w.follows(path, true)
		last = path
	}
	require.True(t, w.synced())
	w.follows(last, false)
	require.True(t, w.synced(), "a watch ends now and then")
	w.lost[last] = time.Now().Add(-maxLag - time.Second)
	w.follows(last, false)
	require.False(t, w.synced(), "listing again has failed for a minute")
	w.follows(last, true)
	require.True(t, w.synced())
}

// A watch that the API server ends goes on from where it was: the objects are not listed again.
func TestWatchGoesOn(t *testing.T) {
	var lists, watches atomic.Int32
	var versions sync.Map
	done := make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			lists.Add(1)
			_ = json.NewEncoder(w).Encode(map[string]any{"metadata": map[string]string{"resourceVersion": "7"}, "items": []any{}})
			return
		}
		n := watches.Add(1)
		versions.Store(n, r.URL.Query().Get("resourceVersion"))
		bookmark := map[string]any{"metadata": map[string]any{"resourceVersion": "9"}}
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "BOOKMARK", "object": bookmark})
		w.(http.Flusher).Flush()
		if n > 1 {
			<-done
			return
		}
		time.Sleep(1100 * time.Millisecond) // a watch that ends at once is a failure
	}))
	defer api.Close()
	defer close(done)
	client, err := newClient(api.URL, "", "")
	require.NoError(t, err)
	w := &watcher{client: client, store: memory.NewStore(memory.Options{}), log: quiet}
	go w.follow(t.Context(), "/api/v1/pods", watched["/api/v1/pods"])
	require.Eventually(t, func() bool { return watches.Load() == 2 }, 10*time.Second, 10*time.Millisecond)
	require.EqualValues(t, 1, lists.Load())
	from, _ := versions.Load(int32(1))
	require.Equal(t, "7", from)
	from, _ = versions.Load(int32(2))
	require.Equal(t, "9", from)
}

// The memory of allowed deletions outlasts the longest that a silent watch counts as watched: it ends by itself, at the latest,
// after its context; then its kind counts as watched for maxLag.
func TestDeletionsAreRememberedForLongerThanAWatchIsSilent(t *testing.T) {
	const silent = maxWatch + maxLag/2 + maxLag
	require.Greater(t, assumeServiceCIDRFor, silent)
	require.LessOrEqual(t, assumeServiceCIDRFor, memory.AssumeServiceCIDRFor)
	w := &watcher{lost: map[string]time.Time{}}
	for path := range watched {
		w.lost[path] = time.Now().Add(-maxLag - time.Second)
	}
	require.False(t, w.synced(), "from then on every review is refused")
}
