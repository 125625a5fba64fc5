package clientgo_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/resourceclaim"
)

// A claim has every field that its template has on the API server, also those that this version of client-go does not know.
// Whatever keeps the template from being read keeps the claim from being made.
func TestClaimsHaveTheSpecOfTheirTemplate(t *testing.T) {
	request := resourceclaim.CreateClaim{
		Claim:        &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", GenerateName: "train-gpu-", Labels: map[string]string{"team": "a"}}},
		TemplateName: "gpu", TemplateUID: "uid-gpu",
	}.Request(nil)
	template := func(uid string) string {
		return `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{"namespace":"ml","name":"gpu","uid":"` + uid + `"},
			"spec":{"spec":{"devices":{"requests":[{"name":"one","newer":1}]},"newer":{"a":"b"}}}}`
	}
	for _, tc := range []struct {
		name    string
		status  int
		answer  string
		refused func(error) bool // nil: the claim is made
	}{
		{"there", 200, template("uid-gpu"), nil},
		{"replaced by another", 200, template("uid-new"), apierrors.IsConflict},
		{"gone", 404, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`, apierrors.IsNotFound},
		{"not allowed", 403, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`, apierrors.IsForbidden},
		{"no template", 200, `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"ml","name":"gpu","uid":"uid-gpu"}}`, apierrors.IsConflict},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var calls, bodies []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls = append(calls, r.Method+" "+r.URL.Path)
				w.Header().Set("Content-Type", "application/json")
				if r.Method == http.MethodGet {
					w.WriteHeader(tc.status)
					_, _ = io.WriteString(w, tc.answer)
					return
				}
				body, _ := io.ReadAll(r.Body)
				bodies = append(bodies, string(body))
				w.WriteHeader(http.StatusCreated)
				_, _ = w.Write(body)
			}))
			defer server.Close()

			clients := map[string]clientgo.Client{"dynamic": clientgo.DynamicExecutor{Client: dynamic.NewForConfigOrDie(&rest.Config{Host: server.URL})}}
			for _, format := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
				e, err := clientgo.NewExecutor(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: format}})
				require.NoError(t, err)
				clients[format] = e
			}
			for name, client := range clients {
				calls, bodies = nil, nil
				made, err := client.Do(t.Context(), request)
				const read, create = "GET /apis/resource.k8s.io/v1/namespaces/ml/resourceclaimtemplates/gpu", "POST /apis/resource.k8s.io/v1/namespaces/ml/resourceclaims"
				if tc.refused != nil {
					require.True(t, tc.refused(err), "%s: %v", name, err)
					require.Equal(t, []string{read}, calls)
					continue
				}
				require.NoError(t, err, name)
				require.NotNil(t, made)
				require.Equal(t, []string{read, create}, calls, name)
				if name != "dynamic" {
					_, err = client.Do(t.Context(), request)
					require.NoError(t, err)
					require.Equal(t, []string{read, create, create}, calls, "a template's spec never changes")
					require.JSONEq(t, bodies[0], bodies[1])
				}
				var body map[string]any
				require.NoError(t, json.Unmarshal([]byte(bodies[0]), &body))
				require.Equal(t, map[string]any{
					"devices": map[string]any{"requests": []any{map[string]any{"name": "one", "newer": 1.0}}},
					"newer":   map[string]any{"a": "b"},
				}, body["spec"], name)
				require.Equal(t, "resource.k8s.io/v1", body["apiVersion"])
				require.Equal(t, map[string]any{"team": "a"}, body["metadata"].(map[string]any)["labels"])
			}
		})
	}
}

// A hook that takes the Template away sends a claim with the spec that the hook gave it, and nothing is read.
func TestClaimWithoutItsTemplate(t *testing.T) {
	request := resourceclaim.CreateClaim{
		Claim:        &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", GenerateName: "train-gpu-"}},
		TemplateName: "gpu", TemplateUID: "uid-gpu",
	}.Request(nil)
	claim := request.Object.(*resourcev1.ResourceClaim)
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "mine"}}
	request.Template = nil
	var calls, bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls, bodies = append(calls, r.Method), append(bodies, string(body))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(body)
	}))
	defer server.Close()
	e, err := clientgo.NewExecutor(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	for _, client := range []clientgo.Client{e, clientgo.DynamicExecutor{Client: dynamic.NewForConfigOrDie(&rest.Config{Host: server.URL})}} {
		calls, bodies = nil, nil
		_, err := client.Do(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, []string{http.MethodPost}, calls)
		require.Contains(t, bodies[0], `"requests":[{"name":"mine"}]`)
	}
}
