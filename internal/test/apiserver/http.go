package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// Handler serves a Server by HTTP, in JSON: get, list, watch and the writes of plans. It knows no discovery, no
// selectors and no scales, and events are accepted and dropped. The Server is the Handler's as long as requests are
// served.
type Handler struct {
	Server *Server
	// Allow is asked before each request, with the verb that RBAC knows it by. An error is the answer. Nil: all are
	// allowed.
	Allow func(purekube.Request) error

	mu       sync.Mutex
	watchers map[chan []byte]purekube.Request
	gone     []Object
	// pages are the rests of lists, by their continue tokens.
	pages map[string]rest
	lists int
}

// rest is what comes after a page: the objects as they were when the list began.
type rest struct {
	revision int
	objects  []Object
}

// Do changes the server. Watchers are told.
func (h *Handler) Do(change func(*Server)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Server.Changed = h.changed
	change(h.Server)
}

// Expire makes all lists expire that have not ended.
func (h *Handler) Expire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pages = nil
}

// ServeHTTP is part of http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r, err := requestOf(q)
	if err == nil && h.Allow != nil {
		err = h.Allow(r)
	}
	if err == nil && r.Verb == "watch" {
		if q.URL.Query().Get("sendInitialEvents") != "" { // a client lists then
			err = apierrors.NewInvalid(kinds[r.Resource].GroupKind(), "", nil)
		} else {
			h.watch(w, q, r)
			return
		}
	}
	var answer any
	if err == nil {
		answer, err = h.answer(r, q.URL.Query())
	}
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		status := apierrors.NewBadRequest(err.Error()).Status()
		if s := apierrors.APIStatus(nil); errors.As(err, &s) {
			status = s.Status()
		}
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		w.WriteHeader(int(status.Code))
		answer = status
	}
	_ = json.NewEncoder(w).Encode(answer) // the client is gone, or it is not
}

func (h *Handler) answer(r purekube.Request, options url.Values) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Server.Changed = h.changed
	switch {
	case r.Resource.Resource == "events":
		return map[string]any{"kind": "Event", "apiVersion": r.Resource.GroupVersion().String()}, nil
	case r.Verb == "list":
		return h.list(r, options)
	case r.Verb == "get":
		o, err := h.Server.find(place{r.Resource, types.NamespacedName{Namespace: r.Namespace, Name: r.Name}}, r)
		if err != nil {
			return nil, err
		}
		return withKind(o), nil
	}
	o, err := h.Server.Do(r)
	if err != nil {
		return nil, err
	}
	return withKind(o), nil
}

// list answers with a page where the request has a limit.
func (h *Handler) list(r purekube.Request, options url.Values) (any, error) {
	token := options.Get("continue")
	left, known := h.pages[token]
	switch {
	case token == "":
		left = rest{h.Server.revision + 1, h.Server.of(r.Resource)}
	case !known:
		return nil, apierrors.NewResourceExpired("The provided continue parameter is too old.")
	}
	delete(h.pages, token)
	meta := map[string]any{"resourceVersion": strconv.Itoa(left.revision)}
	page := left.objects
	if limit, _ := strconv.Atoi(options.Get("limit")); limit > 0 && limit < len(page) {
		h.lists++
		token := strconv.Itoa(h.lists)
		if h.pages == nil {
			h.pages = map[string]rest{}
		}
		h.pages[token], page = rest{left.revision, page[limit:]}, page[:limit]
		meta["continue"] = token
	}
	items := []any{}
	for _, o := range page {
		items = append(items, withKind(o))
	}
	k := kinds[r.Resource]
	return map[string]any{"apiVersion": k.GroupVersion().String(), "kind": k.Kind + "List", "items": items,
		"metadata": meta}, nil
}

func withKind(o runtime.Object) runtime.Object {
	o = o.DeepCopyObject()
	o.GetObjectKind().SetGroupVersionKind(kinds[ResourceOf(o.(Object))].GroupVersionKind)
	return o
}

