package main

import (
	"bytes"
	stdjson "encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/manifests"
)

// The output of -o requests is enough: a program that makes these calls, and nothing else, brings the embedded
// cluster to rest.
func TestAnotherProgramCarriesThePlanOut(t *testing.T) {
	objects, err := manifests.Load(manifests.Options{Files: embedded}, "cluster")
	require.NoError(t, err)
	server := apiserver.New()
	for _, o := range objects.Objects() {
		server.Put(o)
	}
	now, err := time.Parse(time.RFC3339, noon)
	require.NoError(t, err)
	for round := range 10 {
		server.Now = now
		input := printed(t, server)
		got := plan(t, nil, input, "--assume-complete", "-o", "requests", "--now", now.Format(time.RFC3339), "-")
		require.Empty(t, got.stderr)
		if got.stdout == "" {
			require.Positive(t, round, "there was nothing to do")
			text := plan(t, nil, input, "--assume-complete", "--now", now.Format(time.RFC3339), "-").stdout
			require.Contains(t, text, "Plan: 0 actions, ")
			require.Contains(t, text, " 0 lookups")
			return
		}
		for line := range strings.Lines(got.stdout) {
			_, err := server.Do(readRequest(t, line))
			require.NoError(t, err, line)
		}
		now = now.Add(time.Minute) // past every RecheckAt
	}
	t.Fatal("the cluster does not come to rest")
}

// printed is what kubectl would print of the server.
func printed(t *testing.T, server *apiserver.Server) string {
	t.Helper()
	var out bytes.Buffer
	for _, o := range server.All() {
		set := &manifests.Set{}
		require.NoError(t, set.Add(o))
		for kind := range set.Seen {
			o.GetObjectKind().SetGroupVersionKind(kind.WithVersion("v1"))
		}
		require.NoError(t, stdjson.NewEncoder(&out).Encode(o))
	}
	return out.String()
}

func readRequest(t *testing.T, line string) purekube.Request {
	t.Helper()
	var j struct {
		jsonRequest
		Object stdjson.RawMessage `json:"object"`
	}
	require.NoError(t, stdjson.Unmarshal([]byte(line), &j))
	r := purekube.Request{
		Verb: j.Verb, Resource: schema.GroupVersionResource{Group: j.Group, Version: j.Version, Resource: j.Resource},
		Subresource: j.Subresource, Namespace: j.Namespace, Name: j.Name,
		PatchType: j.PatchType, Patch: j.Patch, FieldManager: j.FieldManager, Force: j.Force,
		Preconditions: j.Preconditions, ContinueOnError: j.ContinueOnError,
	}
	if len(j.Object) > 0 {
		scheme := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{
			corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme, resourcev1.AddToScheme,
		} {
			require.NoError(t, add(scheme))
		}
		object, _, err := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer().Decode(j.Object, nil, nil)
		require.NoError(t, err)
		r.Object = object
	}
	return r
}
