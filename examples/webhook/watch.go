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
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
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

// watcher keeps the state up to date: it lists each kind, watches it from there, and lists it again when the watch
// ends. With client-go, its informers take the place of this file.
type watcher struct {
	client *client
	state  *state
	log    *slog.Logger
	listed atomic.Int32
}

// synced reports whether each kind has been listed once.
func (w *watcher) synced() bool { return int(w.listed.Load()) == len(watched) }

func (w *watcher) run(ctx context.Context) {
	for path, empty := range watched {
		go func() {
			first := true
			known := map[types.NamespacedName]runtime.Object{}
			for wait := time.Second; ctx.Err() == nil; wait = min(2*wait, time.Minute) {
				version, err := w.list(ctx, path, empty, known)
				if err == nil {
					if first {
						first = false
						w.listed.Add(1)
					}
					wait = time.Second
					err = w.watch(ctx, path, version, empty, known)
				}
				w.log.Info("listing again", "path", path, "after", err)
				select {
				case <-ctx.Done():
				case <-time.After(wait):
				}
			}
		}()
	}
}

// list puts all objects of a kind into the state, and removes those that are gone.
func (w *watcher) list(ctx context.Context, path string, empty func() runtime.Object, known map[types.NamespacedName]runtime.Object) (version string, err error) {
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
	w.state.put(objects...)
	for name, o := range gone {
		delete(known, name)
		w.state.remove(o)
	}
	return all.Metadata.ResourceVersion, nil
}

// watch takes in what happens until the API server ends the watch.
func (w *watcher) watch(ctx context.Context, path, version string, empty func() runtime.Object, known map[types.NamespacedName]runtime.Object) error {
	body, err := w.client.get(ctx, path+"?watch=true&resourceVersion="+version)
	if err != nil {
		return err
	}
	defer body.Close()
	events := json.NewDecoder(body)
	for {
		var event struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := events.Decode(&event); err != nil {
			return err
		}
		if event.Type == "ERROR" {
			return errors.New(string(event.Object)) // 410 Gone, as a rule: list again
		}
		o := empty()
		if err := json.Unmarshal(event.Object, o); err != nil {
			return err
		}
		switch event.Type {
		case "ADDED", "MODIFIED":
			known[nameOf(o)] = o
			w.state.put(o)
		case "DELETED":
			delete(known, nameOf(o))
			w.state.remove(o)
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
