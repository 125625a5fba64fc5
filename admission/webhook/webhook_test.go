package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/internal/test/reviews"
	"github.com/purekube/purekube/servicecidr"
)

func newServer(t testing.TB, decide decision, o Options) (*httptest.Server, *Handler) {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	h := New(decide, o)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server, h
}

var anyRole = reviews.WritesRole(nil, reviews.Role("team", "", rbacv1.PolicyRule{}))

// Whatever is sent gets an answer, and never a panic.
func TestMalformedReviews(t *testing.T) {
	server, _ := newServer(t, func(_ context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return admission.Decide(admission.Indexes{ServiceCIDRs: servicecidr.NewIndex(servicecidr.Snapshot{}, servicecidr.Options{})}, r, admission.Options{})
	}, Options{MaxBody: 1 << 16})
	deletion := func(old string) string {
		return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"DELETE","resource":{"group":"networking.k8s.io","version":"v1","resource":"servicecidrs"}` + old + `}}`
	}
	for _, tc := range []struct {
		name, body string
		want       int
	}{
		{"nothing", "", 400},
		{"no JSON", "{", 400},
		{"another kind", `{"apiVersion":"v1","kind":"Pod"}`, 400},
		{"another version", `{"apiVersion":"admission.k8s.io/v2","kind":"AdmissionReview","request":{"uid":"1"}}`, 400},
		{"no request", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, 400},
		{"null request", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}`, 400},
		{"no uid", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}}`, 400},
		// With a uid there is an answer: a refusal, whatever the failurePolicy says.
		{"no oldObject", deletion(""), 200},
		{"null oldObject", deletion(`,"oldObject":null`), 200},
		{"an oldObject that is no object", deletion(`,"oldObject":[1]`), 200},
		{"fields of other types", deletion(`,"oldObject":{"spec":{"cidrs":"x"}}`), 200},
		{"a body that is too large", strings.Repeat(" ", 1<<16+1), 413},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, out, text := reviews.Post(t, server.Client(), server.URL+"/?timeout=30s", tc.body)
			require.Equal(t, tc.want, code, text)
			if code == http.StatusOK {
				require.False(t, out.Response.Allowed)
				require.EqualValues(t, http.StatusBadRequest, out.Response.Result.Code)
				require.Contains(t, out.Response.Result.Message, "request.oldObject cannot be read")
			}
		})
	}
	response, err := http.Post(server.URL+"/", "text/plain", strings.NewReader("{}"))
	require.NoError(t, err)
	require.Equal(t, http.StatusUnsupportedMediaType, response.StatusCode)
	response, err = http.Get(server.URL + "/")
	require.NoError(t, err)
	require.Equal(t, http.StatusMethodNotAllowed, response.StatusCode)
}

// A review is answered in its own version.
func TestVersions(t *testing.T) {
	server, _ := newServer(t, func(_ context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return &admissionv1.AdmissionResponse{UID: r.UID, Allowed: true}
	}, Options{})
	for _, version := range []string{"v1", "v1beta1"} {
		code, out, text := reviews.Post(t, server.Client(), server.URL, anyRole.Body(t, version))
		require.Equal(t, http.StatusOK, code, text)
		require.Equal(t, "admission.k8s.io/"+version, out.APIVersion)
		require.EqualValues(t, "1", out.Response.UID)
		require.True(t, out.Response.Allowed)
	}
}

// The size of a body and the number of decisions have defaults.
func TestDefaults(t *testing.T) {
	h := New(nil, Options{})
	require.EqualValues(t, MaxBody, h.maxBody)
	require.Equal(t, 2*runtime.GOMAXPROCS(0), h.maxDecisions)
	require.NotNil(t, h.log)
}

// What can be stored in etcd, in protobuf, is no more than six times as large in JSON.
func TestLargestReview(t *testing.T) {
	shortest := &rbacv1.ClusterRole{}
	for range 10_000 {
		shortest.Rules = append(shortest.Rules, rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"*"}})
	}
	escaped := &rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{{Verbs: []string{strings.Repeat("<", 100_000)}}}}
	for _, o := range []*rbacv1.ClusterRole{shortest, escaped} {
		text, err := json.Marshal(o)
		require.NoError(t, err)
		require.LessOrEqual(t, float64(len(text)), 6.01*float64(o.Size()))
	}
	require.Greater(t, MaxBody, 6*(3<<20+3<<19))
}

// A review that cannot be decided in time is refused, before the API server gives up and the failurePolicy decides.
func TestDecisionsThatTakeTooLong(t *testing.T) {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	var begun atomic.Int32
	ended := make(chan struct{}, 10)
	server, _ := newServer(t, func(ctx context.Context, _ *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		begun.Add(1)
		<-ctx.Done()
		ended <- struct{}{}
		<-never
		return &admissionv1.AdmissionResponse{Allowed: true}
	}, Options{MaxDecisions: 3})
	for i := range 5 {
		asked, want := anyRole, int32(http.StatusServiceUnavailable)
		if i == 4 { // the ClusterRoles have no place any more, and are not in its way
			asked, want = reviews.Evicts("p"), http.StatusTooManyRequests
		}
		code, out, text := reviews.Post(t, server.Client(), server.URL+"/?timeout=20ms", asked.Body(t, "v1"))
		require.Equal(t, http.StatusOK, code, text)
		require.False(t, out.Response.Allowed)
		require.EqualValues(t, "1", out.Response.UID)
		require.Contains(t, out.Response.Result.Message, "not decide in time")
		require.Equal(t, want, out.Response.Result.Code)
		require.Positive(t, out.Response.Result.Details.RetryAfterSeconds)
	}
	require.EqualValues(t, 3+1, begun.Load())
	for range 3 + 1 {
		<-ended // the context of each decision
	}
	for text, want := range map[string]time.Duration{"": 9 * time.Second, "5s": 4 * time.Second, "1s": 800 * time.Millisecond, "1h": 29 * time.Second, "x": 9 * time.Second, "-1s": 9 * time.Second} {
		require.Equal(t, want, patience(text), text)
	}
}

// Whoever reaches the webhook makes up names of resources. Nothing is kept of them.
func TestNamesOfResourcesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(func(ctx context.Context, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			<-ctx.Done()
			return &admissionv1.AdmissionResponse{UID: r.UID}
		}, Options{MaxDecisions: 1, Log: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for i := range 100 {
			r := &admissionv1.AdmissionRequest{UID: "1", Resource: metav1.GroupVersionResource{Resource: fmt.Sprint("made-up-", i/2)}}
			go h.answer(ctx, r)
		}
		kept := func() int {
			synctest.Wait()
			h.mu.Lock()
			defer h.mu.Unlock()
			return len(h.deciding)
		}
		require.Equal(t, 50, kept())
		<-ctx.Done()
		require.Zero(t, kept())
	})
}

// A decision that fails refuses, and the webhook goes on.
func TestDecisionThatFails(t *testing.T) {
	for name, decide := range map[string]decision{
		"panic": func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
			panic("a mistake")
		},
		"nil": func(context.Context, *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			server, _ := newServer(t, decide, Options{MaxDecisions: 2})
			for range 2 + 1 {
				_, out, _ := reviews.Post(t, server.Client(), server.URL+"/?timeout=10s", anyRole.Body(t, "v1"))
				require.False(t, out.Response.Allowed)
				require.EqualValues(t, http.StatusInternalServerError, out.Response.Result.Code)
				require.EqualValues(t, "1", out.Response.UID)
			}
		})
	}
}
