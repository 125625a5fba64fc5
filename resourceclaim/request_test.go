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
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/aliasing"
	"github.com/purekube/purekube/internal/test/apiserver"
)

// asUnstructured is an object as a dynamic client returns it.
func asUnstructured(t *testing.T, claim *resourcev1.ResourceClaim) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(withKind(claim.DeepCopy()))
	require.NoError(t, err)
	return &unstructured.Unstructured{Object: content}
}

// withKind is the claim as it is sent.
func withKind(claim *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	claim.TypeMeta = metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaim"}
	return claim
}

func TestRequest(t *testing.T) {
	created := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "p-gpu-"}}
	for _, tc := range []struct {
		name, reason string
		action       Action
		want         purekube.Request
	}{
		{"create", "the body has its kind", CreateClaim{Owner: podKey("p"), PodClaim: "gpu", Claim: created, ContinueOnError: true}, purekube.Request{
			Verb: "create", Resource: claimResource, Kind: "ResourceClaim", Namespace: ns, ContinueOnError: true,
			Object: withKind(&resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "p-gpu-"}}),
		}},
		{"create under MatchUpstream", "upstream stops at the first error", CreateClaim{Owner: podKey("p"), PodClaim: "gpu", Claim: created}, purekube.Request{
			Verb: "create", Resource: claimResource, Kind: "ResourceClaim", Namespace: ns,
			Object: withKind(&resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "p-gpu-"}}),
		}},
		{"statuses", "what is pending is left out", SetClaimStatuses{Kind: podKind, Namespace: ns, Name: "p", UID: "uid-p", Statuses: []corev1.PodResourceClaimStatus{status("a", "c1")}, Pending: []string{"b"}, ContinueOnError: true}, purekube.Request{
			Verb: "patch", Resource: podResource, Kind: "Pod", Subresource: "status", Namespace: ns, Name: "p", PatchType: types.ApplyPatchType, FieldManager: "ResourceClaimController", Force: true, ContinueOnError: true,
			Patch: []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"ml","uid":"uid-p"},"status":{"resourceClaimStatuses":[{"name":"a","resourceClaimName":"c1"}]}}`),
		}},
		{"reserve", "the new consumer", Reserve{Claim: newClaim("c", allocated, reservedFor("q", "p")), Consumer: podKey("p"), ContinueOnError: true}, purekube.Request{
			Verb: "patch", Resource: claimResource, Kind: "ResourceClaim", Subresource: "status", Namespace: ns, Name: "c", PatchType: types.StrategicMergePatchType, ContinueOnError: true,
			Patch: []byte(`{"metadata":{"resourceVersion":"200","uid":"uid-c"},"status":{"reservedFor":[{"resource":"pods","name":"p","uid":"uid-p"}]}}`),
		}},
		{"release", "the finalizer and the deletion behind it rest on it", Release{Claim: newClaim("c", protected), Removed: newClaim("c", reservedFor("p")).Status.ReservedFor, Deallocate: true}, purekube.Request{
			Verb: "patch", Resource: claimResource, Kind: "ResourceClaim", Subresource: "status", Namespace: ns, Name: "c", PatchType: types.StrategicMergePatchType,
			Patch: []byte(`{"metadata":{"resourceVersion":"200","uid":"uid-c"},"status":{"allocation":null,"reservedFor":[{"$patch":"delete","uid":"uid-p"}]}}`),
		}},
		{"finalizer", "of the claim as read", RemoveFinalizer{Claim: newClaim("c", finalizers("x", resourcev1.Finalizer))}, purekube.Request{
			Verb: "patch", Resource: claimResource, Kind: "ResourceClaim", Namespace: ns, Name: "c", PatchType: types.StrategicMergePatchType,
			Patch: []byte(`{"metadata":{"$deleteFromPrimitiveList/finalizers":["resource.kubernetes.io/delete-protection"],"resourceVersion":"200","uid":"uid-c"}}`),
		}},
		{"delete", "this very claim", DeleteClaim{Namespace: ns, Name: "c", UID: "uid-c", ResourceVersion: "7"}, purekube.Request{
			Verb: "delete", Resource: claimResource, Kind: "ResourceClaim", Namespace: ns, Name: "c", Preconditions: &metav1.Preconditions{UID: ptr.To(types.UID("uid-c")), ResourceVersion: ptr.To("7")},
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
func checkRequests(t testing.TB, actions []Action) {
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
			if r.Err != nil {
				require.ErrorIs(t, r.Err, errNoClaimCreated)
				require.IsType(t, SetClaimStatuses{}, a)
				r.Err = nil
			}
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
		require.NotContains(t, string(r.Patch), "reservedFor", "no consumer, no change of the consumers")
	}
	_, there := CreateClaim{}.FailureEvent(errors.New("no"))
	require.True(t, there)
}

// The status names the claim that the API server returned for each CreateClaim, by the position of the
// answer: an admission policy may have changed everything that says whose the claim is.
func TestSetClaimStatusesTakesNamesByPosition(t *testing.T) {
	made := func(pod, entry, name string) *resourcev1.ResourceClaim { return newClaim(name, madeFor(pod, entry)) }
	elsewhere := made("p", "a", "x")
	elsewhere.Namespace = "other"
	notController := made("p", "a", "c1")
	notController.OwnerReferences[0].Controller = nil
	for _, tc := range []struct {
		name, reason string
		done         []runtime.Object
		want         string
		unusable     []string // entries that the error is about
	}{
		{name: "both", reason: "each in its position", done: []runtime.Object{made("p", "a", "c1"), made("p", "b", "c2")}, want: "a=c1, b=c2"},
		{name: "one refused", reason: "a later plan adds it", done: []runtime.Object{nil, made("p", "b", "c2")}, want: "b=c2, a pending"},
		{name: "refused with a typed nil", reason: "no answer", done: []runtime.Object{(*resourcev1.ResourceClaim)(nil), (*unstructured.Unstructured)(nil)}, want: "a pending, b pending"},
		{name: "all refused", reason: "nothing to name", done: []runtime.Object{nil, nil}, want: "a pending, b pending"},
		{name: "too short", reason: "what is missing counts as failed", done: []runtime.Object{made("p", "a", "c1")}, want: "a=c1, b pending"},
		{name: "too long", reason: "what is behind the creates is not for an entry", done: []runtime.Object{nil, nil, made("p", "a", "c1")}, want: "a pending, b pending"},
		{name: "dynamic client", reason: "an Unstructured is as good", done: []runtime.Object{asUnstructured(t, made("p", "a", "c1"))}, want: "a=c1, b pending"},
		{name: "no annotation", reason: "a policy dropped it", done: []runtime.Object{newClaim("c1", ownedBy("p", "uid-p"))}, want: "a=c1, b pending"},
		{name: "another annotation", reason: "a policy changed it", done: []runtime.Object{made("p", "b", "c1")}, want: "a=c1, b pending"},
		{name: "not the controller", reason: "a policy dropped the flag", done: []runtime.Object{notController}, want: "a=c1, b pending"},
		{name: "no owner", reason: "a policy dropped it", done: []runtime.Object{newClaim("c1")}, want: "a=c1, b pending"},
		{name: "another owner", reason: "a policy put it there", done: []runtime.Object{made("q", "a", "c1")}, want: "a=c1, b pending"},
		{name: "dynamic client, an older version of the API", reason: "the server made it all the same", done: []runtime.Object{ofType(asUnstructured(t, made("p", "a", "c1")), "resource.k8s.io/v1beta1", "ResourceClaim")}, want: "a=c1, b pending"},

		{name: "another namespace", reason: "a claim serves its own", done: []runtime.Object{elsewhere}, want: "a pending, b pending", unusable: []string{"a"}},
		{name: "no name", reason: "there is nothing to name", done: []runtime.Object{nil, made("p", "b", "")}, want: "a pending, b pending", unusable: []string{"b"}},
		{name: "one without a name", reason: "the other one is named", done: []runtime.Object{made("p", "a", ""), made("p", "b", "c2")}, want: "b=c2, a pending", unusable: []string{"a"}},
		{name: "other objects", reason: "a claim is asked for", done: []runtime.Object{newPod("p"), &metav1.Status{}}, want: "a pending, b pending", unusable: []string{"a", "b"}},
		{name: "dynamic client, another kind", reason: "only claims count", done: []runtime.Object{ofType(asUnstructured(t, made("p", "a", "c1")), "resource.k8s.io/v1", "ResourceClaimTemplate")}, want: "a pending, b pending", unusable: []string{"a"}},
		{name: "dynamic client, the kind of another group", reason: "only claims count", done: []runtime.Object{ofType(asUnstructured(t, made("p", "a", "c1")), "example.com/v1", "ResourceClaim")}, want: "a pending, b pending", unusable: []string{"a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, uid := range []types.UID{"uid-p", ""} { // upstream sends none
				a := SetClaimStatuses{Kind: podKind, Namespace: ns, Name: "p", UID: uid, Pending: []string{"a", "b"}, Creates: []string{"a", "b"}}
				expected := a
				for _, c := range []string{"a=c1", "b=c2"} {
					if entry, name, _ := strings.Cut(c, "="); strings.Contains(tc.want, c) {
						expected = expected.withCreated(map[string]string{entry: name})
					}
				}
				require.Equal(t, "SetClaimStatuses ml/p: "+tc.want, expected.String())
				body := expected.body()
				request := a.Request(tc.done)
				require.Equal(t, string(body), string(request.Patch), tc.reason)
				require.Equal(t, []string{"a", "b"}, a.Pending, "the action is as it was")
				if len(tc.unusable) == 0 {
					require.NoError(t, request.Err, tc.reason)
					continue
				}
				require.ErrorIs(t, request.Err, errNoClaimCreated, "a create that succeeded and whose entry stays pending is an error")
				for _, entry := range tc.unusable {
					require.ErrorContains(t, request.Err, "entry "+entry)
				}
			}
		})
	}
}

// The creates of a plan are in the order of the pod's entries, whatever their names.
func TestClaimsAreNamedInTheOrderOfTheirCreates(t *testing.T) {
	s := Snapshot{Pods: pods(newPod("p", wants("z", "gpu"), has("m", "gpu", "c"), wants("a", "gpu"))), Claims: claims(newClaim("c", madeFor("p", "m"))), Templates: templates(newTemplate("gpu"))}
	for _, mode := range modes {
		r, err := Plan(s, podKey("p"), mode.options)
		require.NoError(t, err)
		require.Len(t, r.Actions, 3)
		statuses := r.Actions[2].(SetClaimStatuses)
		require.Equal(t, []string{"z", "a"}, statuses.Creates)
		request := statuses.Request([]runtime.Object{newClaim("for-z"), newClaim("for-a")})
		require.NoError(t, request.Err)
		require.Contains(t, string(request.Patch), `{"name":"a","resourceClaimName":"for-a"}`)
		require.Contains(t, string(request.Patch), `{"name":"z","resourceClaimName":"for-z"}`)
		named := statuses.withCreated(map[string]string{"z": "by-hand"}).Request([]runtime.Object{newClaim("for-z"), newClaim("for-a")})
		require.Contains(t, string(named.Patch), `{"name":"a","resourceClaimName":"for-a"}`, "what is named already moves nothing")
		require.Contains(t, string(named.Patch), `{"name":"z","resourceClaimName":"by-hand"}`)
	}
}

// A refused create names nothing, whatever the names are.
func TestSetClaimStatusesWithoutNames(t *testing.T) {
	a := SetClaimStatuses{Kind: podKind, Namespace: ns, Name: "p", Pending: []string{""}, Creates: []string{""}}
	require.Equal(t, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"ml"},"status":{}}`, string(a.Request([]runtime.Object{nil}).Patch))
}

