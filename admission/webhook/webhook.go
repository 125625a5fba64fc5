// Package webhook serves admission reviews over HTTP. It is what stands between the network and a decision of package
// admission: it limits the size of a review, the number of decisions under way and the time of each, and a decision
// that panics refuses.
//
//	handler := webhook.New(func(ctx context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
//		return store.Review(r, synced(), time.Now(), options)
//	}, webhook.Options{})
//
// The server around it is the caller's: TLS, timeouts of connections, readiness, shutdown. controllerruntime.AddWebhook
// leaves that to a manager of controller-runtime: see docs/webhook.md.
package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/admission"
)

// MaxBody is the size of a review in bytes unless [Options] say otherwise. It is more than an API server sends by
// default. An API server accepts requests of 3 MiB, and etcd objects of 1.5 MiB, in protobuf or JSON as they were sent.
// A review has them in JSON. There, a rule of the shortest entries takes five times as much as in protobuf, and a
// character that is escaped for HTML (<, >, &) six times. A create has one object from a request, and an update has one
// from a request and one from etcd: 6 × (3 + 1.5) MiB = 27 MiB.
const MaxBody = 32 << 20

// MaxTimeout is the longest that an API server waits for a webhook: a timeout for connections.
const MaxTimeout = 30 * time.Second

// defaultTimeout is how long an API server waits unless it is told otherwise.
const defaultTimeout = 10 * time.Second

// Options of a [Handler]. The zero value has defaults for all.
type Options struct {
	// MaxBody is the size of a review in bytes; a larger review gets 413, so that the failurePolicy decides. 0 means
	// the constant MaxBody. Raise it for API servers and etcds with other limits.
	MaxBody int64
	// MaxDecisions is how many decisions on one resource may be under way: reviews of ClusterRoles that wait for a list do
	// not hold up evictions. 0 means two for each processor.
	MaxDecisions int
	// Log gets a line for each review. Nil means slog.Default.
	Log *slog.Logger
}

// Handler answers admission reviews.
type Handler struct {
	decide  decision
	maxBody int64
	log     *slog.Logger

	maxDecisions int
	mu           sync.Mutex
	// deciding are the resources of reviews that wait or are decided. The names of resources are the caller's.
	deciding map[string]*resource
}

// resource has a place for each decision on it that may be under way, and how many reviews need it.
type resource struct {
	places  chan struct{}
	reviews int
}

type decision = func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse

// New returns a handler that answers the POST of an AdmissionReview, v1 or v1beta1, with what decide returns. decide
// may be called concurrently. An answer of nil refuses, and so does a panic: both with 500, and with a line in the log.
//
// A review that is not decided in time is refused before the API server gives up and the failurePolicy decides: after
// the timeout that the API server sends, less a fifth or at most a second. It gets the answer of [admission.NotNow].
// The context of decide ends then, and when the API server hangs up.
func New(
	decide func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse, o Options,
) *Handler {
	if o.MaxBody <= 0 {
		o.MaxBody = MaxBody
	}
	if o.MaxDecisions <= 0 {
		o.MaxDecisions = 2 * runtime.GOMAXPROCS(0)
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Handler{decide: decide, maxBody: o.MaxBody, log: o.Log, maxDecisions: o.MaxDecisions,
		deciding: map[string]*resource{}}
}

// review is an AdmissionReview of either version: their JSON is the same.
type review struct {
	metav1.TypeMeta `json:",inline"`
	Request         *admissionv1.AdmissionRequest  `json:"request,omitempty"`
	Response        *admissionv1.AdmissionResponse `json:"response,omitempty"`
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	in, problem, code := h.read(w, r)
	if problem != "" {
		http.Error(w, problem, code)
		return
	}
	ctx, cancel := context.WithDeadline(r.Context(), began.Add(patience(r.URL.Query().Get("timeout"))))
	defer cancel()
	response := h.answer(ctx, in.Request)
	message := ""
	if response.Result != nil {
		message = response.Result.Message
	}
	h.log.Info("review", "resource", in.Request.Resource.Resource, "subresource", in.Request.SubResource, "operation",
		in.Request.Operation,
		"namespace", in.Request.Namespace, "name", in.Request.Name, "allowed", response.Allowed, "message", message, "took",
		time.Since(began))
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review{TypeMeta: in.TypeMeta, Response: response}); err != nil {
		h.log.Error("the answer could not be sent", "error", err)
	}
}

