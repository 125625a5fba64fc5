package ttl

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/purekube/purekube"
)

// What upstream sends is the difference between the node and its annotated copy.
func TestPatchIsTheTwoWayMerge(t *testing.T) {
	for name, n := range map[string]*corev1.Node{
		"no annotations": node("a", absent), "another value": node("a", "0"), "no integer": node("a", "x"),
	} {
		for _, ttl := range []time.Duration{15 * time.Second, 300 * time.Second} {
			a := SetTTL{Name: "a", UID: "uid-a", TTL: ttl}
			before, err := json.Marshal(n)
			require.NoError(t, err)
			after, err := json.Marshal(a.Apply(n))
			require.NoError(t, err)
			want, err := strategicpatch.CreateTwoWayMergePatch(before, after, &corev1.Node{})
			require.NoError(t, err)

			body := a.Request(nil).Patch
			require.Equal(t, types.StrategicMergePatchType, a.Request(nil).PatchType)
			require.Equal(t, string(want), string(body), name)

			merged, err := strategicpatch.StrategicMergePatch(before, body, &corev1.Node{})
			require.NoError(t, err)
			require.JSONEq(t, string(after), string(merged), name)
		}
	}
	body := SetTTL{TTL: 15 * time.Second}.Request(nil).Patch
	require.Equal(t, `{"metadata":{"annotations":{"node.alpha.kubernetes.io/ttl":"15"}}}`, string(body))
}

// A Request is the whole call, and nothing depends on calls before it.
func TestRequest(t *testing.T) {
	a := SetTTL{Name: "a", UID: "uid-a", TTL: 15 * time.Second}
	want := purekube.Request{
		Verb: "patch", Resource: schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, Kind: "Node",
		Name: "a", PatchType: types.StrategicMergePatchType,
		Patch: []byte(`{"metadata":{"annotations":{"node.alpha.kubernetes.io/ttl":"15"}}}`),
	}
	for _, done := range [][]runtime.Object{nil, {nil}, {&corev1.Pod{}}} {
		require.Equal(t, want, a.Request(done))
	}
	require.Empty(t, SetTTL{}.Request(nil).Name, "the API server refuses a patch of no name")
}

func TestApply(t *testing.T) {
	a := SetTTL{Name: "a", UID: "uid-a", TTL: 15 * time.Second}
	require.Nil(t, a.Apply(nil), "no node, no copy")

	n := node("a", "0")
	before := n.DeepCopy()
	got := a.Apply(n)
	require.Equal(t, before, n, "the node itself stays as it was")
	require.Equal(t, map[string]string{Annotation: "15", "other": "kept"}, got.Annotations)

	other := node("a", "0")
	other.UID = "another"
	require.Equal(t, other, a.Apply(other), "a node made since under the same name is left alone")
	require.NotSame(t, other, a.Apply(other))

	other.UID = ""
	require.Equal(t, "15", a.Apply(other).Annotations[Annotation], "a manifest without a UID is taken for the node")
	a.UID = ""
	require.Equal(t, "15", a.Apply(n).Annotations[Annotation], "an action without a UID is for whatever node has the name")
}

func TestString(t *testing.T) {
	require.Equal(t, "SetTTL node-1: 15s", SetTTL{Name: "node-1", TTL: 15 * time.Second}.String())
	require.Equal(t, "SetTTL node-1: 300s", SetTTL{Name: "node-1", TTL: 5 * time.Minute}.String(), "in seconds, as the annotation")
}