// ofType is the object with another type.
func ofType(o *unstructured.Unstructured, apiVersion, kind string) *unstructured.Unstructured {
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	return o
}

// A finalizer is removed from what the write before it returned.
func TestRemoveFinalizerReadsAnswers(t *testing.T) {
	a := RemoveFinalizer{Claim: newClaim("c", protected, version("7"))}
	for _, tc := range []struct {
		name, reason string
		done         []*resourcev1.ResourceClaim
		version      string
		stays        bool
	}{
		{"first action", "the claim as read", nil, "7", false},
		{"behind a release", "the version that the write brought", []*resourcev1.ResourceClaim{newClaim("c", protected, version("8"))}, "8", false},
		{"behind two writes", "the last one", []*resourcev1.ResourceClaim{newClaim("c", protected, version("8")), newClaim("c", protected, version("9"))}, "9", false},
		{"other claims", "passed over", []*resourcev1.ResourceClaim{newClaim("d", protected, version("9")), newClaim("c", func(c *resourcev1.ResourceClaim) { c.UID = "x" }, version("9"))}, "7", false},
		{"another name", "passed over, whatever its UID", []*resourcev1.ResourceClaim{newClaim("d", protected, func(c *resourcev1.ResourceClaim) { c.UID = "uid-c" }, version("9"))}, "7", false},
		{"another namespace's claim", "passed over, whatever its name and UID", []*resourcev1.ResourceClaim{newClaim("c", protected, inNamespace("other"), version("9"))}, "7", false},
		{"failed", "the plan's order prevents it, and the version is too old", []*resourcev1.ResourceClaim{nil}, "7", false},
		{"allocated again", "it is protected, so that nothing changes", []*resourcev1.ResourceClaim{newClaim("c", allocated, version("8"))}, "8", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var typed, untyped []runtime.Object
			for _, c := range tc.done {
				typed = append(typed, c)
				if c == nil {
					untyped = append(untyped, (*unstructured.Unstructured)(nil))
				} else {
					untyped = append(untyped, asUnstructured(t, c))
				}
			}
			for _, done := range [][]runtime.Object{typed, untyped} {
				got, err := apiserver.Patched(newClaim("c", protected, version(tc.version)), a.Request(done).Patch)
				require.NoError(t, err)
				require.Equal(t, tc.version, got.ResourceVersion, tc.reason)
				require.Equal(t, tc.stays, len(got.Finalizers) > 0, tc.reason)
			}
		})
	}
	zero := RemoveFinalizer{}
	require.Empty(t, cmp.Diff(zero.Request(nil), zero.Request([]runtime.Object{asUnstructured(t, newClaim("", inNamespace(""), func(c *resourcev1.ResourceClaim) { c.UID = "" }, version("9")))})), "a claim without a name is nobody's answer")
	allocatedYet := RemoveFinalizer{Claim: newClaim("c", allocated)}
	require.NotContains(t, string(allocatedYet.Request(nil).Patch), "finalizers", "the release before it failed")
}

