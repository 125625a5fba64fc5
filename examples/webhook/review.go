package main

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
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxBody is more than an API server sends by default. It takes requests of 3 MiB, and etcd takes objects of
// 1.5 MiB, in protobuf or JSON as they were sent. A review has them in JSON, where a rule of the shortest
// entries takes five times as much as in protobuf, and a character that HTML knows (<, >, &) six times. A
// create has one object from a request, and an update one from a request and one from etcd: 6 × (3 + 1.5) MiB =
// 27 MiB. The flag -max-review is for API servers and etcds with other limits.
const maxBody = 32 << 20

// handler answers admission reviews.
type handler struct {
	*http.ServeMux
	decide  func(context.Context, *admissionv1.AdmissionRequest) answer
	synced  func() bool
	maxBody int64
	// deciding has a place for each decision that is under way.
	deciding chan struct{}
	log      *slog.Logger
}

func newHandler(p policy, s *state, synced func() bool, log *slog.Logger) *handler {
	mux := http.NewServeMux()
	h := &handler{
		ServeMux: mux, synced: synced, maxBody: maxBody, deciding: make(chan struct{}, 2*runtime.GOMAXPROCS(0)), log: log,
		decide: func(ctx context.Context, r *admissionv1.AdmissionRequest) answer { return p.decide(ctx, s, r) },
	}
	mux.HandleFunc("POST /validate", h.validate)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !h.synced() {
			http.Error(w, "the objects are not listed yet, or not watched any more", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return h
}

// reasons are what clients tell refusals apart by: kubectl drain tries an eviction again after TooManyRequests.
var reasons = map[int32]metav1.StatusReason{
	http.StatusBadRequest:          metav1.StatusReasonBadRequest,
	http.StatusForbidden:           metav1.StatusReasonForbidden,
	http.StatusConflict:            metav1.StatusReasonConflict,
	http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
	http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
}

// review is an AdmissionReview of either version: their JSON is the same.
type review struct {
	metav1.TypeMeta `json:",inline"`
	Request         *admissionv1.AdmissionRequest  `json:"request,omitempty"`
	Response        *admissionv1.AdmissionResponse `json:"response,omitempty"`
}

// defaultTimeout is how long an API server waits for a webhook unless it is told otherwise, and maxTimeout the longest
// that it can be told.
const (
	defaultTimeout = 10 * time.Second
	maxTimeout     = 30 * time.Second
)

// patience is how long a decision may take, from the timeout that an API server sends: its answer has to arrive
// in time, because after that the failurePolicy decides.
func patience(timeout string) time.Duration {
	d, err := time.ParseDuration(timeout)
	if err != nil || d <= 0 {
		d = defaultTimeout
	}
	d = min(d, maxTimeout)
	return d - min(d/5, time.Second)
}

// notNow refuses what cannot be decided now. kubectl drain tries an eviction again if there are too many requests.
func notNow(r *admissionv1.AdmissionRequest, why string) answer {
	code := int32(http.StatusServiceUnavailable)
	if r.SubResource == "eviction" {
		code = http.StatusTooManyRequests
	}
	return refused(code, "%s; try again", why)
}

// answer decides a review, or refuses it if it cannot be decided, or not in time.
func (h *handler) answer(ctx context.Context, r *admissionv1.AdmissionRequest) answer {
	late := notNow(r, "the webhook could not decide in time")
	switch {
	case !judged(r):
		return allowed
	case !h.synced():
		return notNow(r, "the webhook does not know the objects of the cluster, or only as they were")
	}
	select {
	case h.deciding <- struct{}{}:
	case <-ctx.Done():
		return late
	}
	decided := make(chan answer, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				h.log.Error("panic", "value", p, "stack", string(debug.Stack()))
				decided <- refused(http.StatusInternalServerError, "the webhook could not decide: see its log")
			}
			<-h.deciding
		}()
		decided <- h.decide(ctx, r)
	}()
	select {
	case a := <-decided:
		return a
	case <-ctx.Done():
		return late
	}
}

func (h *handler) validate(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != "application/json" {
		http.Error(w, "the Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		http.Error(w, fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit), http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var in review
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, "no AdmissionReview: "+err.Error(), http.StatusBadRequest)
		return
	}
	switch {
	case in.Kind != "AdmissionReview" || in.APIVersion != admissionv1.SchemeGroupVersion.String() && in.APIVersion != admissionv1beta1.SchemeGroupVersion.String():
		http.Error(w, fmt.Sprintf("no AdmissionReview of v1 or v1beta1: %q %q", in.APIVersion, in.Kind), http.StatusBadRequest)
		return
	case in.Request == nil || in.Request.UID == "":
		http.Error(w, "the AdmissionReview has no request with a uid", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithDeadline(r.Context(), began.Add(patience(r.URL.Query().Get("timeout"))))
	defer cancel()
	a := h.answer(ctx, in.Request)
	response := &admissionv1.AdmissionResponse{UID: in.Request.UID, Allowed: a.allowed, Warnings: a.warnings}
	if !a.allowed {
		response.Result = &metav1.Status{Code: a.code, Reason: reasons[a.code], Message: a.message}
	}
	h.log.Info("review", "resource", in.Request.Resource.Resource, "subresource", in.Request.SubResource, "operation", in.Request.Operation,
		"namespace", in.Request.Namespace, "name", in.Request.Name, "allowed", a.allowed, "message", a.message, "took", time.Since(began))
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review{TypeMeta: in.TypeMeta, Response: response}); err != nil {
		h.log.Error("the answer could not be sent", "error", err)
	}
}
