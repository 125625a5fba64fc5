package manifests

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// What no package reads is listed with its place, and is no error.
func TestIgnored(t *testing.T) {
	set, err := of(oneNode("n") + "\n" + `{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"shop","name":"web"}}` + "\n" +
		`{"apiVersion":"example.com/v1","kind":"Widget"}`)
	require.NoError(t, err)
	require.Equal(t, []Ref{
		{File: "standard input", Document: 2, Line: 2, APIVersion: "v1", Kind: "Service", Namespace: "shop", Name: "web"},
		{File: "standard input", Document: 3, Line: 3, APIVersion: "example.com/v1", Kind: "Widget"},
	}, set.Ignored)
	require.Equal(t, 3, set.Len())
	require.True(t, set.Complete)
}

// KnownAs is for a kind in the wrong group only. An apiVersion that names no group at all is another error.
func TestKnownAs(t *testing.T) {
	for _, tc := range []struct{ name, reason, apiVersion, kind, want string }{
		{"wrong group", "apps has no PodDisruptionBudget", "apps/v1", "PodDisruptionBudget", "policy/v1"},
		{"no group", "v1 is the group of Pods", "v1", "PodDisruptionBudget", "policy/v1"},
		{"a group for a kind of v1", "apps has no Pod", "apps/v1", "Pod", "v1"},
		{"upper case", "no group has an upper-case letter", "Policy/v1", "PodDisruptionBudget", "policy/v1"},
		{"right", "there is nothing to correct", "policy/v1", "PodDisruptionBudget", ""},
		{"other version", "the group is right", "policy/v1beta1", "PodDisruptionBudget", ""},
		{"group of others", "they may have a kind of that name", "example.com/v1", "PodDisruptionBudget", ""},
		{"kind of others", "no group of Kinds has it", "apps/v1", "Widget", ""},
		{"no apiVersion", "it is required", "", "PodDisruptionBudget", ""},
		{"not an apiVersion", "it names no group", "a/b/c", "PodDisruptionBudget", ""},
		{"no version", "it names no version", "apps/", "PodDisruptionBudget", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, Ref{APIVersion: tc.apiVersion, Kind: tc.kind}.KnownAs(), tc.reason)
		})
	}
}

// Which kinds the input says something about, and what is known to be missing.
func TestSeenAndComplete(t *testing.T) {
	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}`
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	for i := range 2000 {
		_, err := fmt.Fprintf(w, "apiVersion: v1\nkind: Node\nmetadata: {name: n%d-%x}\n---\n", i, i*7919)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	for _, tc := range []struct {
		name, reason, input string
		seen                []schema.GroupKind
		complete            bool
		hides               []schema.GroupKind
	}{
		{name: "an object", reason: "its kind is seen", input: pod, seen: []schema.GroupKind{Pod}, complete: true},
		{name: "an empty list of a kind", reason: "the API server said that there is none",
			input: pod + `{"apiVersion":"policy/v1","kind":"PodDisruptionBudgetList","items":[]}`, seen: []schema.GroupKind{Pod, PodDisruptionBudget}, complete: true},
		{name: "an empty list of anything", reason: "kubectl prints it for any kind", input: pod + `{"apiVersion":"v1","kind":"List","items":[]}`, seen: []schema.GroupKind{Pod}, complete: true},
		{name: "a page of a list", reason: "there are more items", input: `{"apiVersion":"v1","kind":"PodList","metadata":{"continue":"x"},"items":[]}`, seen: []schema.GroupKind{Pod}, hides: Kinds()},
		{name: "JSON that ends early", reason: "nobody knows what follows", input: `{"apiVersion":"v1","kind":"List","items":[` + pod, seen: []schema.GroupKind{Pod}, hides: Kinds()},
		{name: "YAML that ends in a list", reason: "the last line has no end", input: "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: p", seen: []schema.GroupKind{Pod}, hides: Kinds()},
		{name: "gzip that ends early", reason: "the end is missing", input: zipped.String()[:zipped.Len()/2], seen: []schema.GroupKind{Node}, hides: Kinds()},
		{name: "a document that does not parse", reason: "it may be of any kind", input: "a: b: c\n---\n" + pod, seen: []schema.GroupKind{Pod}, hides: Kinds()},
		{name: "an answer that is an error", reason: "nobody knows what was asked for", input: pod + `{"kind":"Status","status":"Failure"}`, seen: []schema.GroupKind{Pod}, hides: Kinds()},
		{name: "an answer without an error", reason: "it says that something was done", input: pod + `{"kind":"Status","apiVersion":"v1","status":"Success"}`, seen: []schema.GroupKind{Pod}, complete: true},
		{name: "an old version", reason: "only that kind is not known", input: pod + `{"apiVersion":"policy/v1beta1","kind":"PodDisruptionBudget","metadata":{"name":"b"}}`,
			seen: []schema.GroupKind{Pod}, complete: true, hides: []schema.GroupKind{PodDisruptionBudget}},
		{name: "another group", reason: "it is meant as one", input: pod + `{"apiVersion":"apps/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"}}`,
			seen: []schema.GroupKind{Pod}, complete: true, hides: []schema.GroupKind{PodDisruptionBudget}},
		{name: "a field that does not exist", reason: "a part of the object is not known", input: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spce":{}}`,
			seen: []schema.GroupKind{Pod}, complete: true, hides: []schema.GroupKind{Pod}},
	} {
		bothWays(t, tc.name, func(t *testing.T) {
			set, err := of(tc.input)
			require.Equal(t, len(tc.hides) == 0, err == nil, "%v", err)
			require.Equal(t, tc.complete, set.Complete, tc.reason)
			for _, kind := range Kinds() {
				require.Equal(t, slices.Contains(tc.seen, kind), set.Seen[kind], "%s: %s", tc.reason, kind)
				require.Equal(t, slices.Contains(tc.hides, kind), set.Hides(kind), "%s: %s", tc.reason, kind)
			}
		})
	}
	set, err := Load(Options{Stdin: strings.NewReader(pod), None: []schema.GroupKind{PodDisruptionBudget}}, "-")
	require.NoError(t, err)
	require.Equal(t, []schema.GroupKind{Node}, set.Missing(Node, Pod, PodDisruptionBudget), "the caller says that there are none")
}