// A patch leaves what its plan did not mean to change, also the fields that the types of this build lack.
func TestPatchesChangeWhatApplyChanges(t *testing.T) {
	inUse := newClaim("c", allocated, reservedFor("p", "q"))
	for _, tc := range []struct {
		name   string
		action interface {
			Action
			Apply(*resourcev1.ResourceClaim) *resourcev1.ResourceClaim
		}
		claim *resourcev1.ResourceClaim
	}{
		{"reserve", Reserve{Claim: newClaim("c", allocated, reservedFor("p", "q"))}, newClaim("c", allocated, reservedFor("p"))},
		{"release of one", Release{Claim: newClaim("c", allocated, reservedFor("q")), Removed: inUse.Status.ReservedFor[:1]}, inUse},
		{"release of all", Release{Claim: newClaim("c", protected), Removed: inUse.Status.ReservedFor, Deallocate: true}, inUse},
		{"deallocate", Release{Claim: newClaim("c", protected), Deallocate: true}, newClaim("c", allocated)},
		{"finalizer", RemoveFinalizer{Claim: newClaim("c", protected)}, newClaim("c", finalizers("x", resourcev1.Finalizer, "y"))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := tc.action.Request(nil)
			got, err := apiserver.Patched(tc.claim, r.Patch)
			require.NoError(t, err)
			byName := cmpopts.SortSlices(func(a, b resourcev1.ResourceClaimConsumerReference) bool { return a.Name < b.Name }) // the API has no order of them
			require.Empty(t, cmp.Diff(tc.action.Apply(tc.claim), got, cmpopts.EquateEmpty(), byName))

			newer := asUnstructured(t, tc.claim)
			newer.Object["spec"].(map[string]any)["unheardOf"] = "spec"
			newer.Object["status"].(map[string]any)["unheardOf"] = "status"
			if consumers, found, _ := unstructured.NestedSlice(newer.Object, "status", "reservedFor"); found {
				for _, c := range consumers {
					c.(map[string]any)["unheardOf"] = "consumer"
				}
				require.NoError(t, unstructured.SetNestedSlice(newer.Object, consumers, "status", "reservedFor"))
			}
			document, err := newer.MarshalJSON()
			require.NoError(t, err)
			document, err = strategicpatch.StrategicMergePatch(document, r.Patch, tc.claim)
			require.NoError(t, err)
			require.Contains(t, string(document), `"unheardOf":"spec"`)
			require.Contains(t, string(document), `"unheardOf":"status"`)
			if tc.name == "reserve" || tc.name == "release of one" {
				require.Equal(t, 1, strings.Count(string(document), `"unheardOf":"consumer"`), "the consumer that stays")
			}
		})
	}
}

// The claim is made with the spec of the template as the API server has it.
func TestCreateClaimNamesItsTemplate(t *testing.T) {
	for _, mode := range modes {
		r, err := Plan(Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Templates: templates(newTemplate("gpu"))}, podKey("p"), mode.options)
		require.NoError(t, err)
		require.Equal(t, &purekube.Template{
			Resource: resourcev1.SchemeGroupVersion.WithResource("resourceclaimtemplates"), Kind: "ResourceClaimTemplate", Namespace: ns, Name: "gpu", UID: newTemplate("gpu").UID,
		}, r.Actions[0].Request(nil).Template)
	}
	require.Nil(t, CreateClaim{Claim: newClaim("c")}.Request(nil).Template, "an action that a user made, of no template")
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
