package clientgo

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/reconcile/claimmemory"
	"github.com/purekube/purekube/internal/test/apiserver"
)

// reading is a Lookup at an API server with these objects by path. A path that ends in /broken answers 500, others 404.
func reading(t *testing.T, objects map[string]any) *Lookup {
	t.Helper()
	way, stop := apiserver.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		object, there := objects[r.URL.Path]
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/broken"):
			w.WriteHeader(http.StatusInternalServerError)
			object = metav1.Status{TypeMeta: kind("v1", "Status"), Status: metav1.StatusFailure, Code: 500, Reason: metav1.StatusReasonInternalError}
		case !there:
			w.WriteHeader(http.StatusNotFound)
			object = metav1.Status{TypeMeta: kind("v1", "Status"), Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound}
		}
		if err := json.NewEncoder(w).Encode(object); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(stop)
	live, err := NewExecutor(&rest.Config{Host: "http://api", Transport: way})
	require.NoError(t, err)
	return LookupFor(live, nil)
}

// look makes the lookups, and returns the answers with what failed.
func look(t *testing.T, lookup func(context.Context, purekube.Need) (purekube.Answer, error), needs ...purekube.Need) (map[purekube.Need]purekube.Answer, error) {
	answers := map[purekube.Need]purekube.Answer{}
	var failures []error
	for _, n := range needs {
		a, err := lookup(t.Context(), n)
		if failures = append(failures, err); err != nil {
			a.Err = err
		}
		answers[n] = a
	}
	return answers, errors.Join(failures...)
}

// There, not there, and not known are three answers: the third is none.
func TestAnswerClaims(t *testing.T) {
	c := reading(t, map[string]any{
		"/api/v1/namespaces/ns/pods/there": &corev1.Pod{TypeMeta: kind("v1", "Pod"), ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "there", UID: "1"}},
		"/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/there": &resourcev1.ResourceClaim{
			TypeMeta: kind("resource.k8s.io/v1", "ResourceClaim"), ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "there", UID: "2"}},
	})
	need := func(kind, name string) purekube.Need { return purekube.Need{Kind: kind, Namespace: "ns", Name: name} }
	answers, err := look(t, c.Lookup,
		need("Pod", "there"), need("Pod", "gone"), need("Pod", "broken"), need("ResourceClaim", "there"), need("ResourceClaim", "gone"))
	require.Error(t, err, "so that the key is planned again")
	got := claimmemory.Confirmed(answers).Answers
	require.Len(t, got, 4, "what could not be looked up stays a need")
	require.Equal(t, types.UID("1"), got[need("Pod", "there")].Object.(*corev1.Pod).UID)
	require.Equal(t, purekube.Answer{}, got[need("Pod", "gone")])
	require.Contains(t, got, need("Pod", "gone"))
	require.Equal(t, types.UID("2"), got[need("ResourceClaim", "there")].Object.(*resourcev1.ResourceClaim).UID)
	require.Equal(t, purekube.Answer{}, got[need("ResourceClaim", "gone")])
	require.Contains(t, got, need("ResourceClaim", "gone"))
}

// An answer with status 200 about another object, or about none, is no answer. Its UID is not that of the pod that was asked
// about, so it would look as if that pod were gone.
func TestAnswerAboutAnotherObject(t *testing.T) {
	pod := func(namespace, name string) *corev1.Pod {
		return &corev1.Pod{TypeMeta: kind("v1", "Pod"), ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "2"}}
	}
	widget := map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "ns", "name": "kind", "uid": "2"}}
	c := reading(t, map[string]any{
		"/api/v1/namespaces/ns/pods/name":      pod("ns", "other"),
		"/api/v1/namespaces/ns/pods/namespace": pod("elsewhere", "namespace"),
		"/api/v1/namespaces/ns/pods/none":      pod("", ""),
		"/apis/scheduling.k8s.io/v1alpha2/namespaces/ns/podgroups/group": map[string]any{
			"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": map[string]any{"namespace": "ns", "name": "other", "uid": "2"}},
		"/api/v1/namespaces/ns/pods/kind":                               widget,
		"/apis/scheduling.k8s.io/v1alpha2/namespaces/ns/podgroups/kind": widget,
	})
	for _, n := range []purekube.Need{
		{APIVersion: "v1", Kind: "Pod", Namespace: "ns", Name: "name"}, {APIVersion: "v1", Kind: "Pod", Namespace: "ns", Name: "namespace"},
		{APIVersion: "v1", Kind: "Pod", Namespace: "ns", Name: "none"},
		{APIVersion: "scheduling.k8s.io/v1alpha2", Kind: "PodGroup", Namespace: "ns", Name: "group"},
		{APIVersion: "v1", Kind: "Pod", Namespace: "ns", Name: "kind"},
		{APIVersion: "scheduling.k8s.io/v1alpha2", Kind: "PodGroup", Namespace: "ns", Name: "kind"},
	} {
		answer, err := c.Lookup(t.Context(), n)
		require.ErrorContains(t, err, "the answer is about", n.Name)
		require.Equal(t, purekube.Answer{}, answer)
	}
}

// A ReplicaSet is answered with the object (D-22). A lookup that fails is said in the answer and tried again.
func TestAnswerScales(t *testing.T) {
	set := &appsv1.ReplicaSet{TypeMeta: kind("apps/v1", "ReplicaSet"), ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "there", UID: "1"}}
	c := reading(t, map[string]any{"/apis/apps/v1/namespaces/ns/replicasets/there": set})
	for _, tc := range []struct {
		name string
		want purekube.Answer
		fail bool
	}{
		{"there", purekube.Answer{Object: &appsv1.ReplicaSet{ObjectMeta: set.ObjectMeta}}, false},
		{"gone", purekube.Answer{}, false},
		{"broken", purekube.Answer{}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := purekube.Need{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "ns", Name: tc.name}
			answers, err := look(t, c.Lookup, n)
			got := answers[n]
			require.Equal(t, tc.fail, err != nil, "%v", err)
			require.Equal(t, tc.fail, got.Err != nil)
			got.Err = nil
			require.Equal(t, tc.want, got)
		})
	}
}

func kind(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}
