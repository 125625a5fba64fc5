package clientgo

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/purekube/purekube"
)

// There, not there, no scale, and not known are four answers. Only the last is an error.
func TestLookUp(t *testing.T) {
	objects := map[string]any{
		"/apis/example.com/v1/namespaces/ns/caches/there/scale": &autoscalingv1.Scale{
			TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"},
			ObjectMeta: metav1.ObjectMeta{UID: "1"}, Spec: autoscalingv1.ScaleSpec{Replicas: 3}},
		"/apis/apps/v1/namespaces/ns/replicasets/there": &appsv1.ReplicaSet{
			TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"}, ObjectMeta: metav1.ObjectMeta{UID: "2"}},
		"/apis/example.com/v1": &metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "caches"}, {Name: "caches/scale"}, {Name: "notes"}}},
	}
	var outside atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		object, found := objects[r.URL.Path]
		code := http.StatusNotFound
		switch r.URL.Path {
		case "/apis/example.com/v1/namespaces/ns/caches/busy/scale":
			code = http.StatusInternalServerError
		case "/api/v1/namespaces/prod/pods/db-0":
			outside.Store(true)
		}
		if !found {
			w.WriteHeader(code)
			reason := map[int]metav1.StatusReason{404: metav1.StatusReasonNotFound, 500: metav1.StatusReasonInternalError}[code]
			object = metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
				Code: int32(code), Reason: reason, Message: "busy"}
		}
		if err := json.NewEncoder(w).Encode(object); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{{Group: "example.com", Version: "v1", Kind: "Cache"},
		{Group: "example.com", Version: "v1", Kind: "Note"}, appsv1.SchemeGroupVersion.WithKind("ReplicaSet")} {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	scales := &Scales{Client: dynamic.NewForConfigOrDie(config), Discovery: discovery.NewDiscoveryClientForConfigOrDie(config), Mapper: mapper}

	need := func(kind, name string) purekube.Need {
		return purekube.Need{APIVersion: "example.com/v1", Kind: kind, Namespace: "ns", Name: name, Subresource: "scale"}
	}
	replicaSet := func(name string) purekube.Need {
		return purekube.Need{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "ns", Name: name}
	}
	there := &appsv1.ReplicaSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"}, ObjectMeta: metav1.ObjectMeta{UID: "2"}}
	for _, tc := range []struct {
		name, reason string
		need         purekube.Need
		want         purekube.Answer
		fail         bool
	}{
		{"there", "its scale counts", need("Cache", "there"), purekube.Answer{Object: objects["/apis/example.com/v1/namespaces/ns/caches/there/scale"]}, false},
		{"gone", "the kind has a scale, so the object is missing", need("Cache", "gone"), purekube.Answer{}, false},
		{"no scale", "the kind has none", need("Note", "there"), purekube.Answer{Err: errors.New("notes.example.com does not implement the scale subresource")}, false},
		{"no kind", "nobody serves it", need("Other", "there"), purekube.Answer{Err: errors.New(`no matches for kind "Other" in version "example.com/v1"`)}, false},
		{"busy", "the answer is not known", need("Cache", "busy"), purekube.Answer{Err: errors.New("busy")}, true},
		{"a path", "a name is one segment of a path", need("Cache", "../../../../../../api/v1/namespaces/prod/pods/db-0"),
			purekube.Answer{Err: errors.New(`invalid resource name "../../../../../../api/v1/namespaces/prod/pods/db-0": [may not contain '/']`)}, true},
		{"ReplicaSet", "the object is asked for", replicaSet("there"), purekube.Answer{Object: there}, false},
		{"ReplicaSet gone", "not found is an answer", replicaSet("gone"), purekube.Answer{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := scales.LookUp(t.Context(), tc.need)
			if !equality.Semantic.DeepEqual(got.Object, tc.want.Object) || fmt.Sprint(got.Err) != fmt.Sprint(tc.want.Err) || (err != nil) != tc.fail {
				t.Errorf("%s: got %+v, %v", tc.reason, got, err)
			}
		})
	}
	if outside.Load() {
		t.Error("a name led to another object")
	}
}
