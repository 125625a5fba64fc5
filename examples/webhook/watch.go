package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/admission/memory"
)

// watched are the objects that decisions rest on: their path, and a new one.
var watched = map[string]func() runtime.Object{
	"/apis/networking.k8s.io/v1/servicecidrs":         func() runtime.Object { return &networkingv1.ServiceCIDR{} },
	"/apis/networking.k8s.io/v1/ipaddresses":          func() runtime.Object { return &networkingv1.IPAddress{} },
	"/apis/rbac.authorization.k8s.io/v1/clusterroles": func() runtime.Object { return &rbacv1.ClusterRole{} },
	"/apis/policy/v1/poddisruptionbudgets":            func() runtime.Object { return &policyv1.PodDisruptionBudget{} },
	"/api/v1/pods":                                    func() runtime.Object { return &corev1.Pod{} },
	"/api/v1/replicationcontrollers":                  func() runtime.Object { return &corev1.ReplicationController{} },
	"/apis/apps/v1/replicasets":                       func() runtime.Object { return &appsv1.ReplicaSet{} },
	"/apis/apps/v1/deployments":                       func() runtime.Object { return &appsv1.Deployment{} },
	"/apis/apps/v1/statefulsets":                      func() runtime.Object { return &appsv1.StatefulSet{} },
}

// maxLag is how long a kind may go without a watch until nothing is decided any more, and maxWatch how long one watch
// lasts: a connection that died without a word is noticed then.
const (
	maxLag   = time.Minute
	maxWatch = 5 * time.Minute
	// assumeServiceCIDRFor is longer than a watch that died without an error can count as watched: it ends after maxWatch
	// and half of maxLag, and decides for maxLag more.
	assumeServiceCIDRFor = maxWatch + 2*maxLag
)

// watcher keeps the store up to date: it lists each kind, and watches it from there. With client-go, its informers take
// the place of this file.
type watcher struct {
	client *client
	store  *memory.Store
	log    *slog.Logger

	mu sync.Mutex
	// lost is when the watch of a kind ended, and zero for one that is watched.
	lost map[string]time.Time
}

// synced reports whether each kind is listed, and watched, or was a moment ago.
func (w *watcher) synced() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path := range watched {
		if lost, listed := w.lost[path]; !listed || !lost.IsZero() && time.Since(lost) > maxLag {
			return false
		}
	}
	return true
}

// follows notes that a kind is watched from now on, or not any more. A kind counts from its first list.
func (w *watcher) follows(path string, follows bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost == nil {
		w.lost = map[string]time.Time{}
	}
	lost, listed := w.lost[path]
	switch {
	case follows:
		w.lost[path] = time.Time{}
	case listed && lost.IsZero():
		w.lost[path] = time.Now()
	}
}

func (w *watcher) run(ctx context.Context) {
	for path, empty := range watched {
		go w.follow(ctx, path, empty)
	}
}

// follow lists and watches one kind until the context ends.
func (w *watcher) follow(ctx context.Context, path string, empty func() runtime.Object) {
	known := map[types.NamespacedName]runtime.Object{}
	for wait := time.Second; ctx.Err() == nil; wait = min(2*wait, maxLag/2) {
		version, err := w.list(ctx, path, empty, known)
		for err == nil {
			w.follows(path, true)
			wait = time.Second
			version, err = w.watch(ctx, path, version, empty, known)
		}
		w.follows(path, false)
		w.log.Info("listing again", "path", path, "after", err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// list puts all objects of a kind into the store, and removes the objects that are gone.
func (w *watcher) list(ctx context.Context, path string, empty func() runtime.Object, known map[types.NamespacedName]runtime.Object) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, maxLag)
	defer cancel()
	body, err := w.client.get(ctx, path)
	if err != nil {
		return "", err
	}
	defer body.Close()
	var all struct {
		Metadata metav1.ListMeta   `json:"metadata"`
		Items    []json.RawMessage `json:"items"`
	}
	if err := json.NewDecoder(body).Decode(&all); err != nil {
		return "", err
	}
	gone := make(map[types.NamespacedName]runtime.Object, len(known))
	for name, o := range known {
		gone[name] = o
	}
	var objects []runtime.Object
	for _, item := range all.Items {
		o := empty()
		if err := json.Unmarshal(item, o); err != nil {
			return "", err
		}
		delete(gone, nameOf(o))
		known[nameOf(o)] = o
		objects = append(objects, o)
	}
	w.store.Put(objects...)
	for name, o := range gone {
		delete(known, name)
		w.store.Remove(o)
	}
	return all.Metadata.ResourceVersion, nil
}

// watch takes in what happens until the API server ends the watch, and returns from where to go on.
func (w *watcher) watch(ctx context.Context, path, version string, empty func() runtime.Object, known map[types.NamespacedName]runtime.Object) (string, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, maxWatch+maxLag/2)
	defer cancel()
	const query = "%s?watch=true&allowWatchBookmarks=true&timeoutSeconds=%.0f&resourceVersion=%s"
	body, err := w.client.get(ctx, fmt.Sprintf(query, path, maxWatch.Seconds(), version))
	if err != nil {
		return "", err
	}
	defer body.Close()
	events := json.NewDecoder(body)
	for {
		var event struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		switch err := events.Decode(&event); {
		case errors.Is(err, io.EOF) && time.Since(began) > time.Second:
			return version, nil
		case err != nil:
			return "", err
		}
		if event.Type == "ERROR" {
			return "", errors.New(string(event.Object)) // 410 Gone, as a rule: list again
		}
		o := empty()
		if err := json.Unmarshal(event.Object, o); err != nil {
			return "", err
		}
		version = o.(metav1.Object).GetResourceVersion() // all watched kinds have one
		switch event.Type {
		case "ADDED", "MODIFIED":
			known[nameOf(o)] = o
			w.store.Put(o)
		case "DELETED":
			delete(known, nameOf(o))
			w.store.Remove(o)
		}
	}
}

func nameOf(o runtime.Object) types.NamespacedName {
	m := o.(metav1.Object) // all watched kinds are
	return types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}
}

// client reads from an API server.
type client struct {
	url       string
	tokenFile string
	http      *http.Client
}

func newClient(url, tokenFile, caFile string) (*client, error) {
	c := &client{url: url, tokenFile: tokenFile, http: &http.Client{}}
	if caFile == "" {
		return c, nil
	}
	certificates, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(certificates) {
		return nil, fmt.Errorf("%s: no certificate in it", caFile)
	}
	c.http.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	return c, nil
}

func (c *client) get(ctx context.Context, path string) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path, nil)
	if err != nil {
		return nil, err
	}
	if c.tokenFile != "" {
		// Read each time: the kubelet renews it.
		token, err := os.ReadFile(c.tokenFile)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return nil, fmt.Errorf("%s: %s: %s", path, response.Status, text)
	}
	return response.Body, nil
}
