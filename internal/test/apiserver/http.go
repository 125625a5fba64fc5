package apiserver

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

// HTTP serves a Server to clients and informers: the writes of plans, get, list and watch, in JSON. Nobody else may use the
// Server meanwhile, except through Do.
type HTTP struct {
	mu     sync.Mutex
	server *Server
	// happened are all events since the start, and more is closed when there is another one.
	happened []happened
	more     chan struct{}
}

// happened is an event of a watch.
type happened struct {
	resource schema.GroupVersionResource
	version  int
	event    []byte
}

// Serve returns a handler for the server. It takes its Changed.
func Serve(s *Server) *HTTP {
	h := &HTTP{server: s, more: make(chan struct{})}
	before := map[types.UID]bool{}
	for _, o := range s.objects {
		before[o.GetUID()] = true
	}
	s.Changed = func(o Object, gone bool) {
		content, what := withKind(o), "ADDED"
		switch {
		case gone:
			what = "DELETED"
			delete(before, o.GetUID())
			s.revision++ // a deletion has a version of its own
			content["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(s.revision)
		case before[o.GetUID()]:
			what = "MODIFIED"
		default:
			before[o.GetUID()] = true
		}
		event, err := json.Marshal(map[string]any{"type": what, "object": content})
		if err != nil {
			panic(err) // typed objects always encode
		}
		h.happened = append(h.happened, happened{resourceOf(o), s.revision, append(event, '\n')})
		close(h.more)
		h.more = make(chan struct{})
	}
	return h
}

// Do lets the test do something to the server.
func (h *HTTP) Do(what func(*Server)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	what(h.server)
}

// ServeHTTP implements http.Handler.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	r, err := requestOf(in)
	if query := in.URL.Query(); err == nil && in.Method == http.MethodGet && query.Get("watch") != "" {
		if query.Get("sendInitialEvents") == "" {
			h.watch(w, in, r.Resource)
			return
		}
		// As an API server without that feature: informers list then.
		err = apierrors.NewInvalid(schema.GroupKind{Group: r.Resource.Group}, "", nil)
	}
	w.Header().Set("Content-Type", "application/json")
	var answer any
	if err == nil {
		answer, err = h.answer(in, r)
	}
	if err != nil {
		var status apierrors.APIStatus
		if !errors.As(err, &status) {
			status = apierrors.NewBadRequest(err.Error())
		}
		w.WriteHeader(int(status.Status().Code))
		s := status.Status()
		s.Kind, s.APIVersion = "Status", "v1"
		answer = s
	}
	_ = json.NewEncoder(w).Encode(answer) // the client may be gone
}

func (h *HTTP) answer(in *http.Request, r purekube.Request) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if in.Method != http.MethodGet {
		o, err := h.server.Do(r)
		if err != nil {
			return nil, err
		}
		return withKind(o.(Object)), nil
	}
	k, known := kinds[r.Resource]
	if !known {
		return nil, apierrors.NewNotFound(r.Resource.GroupResource(), r.Name)
	}
	items := []any{}
	for _, o := range h.server.All() {
		switch {
		case resourceOf(o) != r.Resource:
		case r.Name == "":
			items = append(items, withKind(o))
		case o.GetName() == r.Name && o.GetNamespace() == r.Namespace:
			return withKind(o), nil
		}
	}
	if r.Name != "" {
		return nil, apierrors.NewNotFound(r.Resource.GroupResource(), r.Name)
	}
	return map[string]any{
		"apiVersion": r.Resource.GroupVersion().String(), "kind": k.Kind + "List",
		"metadata": map[string]any{"resourceVersion": strconv.Itoa(h.server.revision)}, "items": items,
	}, nil
}

// watch sends what happens to a resource until the client goes.
func (h *HTTP) watch(w http.ResponseWriter, in *http.Request, resource schema.GroupVersionResource) {
	since, _ := strconv.Atoi(in.URL.Query().Get("resourceVersion"))
	w.Header().Set("Content-Type", "application/json")
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	for next := 0; ; {
		h.mu.Lock()
		news, more := h.happened[next:], h.more
		next = len(h.happened)
		h.mu.Unlock()
		for _, n := range news {
			if n.resource == resource && n.version > since {
				_, _ = w.Write(n.event)
			}
		}
		_ = flush.Flush()
		select {
		case <-more:
		case <-in.Context().Done():
			return
		}
	}
}

// withKind is the object as an API server sends it.
func withKind(o Object) map[string]any {
	t, k := tree(o), kinds[resourceOf(o)]
	t["apiVersion"], t["kind"] = k.GroupVersion().String(), k.Kind
	return t
}

// requestOf reads /apis/GROUP/VERSION[/namespaces/NAMESPACE]/RESOURCE[/NAME[/SUBRESOURCE]].
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
		return r, apierrors.NewNotFound(schema.GroupResource{}, h.URL.Path)
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
	case http.MethodPost:
		r.Verb = "create"
	case http.MethodPut:
		r.Verb = "update"
	case http.MethodPatch:
		r.Verb, r.PatchType, r.Patch = "patch", types.PatchType(h.Header.Get("Content-Type")), body
	case http.MethodDelete:
		r.Verb = "delete"
		var options metav1.DeleteOptions
		err = json.Unmarshal(body, &options)
		r.Preconditions = options.Preconditions
	}
	if k, known := kinds[r.Resource]; known && (r.Verb == "create" || r.Verb == "update") {
		o := k.make()
		err = json.Unmarshal(body, o)
		r.Object = o
	}
	return r, err
}