// read returns the review of a request, or what is wrong with it.
func (h *Handler) read(w http.ResponseWriter, r *http.Request) (in review, problem string, code int) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return in, "the method must be POST", http.StatusMethodNotAllowed
	}
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
		mediaType != "application/json" {
		return in, "the Content-Type must be application/json", http.StatusUnsupportedMediaType
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return in, fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit), http.StatusRequestEntityTooLarge
	case err != nil:
		return in, err.Error(), http.StatusBadRequest
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return in, "the body is not an AdmissionReview: " + err.Error(), http.StatusBadRequest
	}
	switch {
	case in.Kind != "AdmissionReview" || in.APIVersion != admissionv1.SchemeGroupVersion.String() &&
		in.APIVersion != admissionv1beta1.SchemeGroupVersion.String():
		return in, fmt.Sprintf("the body is not an AdmissionReview of v1 or v1beta1: %q %q", in.APIVersion, in.Kind),
			http.StatusBadRequest
	case in.Request == nil || in.Request.UID == "":
		return in, "the AdmissionReview has no request with a uid", http.StatusBadRequest
	}
	return in, "", 0
}

// patience is how long a decision may take, from the timeout that an API server sends: its answer has to arrive
// in time, because after that the failurePolicy decides.
func patience(timeout string) time.Duration {
	d, err := time.ParseDuration(timeout)
	if err != nil || d <= 0 {
		d = defaultTimeout
	}
	d = min(d, MaxTimeout)
	return d - min(d/5, time.Second)
}

// answer decides a request, or refuses it if it cannot be decided in time. It does not wait for a decision that is
// late.
func (h *Handler) answer(ctx context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	const tooLate = "the webhook could not decide in time"
	places, leave := h.places(r)
	select {
	case places <- struct{}{}:
	case <-ctx.Done():
		leave()
		return admission.NotNow(r, tooLate)
	}
	decided := make(chan *admissionv1.AdmissionResponse, 1)
	go func() {
		defer leave()
		defer func() { <-places }()
		decided <- h.decided(ctx, r)
	}()
	select {
	case response := <-decided:
		return response
	case <-ctx.Done():
		return admission.NotNow(r, tooLate)
	}
}

// places has room for the decisions on the resource of a request. Call leave when the request no longer needs a place.
func (h *Handler) places(r *admissionv1.AdmissionRequest) (places chan struct{}, leave func()) {
	name := r.Resource.Group + "/" + r.Resource.Resource + "/" + r.SubResource
	h.mu.Lock()
	defer h.mu.Unlock()
	of := h.deciding[name]
	if of == nil {
		of = &resource{places: make(chan struct{}, h.maxDecisions)}
		h.deciding[name] = of
	}
	of.reviews++
	return of.places, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if of.reviews--; of.reviews == 0 {
			delete(h.deciding, name)
		}
	}
}

// decided is the decision, or a refusal where it fails.
func (h *Handler) decided(
	ctx context.Context, r *admissionv1.AdmissionRequest,
) (response *admissionv1.AdmissionResponse) {
	defer func() {
		if p := recover(); p != nil {
			h.log.Error("panic", "value", p, "stack", string(debug.Stack()))
			response = nil
		}
		if response == nil {
			response = admission.Failed(r, "the webhook could not decide: see its log")
		}
	}()
	return h.decide(ctx, r)
}
