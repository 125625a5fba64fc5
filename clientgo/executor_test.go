package clientgo_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/internal/test/apiserver"
)

// call is what the API server gets to see of a request.
type call struct{ method, path, query, contentType, body string }

// serve answers every request in that way, and keeps the last.
func serve(t *testing.T, status int, answer any, headers ...string) (*clientgo.Executor, *call) {
	t.Helper()
	host, last := listen(t, status, answer, headers...)
	e, err := clientgo.NewExecutor(&rest.Config{Host: host})
	require.NoError(t, err)
	return e, last
}

func listen(t *testing.T, status int, answer any, headers ...string) (host string, _ *call) {
	t.Helper()
	var last call
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		last = call{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("Content-Type"), string(body)}
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, &last
}

var claim = &resourcev1.ResourceClaim{
	TypeMeta:   metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaim"},
	ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "gpu", UID: "7"},
}

// answered is the claim as client-go returns typed objects: without apiVersion and kind.
var answered = &resourcev1.ResourceClaim{ObjectMeta: claim.ObjectMeta}

func TestCalls(t *testing.T) {
	claims, pods := resourcev1.SchemeGroupVersion.WithResource("resourceclaims"), corev1.SchemeGroupVersion.WithResource("pods")
	body := `{"kind":"ResourceClaim","apiVersion":"resource.k8s.io/v1","metadata":{"name":"gpu","namespace":"ml","uid":"7"},"spec":{"devices":{"requests":null}},"status":{}}` + "\n"
	for _, tc := range []struct {
		name, reason string
		request      purekube.Request
		want         call
	}{
		{"create", "the name is in the object", purekube.Request{Verb: "create", Resource: claims, Namespace: "ml", Object: claim},
			call{"POST", "/apis/resource.k8s.io/v1/namespaces/ml/resourceclaims", "", "application/json", body}},
		{"update of a status", "a subresource is the end of the path", purekube.Request{Verb: "update", Resource: claims, Subresource: "status", Namespace: "ml", Name: "gpu", Object: claim},
			call{"PUT", "/apis/resource.k8s.io/v1/namespaces/ml/resourceclaims/gpu/status", "", "application/json", body}},
		{"patch", "the core group has another root", purekube.Request{Verb: "patch", Resource: corev1.SchemeGroupVersion.WithResource("nodes"), Name: "n", PatchType: types.StrategicMergePatchType, Patch: []byte(`{}`)},
			call{"PATCH", "/api/v1/nodes/n", "", "application/strategic-merge-patch+json", "{}"}},
		{"apply", "its options are in the query", purekube.Request{Verb: "patch", Resource: pods, Subresource: "status", Namespace: "ml", Name: "p", PatchType: types.ApplyYAMLPatchType, Patch: []byte(`{}`), FieldManager: "m", Force: true},
			call{"PATCH", "/api/v1/namespaces/ml/pods/p/status", "fieldManager=m&force=true", "application/apply-patch+yaml", "{}"}},
		{"delete", "preconditions are in the body", purekube.Request{Verb: "delete", Resource: claims, Namespace: "ml", Name: "gpu", Preconditions: &metav1.Preconditions{UID: ptr.To(types.UID("7"))}},
			call{"DELETE", "/apis/resource.k8s.io/v1/namespaces/ml/resourceclaims/gpu", "", "application/json", `{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"7"}}` + "\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, last := serve(t, http.StatusOK, claim)
			got, err := e.Do(t.Context(), tc.request)
			require.NoError(t, err)
			require.Equal(t, tc.want, *last, tc.reason)
			require.Equal(t, answered, got, "the answer is typed, for the actions that read it")
		})
	}
}

// The client of one group makes the calls of all groups.
func TestClientThatIsThereAlready(t *testing.T) {
	host, last := listen(t, http.StatusOK, claim)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: host})
	require.NoError(t, err)
	got, err := clientgo.ExecutorFor(client.CoreV1().RESTClient()).Do(t.Context(), purekube.Request{
		Verb: "create", Resource: resourcev1.SchemeGroupVersion.WithResource("resourceclaims"), Namespace: "ml", Object: claim})
	require.NoError(t, err)
	require.Equal(t, answered, got)
	require.Equal(t, "/apis/resource.k8s.io/v1/namespaces/ml/resourceclaims", last.path)
	require.Contains(t, last.body, `"kind":"ResourceClaim","apiVersion":"resource.k8s.io/v1"`)
}