// changed tells watchers. One that does not keep up misses events, and its test fails.
func (h *Handler) changed(o Object, gone bool) {
	kind := "MODIFIED" // informers tell new objects by their own stores
	if gone {
		kind = "DELETED"
		h.gone = append(h.gone, o)
	}
	h.tell(kind, o)
}

// tell sends the event to the watchers.
func (h *Handler) tell(kind string, o Object) {
	event, err := json.Marshal(map[string]any{"type": kind, "object": withKind(o)})
	if err != nil {
		panic(err) // typed objects always convert
	}
	event = append(event, '\n') // here, since the watchers share it
	for events, r := range h.watchers {
		if r.Resource == ResourceOf(o) {
			select {
			case events <- event:
			default:
			}
		}
	}
}

func (h *Handler) watch(w http.ResponseWriter, q *http.Request, r purekube.Request) {
	events := make(chan []byte, 10_000)
	h.mu.Lock()
	if h.watchers == nil {
		h.watchers = map[chan []byte]purekube.Request{}
	}
	h.watchers[events] = r
	// What changed between the list and now.
	from, _ := strconv.Atoi(q.URL.Query().Get("resourceVersion"))
	since := func(o Object) bool {
		version, _ := strconv.Atoi(o.GetResourceVersion())
		return version > from-1
	}
	for _, o := range h.gone {
		if since(o) {
			h.tell("DELETED", o)
		}
	}
	for _, o := range h.Server.of(r.Resource) { // one that is there again comes after its deletion
		if since(o) {
			h.tell("MODIFIED", o)
		}
	}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.watchers, events)
		h.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	for {
		select {
		case <-q.Context().Done():
			return
		case event := <-events:
			if _, err := w.Write(event); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	}
}

// requestOf reads /apis/GROUP/VERSION[/namespaces/NAMESPACE]/RESOURCE[/NAME[/SUBRESOURCE]], or /api/VERSION….
func requestOf(h *http.Request) (r purekube.Request, err error) {
	body, err := io.ReadAll(h.Body)
	if err != nil {
		return r, err
	}
	parts := strings.Split(strings.Trim(h.URL.Path, "/"), "/")
	if parts[0] == "api" {
		parts = append([]string{"apis", ""}, parts[1:]...)
	}
	if len(parts) < 4 {
		return r, apierrors.NewNotFound(r.Resource.GroupResource(), h.URL.Path)
	}
	r.Resource.Group, r.Resource.Version, parts = parts[1], parts[2], parts[3:]
	if parts[0] == "namespaces" && len(parts) > 2 {
		r.Namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "")
	r.Resource.Resource, r.Name, r.Subresource = parts[0], parts[1], parts[2]
	r.FieldManager = h.URL.Query().Get("fieldManager")
	r.Force = h.URL.Query().Get("force") == "true"
	switch h.Method {
	case http.MethodGet:
		switch {
		case r.Name != "":
			r.Verb = "get"
		case h.URL.Query().Get("watch") != "":
			r.Verb = "watch"
		default:
			r.Verb = "list"
		}
		return r, nil
	case http.MethodPost:
		r.Verb = "create"
	case http.MethodPut:
		r.Verb = "update"
	case http.MethodPatch:
		r.Verb, r.PatchType, r.Patch = "patch", types.PatchType(h.Header.Get("Content-Type")), body
		return r, nil
	case http.MethodDelete:
		r.Verb = "delete"
		var options metav1.DeleteOptions
		err = json.Unmarshal(body, &options)
		r.Preconditions = options.Preconditions
		return r, err
	default:
		return r, fmt.Errorf("%s: unknown method", h.Method)
	}
	if k, known := kinds[r.Resource]; known {
		o := k.make()
		r.Object, err = o, json.Unmarshal(body, o)
	}
	return r, err
}
