package resourceclaim

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/aliasing"
)

// asUnstructured is an object as a dynamic client returns it.
func asUnstructured(t *testing.T, claim *resourcev1.ResourceClaim) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(bodyOf(claim))
	require.NoError(t, err)
	return &unstructured.Unstructured{Object: content}
}

// withKind is the claim as it is sent.
func withKind(claim *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	claim.TypeMeta = metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaim"}
	return claim
}

func TestRequests(t *testing.T) {
	created := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "p-gpu-"}}
	for _, tc := range []struct {
		name, reason string
		action       Action
		want         purekube.Request
	}{
		{"create", "the body has its kind", CreateClaim{Pod: at("p"), PodClaim: "gpu", Claim: created, GoOn: true}, purekube.Request{
			Verb: "create", Resource: claimResource, Namespace: ns, GoOn: true,
			Object: withKind(&resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "p-gpu-"}}),
		}},
		{"create under MatchUpstream", "upstream stops at the first error", CreateClaim{Pod: at("p"), PodClaim: "gpu", Claim: created}, purekube.Request{
			Verb: "create", Resource: claimResource, Namespace: ns,
			Object: withKind(&resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "p-gpu-"}}),
		}},
		{"statuses", "what is pending is left out", SetClaimStatuses{Pod: at("p"), UID: "uid-p", Statuses: []corev1.PodResourceClaimStatus{status("a", "c1")}, Pending: []string{"b"}, GoOn: true}, purekube.Request{
			Verb: "patch", Resource: podResource, Subresource: "status", Namespace: ns, Name: "p", PatchType: types.ApplyPatchType, FieldManager: "ResourceClaimController", Force: true, GoOn: true,
			Patch: []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"ml","uid":"uid-p"},"status":{"resourceClaimStatuses":[{"name":"a","resourceClaimName":"c1"}]}}`),
		}},
		{"reserve", "the claim as it is to be", Reserve{Claim: newClaim("c", allocated, reservedFor("p")), Pod: at("p"), GoOn: true}, purekube.Request{
			Verb: "update", Resource: claimResource, Subresource: "status", Namespace: ns, Name: "c", Object: withKind(newClaim("c", allocated, reservedFor("p"))), GoOn: true,
		}},
		{"release", "the finalizer and the deletion behind it rest on it", Release{Claim: newClaim("c", protected), Deallocate: true}, purekube.Request{
			Verb: "update", Resource: claimResource, Subresource: "status", Namespace: ns, Name: "c", Object: withKind(newClaim("c", protected)),
		}},
		{"finalizer", "of the claim as read", RemoveFinalizer{Namespace: ns, Name: "c", UID: "uid-c", Claim: newClaim("c", finalizers("x", resourcev1.Finalizer))}, purekube.Request{
			Verb: "update", Resource: claimResource, Namespace: ns, Name: "c", Object: withKind(newClaim("c", finalizers("x"))),
		}},
		{"delete", "this very claim", DeleteClaim{Namespace: ns, Name: "c", UID: "uid-c", ResourceVersion: "7"}, purekube.Request{
			Verb: "delete", Resource: claimResource, Namespace: ns, Name: "c", Preconditions: &metav1.Preconditions{UID: ptr.To(types.UID("uid-c")), ResourceVersion: ptr.To("7")},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.action.Request(nil)
			require.Empty(t, cmp.Diff(tc.want, got), tc.reason)
			require.Empty(t, aliasing.Shared(tc.action, got), "the request belongs to the caller")
		})
	}
}

// checkRequests holds what is true of the request of any action, whatever the API server answered.
func checkRequests(t *testing.T, actions []Action) {
	t.Helper()
	answers := [][]runtime.Object{
		nil, {nil}, {nil, nil, nil, nil}, {(*resourcev1.ResourceClaim)(nil)}, {(*unstructured.Unstructured)(nil)}, {&unstructured.Unstructured{}},
		{&unstructured.Unstructured{Object: map[string]any{"kind": "ResourceClaim", "apiVersion": "resource.k8s.io/v1", "metadata": 7}}},
		{&corev1.Pod{}}, {(*corev1.Pod)(nil)}, {&resourcev1.ResourceClaim{}, &metav1.Status{}},
	}
	for _, a := range actions {
		for _, done := range answers {
			before := len(done)
			r := a.Request(done)
			require.Len(t, done, before)
			require.Empty(t, aliasing.Shared([]any{a, done}, r), "the request belongs to the caller")
			require.Empty(t, cmp.Diff(a.Request(nil), r), "what is no claim of the action counts as a call that failed")
			require.NotEmpty(t, r.Verb)
			require.NotEmpty(t, r.Resource.Resource)
		}
	}
}

// A zero action gives a request that the API server refuses.
func TestRequestsOfZeroActions(t *testing.T) {
	zero := []Action{CreateClaim{}, SetClaimStatuses{}, Reserve{}, Release{}, RemoveFinalizer{}, DeleteClaim{}}
	checkRequests(t, zero)
	for _, a := range zero {
		r := a.Request(nil)
		require.Empty(t, r.Name, "no name, no object")
		require.Empty(t, r.Namespace)
	}
	_, there := CreateClaim{}.FailureEvent(errors.New("no"))
	require.True(t, there)
}

// The status names the claims that the API server made for the pod's entries, and nothing else.
func TestSetClaimStatusesReadsAnswers(t *testing.T) {
	made := func(pod, entry, name string) *resourcev1.ResourceClaim { return newClaim(name, madeFor(pod, entry)) }
	elsewhere := made("p", "a", "x")
	elsewhere.Namespace = "other"
	nameless := made("p", "a", "")
	notController := made("p", "a", "x")
	notController.OwnerReferences[0].Controller = nil
	for _, tc := range []struct {
		name, reason string
		done         []runtime.Object
		want         string
		upstream     string // without a UID in the action; empty: the same
	}{
		{name: "both", reason: "whatever their order", done: []runtime.Object{made("p", "b", "c2"), made("p", "a", "c1")}, want: "a=c1, b=c2"},
		{name: "one refused", reason: "a later plan adds it", done: []runtime.Object{nil, made("p", "b", "c2")}, want: "b=c2, a pending"},
		{name: "all refused", reason: "nothing to name", done: []runtime.Object{nil, nil}, want: "a pending, b pending"},
		{name: "dynamic client", reason: "an Unstructured is as good", done: []runtime.Object{asUnstructured(t, made("p", "a", "c1"))}, want: "a=c1, b pending"},
		{name: "entry that is not pending", reason: "not asked for", done: []runtime.Object{made("p", "z", "c1")}, want: "a pending, b pending"},
		{name: "two for one entry", reason: "the first counts", done: []runtime.Object{made("p", "a", "c1"), made("p", "a", "c9")}, want: "a=c1, b pending"},
		{name: "another pod's", reason: "not the pod's", done: []runtime.Object{made("q", "a", "c1")}, want: "a pending, b pending"},
		{name: "another pod of the name", reason: "the UID says so; upstream sends none", done: []runtime.Object{newClaim("c1", ownedBy("p", "old"), annotated("a"))}, want: "a pending, b pending", upstream: "a=c1, b pending"},
		{name: "no annotation", reason: "for no entry", done: []runtime.Object{newClaim("c1", ownedBy("p", "uid-p"))}, want: "a pending, b pending"},
		{name: "not the controller", reason: "not generated for it", done: []runtime.Object{notController}, want: "a pending, b pending"},
		{name: "another namespace", reason: "a claim serves its own", done: []runtime.Object{elsewhere}, want: "a pending, b pending"},
		{name: "no name", reason: "it was not created", done: []runtime.Object{nameless}, want: "a pending, b pending"},
		{name: "other objects", reason: "passed over", done: []runtime.Object{newPod("p"), &metav1.Status{}}, want: "a pending, b pending"},
		{name: "dynamic client, another kind", reason: "only claims count", done: []runtime.Object{ofType(asUnstructured(t, made("p", "a", "c1")), "resource.k8s.io/v1", "ResourceClaimTemplate")}, want: "a pending, b pending"},
		{name: "dynamic client, the kind of another group", reason: "only claims count", done: []runtime.Object{ofType(asUnstructured(t, made("p", "a", "c1")), "example.com/v1", "ResourceClaim")}, want: "a pending, b pending"},
		{name: "dynamic client, an older version of the API", reason: "the server made it all the same", done: []runtime.Object{ofType(asUnstructured(t, made("p", "a", "c1")), "resource.k8s.io/v1beta1", "ResourceClaim")}, want: "a=c1, b pending"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, uid := range []types.UID{"uid-p", ""} {
				want := tc.want
				if uid == "" && tc.upstream != "" {
					want = tc.upstream
				}
				a := SetClaimStatuses{Pod: at("p"), UID: uid, Pending: []string{"a", "b"}}
				expected := a
				for _, c := range []string{"a=c1", "b=c2"} {
					if entry, name, _ := strings.Cut(c, "="); strings.Contains(want, c) {
						expected = expected.WithCreated(entry, name)
					}
				}
				require.Equal(t, "SetClaimStatuses ml/p: "+want, expected.String())
				_, body := expected.Patch()
				require.Equal(t, string(body), string(a.Request(tc.done).Patch), tc.reason)
				require.Equal(t, []string{"a", "b"}, a.Pending, "the action is as it was")
			}
		})
	}
}

// An entry or a pod without a name is nobody's, and no answer is for it.
func TestSetClaimStatusesWithoutNames(t *testing.T) {
	empty := `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"ml"},"status":{}}`
	for _, tc := range []struct {
		name, reason string
		a            SetClaimStatuses
		done         runtime.Object
		want         string
	}{
		{"refused", "there is no claim to name", SetClaimStatuses{Pod: at("p"), Pending: []string{""}}, nil, empty},
		{"another pod's", "it is not the pod's", SetClaimStatuses{Pod: at("p"), Pending: []string{""}}, newClaim("c", madeFor("q", "")), empty},
		{"without annotation", "it was made for no entry", SetClaimStatuses{Pod: at("p"), Pending: []string{""}}, newClaim("c", ownedBy("p", "uid-p")), empty},
		{"no pod", "a claim without owner is not its own", SetClaimStatuses{Pod: at(""), Pending: []string{"a"}}, newClaim("c", annotated("a")), strings.Replace(empty, `"p"`, `""`, 1)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, string(tc.a.Request([]runtime.Object{tc.done}).Patch), tc.reason)
		})
	}
}

// ofType is the object with another type.
func ofType(o *unstructured.Unstructured, apiVersion, kind string) *unstructured.Unstructured {
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	return o
}

// A finalizer is removed from what the write before it returned.
func TestRemoveFinalizerReadsAnswers(t *testing.T) {
	read := newClaim("c", protected, version("7"))
	a := RemoveFinalizer{Namespace: ns, Name: "c", UID: "uid-c", Claim: read}
	stripped := func(version string) *resourcev1.ResourceClaim {
		c := withKind(newClaim("c", finalizers()))
		c.ResourceVersion = version
		return c
	}
	newer := asUnstructured(t, newClaim("c", protected, version("8")))
	newer.Object["spec"].(map[string]any)["unheardOf"] = int64(7)
	for _, tc := range []struct {
		name, reason string
		done         []runtime.Object
		want         *resourcev1.ResourceClaim
	}{
		{"first action", "the claim as read", nil, stripped("7")},
		{"behind a release", "the version that the write brought", []runtime.Object{newClaim("c", protected, version("8"))}, stripped("8")},
		{"behind two writes", "the last one", []runtime.Object{newClaim("c", protected, version("8")), newClaim("c", protected, version("9"))}, stripped("9")},
		{"other claims", "passed over", []runtime.Object{newClaim("d", protected, version("9")), newClaim("c", func(c *resourcev1.ResourceClaim) { c.UID = "x" }, version("9"))}, stripped("7")},
		{"another name", "passed over, whatever its UID", []runtime.Object{newClaim("d", protected, func(c *resourcev1.ResourceClaim) { c.UID = "uid-c" }, version("9"))}, stripped("7")},
		{"another namespace's claim", "passed over, whatever its name and UID", []runtime.Object{newClaim("c", protected, inNamespace("other"), version("9"))}, stripped("7")},
		{"failed", "the plan's order prevents it, and the version is too old", []runtime.Object{nil}, stripped("7")},
		{"allocated again", "it is protected, so that nothing changes", []runtime.Object{newClaim("c", allocated, version("8"))}, withKind(newClaim("c", allocated, version("8")))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := a.Request(tc.done).Object.(*resourcev1.ResourceClaim)
			require.Empty(t, cmp.Diff(tc.want, got, cmpopts.EquateEmpty()), tc.reason)
			require.Empty(t, aliasing.Shared([]any{a, tc.done}, got))
		})
	}
	t.Run("dynamic client", func(t *testing.T) {
		got := a.Request([]runtime.Object{newer}).Object.(*unstructured.Unstructured)
		require.Empty(t, got.GetFinalizers())
		require.Equal(t, "8", got.GetResourceVersion())
		require.Equal(t, int64(7), got.Object["spec"].(map[string]any)["unheardOf"], "a field that this version of the API does not know is kept")
		require.Equal(t, []string{resourcev1.Finalizer}, newer.GetFinalizers(), "the answer is as it was")
		require.Empty(t, aliasing.Shared(newer.Object, got.Object))

		kept := a.Request([]runtime.Object{asUnstructured(t, newClaim("c", allocated, version("8")))}).Object.(*unstructured.Unstructured)
		require.Equal(t, []string{resourcev1.Finalizer}, kept.GetFinalizers(), "allocated again")

		cyclic := asUnstructured(t, newClaim("c", protected, version("8")))
		cyclic.Object["x"] = func() {}
		require.Empty(t, cmp.Diff(a.Request(nil), a.Request([]runtime.Object{cyclic})), "no JSON, no answer")
		zero := RemoveFinalizer{}
		require.Empty(t, cmp.Diff(zero.Request(nil), zero.Request([]runtime.Object{asUnstructured(t, &resourcev1.ResourceClaim{})})), "a claim without a name is nobody's answer")
	})
}

func TestCreateClaimFailureEvent(t *testing.T) {
	r, err := Plan(Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Templates: templates(newTemplate("gpu"))}, podKey("p"), Options{})
	require.NoError(t, err)
	reporter := r.Actions[0].(purekube.FailureReporter)
	event, there := reporter.FailureEvent(errors.New(`resourceclaims.resource.k8s.io "p-gpu-" is forbidden: exceeded quota`))
	require.True(t, there)
	require.Equal(t, purekube.Event{
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: ns, Name: "p", UID: "uid-p"},
		Type:      "Warning", Reason: "FailedResourceClaimCreation",
		Message: `PodResourceClaim gpu: create ResourceClaim : resourceclaims.resource.k8s.io "p-gpu-" is forbidden: exceeded quota`,
	}, event)
	_, there = reporter.FailureEvent(nil)
	require.False(t, there, "no failure, no event")
}