// What no API server would accept is not sent, or refused; never a panic.
func TestRequestsThatAreNone(t *testing.T) {
	e, last := serve(t, http.StatusNotFound, metav1.Status{})
	for _, r := range []purekube.Request{{}, {Verb: "create"}, {Verb: "update"}, {Verb: "patch"}, {Verb: "delete"}, {Verb: "watch"}} {
		_, err := e.Do(t.Context(), r)
		require.Error(t, err, "%+v", r)
	}
	require.NotEqual(t, "GET", last.method)
}

// One call is one request: whoever has a queue decides when to try again.
func TestRefusalsAreReturned(t *testing.T) {
	e, _ := serve(t, http.StatusTooManyRequests, metav1.Status{}, "Retry-After", "7")
	_, err := e.Do(t.Context(), purekube.Request{Verb: "create", Resource: resourcev1.SchemeGroupVersion.WithResource("resourceclaims"), Object: claim})
	seconds, asked := apierrors.SuggestsClientDelay(err)
	require.True(t, asked)
	require.Equal(t, 7, seconds)
}

func TestGet(t *testing.T) {
	e, last := serve(t, http.StatusOK, claim)
	got, err := e.Get(t.Context(), resourcev1.SchemeGroupVersion.WithResource("resourceclaims"), "", "ml", "gpu")
	require.NoError(t, err)
	require.Equal(t, answered, got)
	require.Equal(t, call{"GET", "/apis/resource.k8s.io/v1/namespaces/ml/resourceclaims/gpu", "", "", ""}, *last)
}

// protobufFirst answers with a PodGroup, or with the claim, in the first format of the request that it can write.
func protobufFirst(t *testing.T, formats *[]string) http.RoundTripper {
	t.Helper()
	protocol := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	way, stop := apiserver.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
		*formats = append(*formats, format)
		w.Header().Set("Content-Type", format)
		group := metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v9", Kind: "PodGroup"} // no client-go has it
		var err error
		switch known := strings.Contains(r.URL.Path, "resourceclaims"); {
		case known && format == runtime.ContentTypeProtobuf:
			err = protocol.Encode(claim, w)
		case known:
			err = json.NewEncoder(w).Encode(claim)
		case format == runtime.ContentTypeProtobuf:
			err = protocol.Encode(&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: group.APIVersion, Kind: group.Kind}, Raw: []byte{1}, ContentType: format}, w)
		default:
			err = json.NewEncoder(w).Encode(metav1.PartialObjectMetadata{TypeMeta: group, ObjectMeta: metav1.ObjectMeta{Name: "train", UID: "7"}})
		}
		if err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(stop)
	return way
}

// With a configuration that asks for protobuf, objects of kinds that this client-go does not have are asked for as JSON:
// protobuf can be decoded by the type alone.
func TestProtobuf(t *testing.T) {
	groups, claims := schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v9", Resource: "podgroups"}, resourcev1.SchemeGroupVersion.WithResource("resourceclaims")
	for _, accept := range []string{"", runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON} {
		var formats []string
		config := rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf, AcceptContentTypes: accept}
		e, err := clientgo.NewExecutor(&rest.Config{Host: "http://api", Transport: protobufFirst(t, &formats), ContentConfig: config})
		require.NoError(t, err)
		for _, r := range []purekube.Request{
			{Verb: "get", Resource: groups, Namespace: "ml", Name: "train"},
			{Verb: "patch", Resource: groups, Kind: "PodGroup", Namespace: "ml", Name: "train", PatchType: types.MergePatchType, Patch: []byte(`{}`)},
		} {
			got, err := e.Do(t.Context(), r)
			require.NoError(t, err, "%s with Accept %q", r.Verb, accept)
			object, isObject := got.(metav1.Object)
			require.True(t, isObject, "%T", got)
			require.Equal(t, types.UID("7"), object.GetUID())
		}
		got, err := e.Get(t.Context(), claims, "", "ml", "gpu")
		require.NoError(t, err)
		require.Equal(t, types.UID("7"), got.(*resourcev1.ResourceClaim).UID)
		got, err = e.Do(t.Context(), purekube.Request{Verb: "update", Resource: claims, Kind: "ResourceClaim", Namespace: "ml", Name: "gpu", Object: claim})
		require.NoError(t, err)
		require.Equal(t, types.UID("7"), got.(*resourcev1.ResourceClaim).UID)
		const asJSON, asProtobuf = runtime.ContentTypeJSON, runtime.ContentTypeProtobuf
		require.Equal(t, []string{asJSON, asJSON, asJSON, asProtobuf}, formats, "writes of known kinds keep the format")
	}
}