// Every kind is read, has its place, and is in Objects.
func TestKinds(t *testing.T) {
	var input strings.Builder
	for _, kind := range Kinds() {
		gv := versionOf[kind.Kind]
		require.NotEmpty(t, gv.Version, kind)
		fmt.Fprintf(&input, "apiVersion: %s\nkind: %s\nmetadata: {name: a}\n---\n", gv, kind.Kind)
	}
	set, err := of(input.String())
	require.NoError(t, err)
	require.Len(t, set.Objects(), len(Kinds()))
	for i, kind := range Kinds() {
		require.Equal(t, 1, set.Count(kind), kind)
		require.True(t, set.Seen[kind], kind)
		o := set.Objects()[i]
		require.Equal(t, kind, kindOf(o))
		require.Equal(t, Namespaced(kind), o.GetNamespace() == "default", kind)
		refs := set.Refs(key(kind, o))
		require.Len(t, refs, 1, kind)
		require.Equal(t, kind, refs[0].GroupKind())
	}
	require.Error(t, set.Add(&corev1.Secret{}))
}

// What the options of a call say.
func TestOptions(t *testing.T) {
	set, err := Load(Options{Stdin: strings.NewReader("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"), Namespace: "shop"}, "-")
	require.NoError(t, err)
	require.Equal(t, "shop", set.Pods[0].Namespace)

	var told []int
	_, err = Load(Options{Stdin: strings.NewReader(strings.Repeat(`{"apiVersion":"example.com/v1","kind":"Widget"}`, 3000)), Progress: func(n int) { told = append(told, n) }}, "-")
	require.NoError(t, err)
	require.Equal(t, []int{1024, 2048}, told)

	for _, tc := range []struct{ name, want string }{
		{"none.yaml", "none.yaml: file does not exist"}, {"empty", "empty: no file that ends in .yaml"},
	} {
		set, err := Load(Options{Files: fstest.MapFS{"empty/readme.txt": {}}}, tc.name)
		require.ErrorContains(t, err, tc.want)
		require.False(t, set.Complete)
	}
	_, err = Load(Options{})
	require.ErrorContains(t, err, "no file to read")
}

// autoscaling/v1 is still served, so charts still have it.
func TestAutoscalerOfVersion1(t *testing.T) {
	set, err := of("apiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {name: a, namespace: shop}\n" +
		"spec: {minReplicas: 2, maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, targetCPUUtilizationPercentage: 80}\n")
	require.NoError(t, err)
	require.Equal(t, autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
		MinReplicas:    ptr.To[int32](2), MaxReplicas: 5,
	}, set.HorizontalPodAutoscalers[0].Spec)
}

// Every place of an object that is there more than once is in one error, and all of them are in the set.
func TestDuplicates(t *testing.T) {
	_, err := of(oneNode("a") + "\n" + oneNode("b") + "\n" + oneNode("a") + "\n" + oneNode("a"))
	errs := Errors(err)
	require.Len(t, errs, 1)
	require.ErrorIs(t, err, ErrDuplicate)
	var lines []int
	for _, r := range errs[0].Refs {
		lines = append(lines, r.Line)
	}
	require.Equal(t, []int{1, 3, 4}, lines)
	require.Equal(t, purekube.Key{Kind: "Node", Name: "a"}, errs[0].Refs[0].key())
}

// A folder that kustomize builds has a file for kustomize, which may leave out its kind. In any other file that is an error.
func TestKustomization(t *testing.T) {
	build := "resources: [node.yaml]\nnamePrefix: a-\n"
	files := fstest.MapFS{"base/kustomization.yaml": {Data: []byte(build)}, "base/node.yaml": {Data: []byte(oneNode("n"))}}
	set, err := Load(Options{Files: files}, "base")
	require.NoError(t, err)
	require.Equal(t, []Ref{{File: "base/kustomization.yaml", Document: 1, Line: 1, Kind: "Kustomization"}}, set.Ignored)

	files["base/other.yaml"] = &fstest.MapFile{Data: []byte(build)}
	_, err = Load(Options{Files: files}, "base")
	require.ErrorContains(t, err, "base/other.yaml:1: document 1: kind: required")
}
