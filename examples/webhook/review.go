package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxBody is more than an API server sends: two objects of the 1.5 MiB that etcd takes, as JSON.
const maxBody = 8 << 20

// handler answers admission reviews.
type handler struct {
	policy policy
	state  *state
	synced func() bool
	log    *slog.Logger
}

func newHandler(p policy, s *state, synced func() bool, log *slog.Logger) http.Handler {
	h := &handler{policy: p, state: s, synced: synced, log: log}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /validate", h.validate)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !synced() {
			http.Error(w, "the objects have not been listed yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// reasons are what clients tell refusals apart by: kubectl drain tries an eviction again after TooManyRequests.
var reasons = map[int32]metav1.StatusReason{
	http.StatusForbidden:           metav1.StatusReasonForbidden,
	http.StatusConflict:            metav1.StatusReasonConflict,
	http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError: metav1.StatusReasonInternalError,
}

// review is an AdmissionReview of either version: their JSON is the same.
type review struct {
	metav1.TypeMeta `json:",inline"`
	Request         *admissionv1.AdmissionRequest  `json:"request,omitempty"`
	Response        *admissionv1.AdmissionResponse `json:"response,omitempty"`
}

func (h *handler) validate(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != "application/json" {
		http.Error(w, "the Content-Type must be application/json", http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		http.Error(w, fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit), http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !h.synced() {
		// What is not known yet cannot be refused: the failurePolicy decides.
		http.Error(w, "the objects have not been listed yet", http.StatusServiceUnavailable)
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
	a, err := h.policy.decide(h.state.now(), in.Request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
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