// Users choose names, those of owner references for example. Such a name causes no request at all, or one
// for that very object.
func TestNamesStayInTheirSegment(t *testing.T) {
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	const ok = "ok"
	for _, tc := range []struct {
		name, reason string
		request      purekube.Request
		path         string // empty: no request is sent
	}{
		{"another object", "path.Join makes it the path of that object", purekube.Request{Verb: "get", Resource: pods, Namespace: ok, Name: "../../../../../../api/v1/namespaces/prod/pods/db-0"}, ""},
		{"a subresource", "its rights are others", purekube.Request{Verb: "get", Resource: pods, Namespace: ok, Name: "db-0/log"}, ""},
		{"an encoded slash", "what stands between may decode it", purekube.Request{Verb: "get", Resource: pods, Namespace: ok, Name: "..%2fdb-0"}, ""},
		{"the parent", "it is the list of all pods", purekube.Request{Verb: "get", Resource: pods, Namespace: ok, Name: ".."}, ""},
		{"itself", "it is the list of the namespace", purekube.Request{Verb: "get", Resource: pods, Namespace: ok, Name: "."}, ""},
		{"no name", "a delete would be of all pods", purekube.Request{Verb: "delete", Resource: pods, Namespace: ok}, ""},
		{"namespace", "it is part of the path, too", purekube.Request{Verb: "get", Resource: pods, Namespace: "../namespaces/prod", Name: ok}, ""},
		{"parent as namespace", "", purekube.Request{Verb: "get", Resource: pods, Namespace: "..", Name: ok}, ""},
		{"group", "", purekube.Request{Verb: "get", Resource: schema.GroupVersionResource{Group: "..", Version: "v1", Resource: "pods"}, Name: ok}, ""},
		{"version", "", purekube.Request{Verb: "get", Resource: schema.GroupVersionResource{Group: "a", Version: "v1/x", Resource: "pods"}, Name: ok}, ""},
		{"resource", "", purekube.Request{Verb: "get", Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods/db-0"}, Name: ok}, ""},
		{"no resource", "", purekube.Request{Verb: "get", Resource: schema.GroupVersionResource{Version: "v1"}, Name: ok}, ""},
		{"subresource", "", purekube.Request{Verb: "get", Resource: pods, Namespace: ok, Name: ok, Subresource: "../other"}, ""},
		{"a query", "it is escaped", purekube.Request{Verb: "get", Resource: pods, Namespace: ok, Name: "a?watch=true"}, "/api/v1/namespaces/ok/pods/a%3Fwatch=true"},
		{"a fragment", "it is escaped", purekube.Request{Verb: "get", Resource: pods, Namespace: ok, Name: "a#b"}, "/api/v1/namespaces/ok/pods/a%23b"},
		{"another line", "it is escaped", purekube.Request{Verb: "get", Resource: pods, Namespace: ok, Name: "a\r\nHost: b"}, "/api/v1/namespaces/ok/pods/a%0D%0AHost:%20b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var seen []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen = append(seen, r.RequestURI)
				w.WriteHeader(http.StatusNotFound)
			}))
			defer server.Close()
			e, err := clientgo.NewExecutor(&rest.Config{Host: server.URL})
			require.NoError(t, err)
			_, err = e.Do(t.Context(), tc.request)
			require.Error(t, err)
			if tc.path == "" {
				require.Empty(t, seen, tc.reason)
				require.False(t, apierrors.IsNotFound(err), "it must not pass for an object that is gone: %v", err)
				return
			}
			require.Equal(t, []string{tc.path}, seen, tc.reason)
		})
	}
}
