package apiserver

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

var (
	pods  = corev1.SchemeGroupVersion.WithResource("pods")
	roles = rbacv1.SchemeGroupVersion.WithResource("clusterroles")
	cidrs = networkingv1.SchemeGroupVersion.WithResource("servicecidrs")
)

func role() *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "view", UID: "1", Finalizers: []string{"keep"}}}
}

// Each row is one request to a server that holds a ClusterRole and a Pod, and what it answers.
func TestAnswers(t *testing.T) {
	holder := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "7"}}
	apply := func(resource schema.GroupVersionResource, namespace, name, body string) purekube.Request {
		return purekube.Request{Verb: "patch", Resource: resource, Namespace: namespace, Name: name,
			PatchType: types.ApplyYAMLPatchType, Patch: []byte(body), FieldManager: "m", Force: true}
	}
	for _, tc := range []struct {
		name, reason string
		request      purekube.Request
		want         func(error) bool // nil: success
	}{
		{"create without a name", "a name or a generateName is required",
			purekube.Request{Verb: "create", Resource: pods, Namespace: "ns", Object: &corev1.Pod{}}, apierrors.IsInvalid},
		{"create without an object", "there is nothing to create", purekube.Request{Verb: "create", Resource: pods, Namespace: "ns"}, apierrors.IsBadRequest},
		{"create what is there", "names are unique",
			purekube.Request{Verb: "create", Resource: pods, Namespace: "ns", Object: holder}, apierrors.IsAlreadyExists},
		{"update what is not there", "an update creates nothing",
			purekube.Request{Verb: "update", Resource: pods, Namespace: "ns", Name: "q", Object: &corev1.Pod{}}, apierrors.IsNotFound},
		{"update of an old version", "the resourceVersion does not fit",
			purekube.Request{Verb: "update", Resource: roles, Name: "view", Object: &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "view", ResourceVersion: "0"}}},
			apierrors.IsConflict},
		{"update with another UID", "a UID in an update is a precondition",
			purekube.Request{Verb: "update", Resource: roles, Name: "view", Object: &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "view", UID: "2"}}},
			apierrors.IsConflict},
		{"patch with another UID", "a UID in a patch is immutable, not a precondition",
			purekube.Request{Verb: "patch", Resource: roles, Name: "view", PatchType: types.StrategicMergePatchType, Patch: []byte(`{"metadata":{"uid":"2"}}`)},
			apierrors.IsInvalid},
		{"apply with another UID", "as with a patch", apply(roles, "", "view", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"uid":"2"}}`), apierrors.IsInvalid},
		{"apply with a UID to what is not there", "an apply that has a UID creates nothing",
			apply(roles, "", "edit", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"uid":"2"}}`), apierrors.IsConflict},
		{"apply without a UID to what is not there", "an apply creates",
			apply(roles, "", "edit", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"edit"}}`), nil},
		{"apply of a status to what is not there", "a subresource creates nothing",
			purekube.Request{Verb: "patch", Resource: cidrs, Name: "x", Subresource: "status", PatchType: types.ApplyYAMLPatchType, FieldManager: "m",
				Patch: []byte(`{"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR"}`)}, apierrors.IsNotFound},
		{"apply of a status with a UID to what is not there", "the object is looked for first",
			purekube.Request{Verb: "patch", Resource: cidrs, Name: "x", Subresource: "status", PatchType: types.ApplyYAMLPatchType, FieldManager: "m",
				Patch: []byte(`{"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"uid":"2"}}`)}, apierrors.IsNotFound},
		{"apply of another kind", "the body has to name the resource's kind", apply(roles, "", "view", `{"apiVersion":"v1","kind":"Pod"}`), apierrors.IsBadRequest},
		{"delete with another UID", "the precondition fails",
			purekube.Request{Verb: "delete", Resource: pods, Namespace: "ns", Name: "p", Preconditions: &metav1.Preconditions{UID: ptr.To(types.UID("8"))}}, apierrors.IsConflict},
		{"delete of another version", "the precondition fails",
			purekube.Request{Verb: "delete", Resource: pods, Namespace: "ns", Name: "p", Preconditions: &metav1.Preconditions{ResourceVersion: ptr.To("0")}}, apierrors.IsConflict},
		{"delete with the right UID", "the precondition holds",
			purekube.Request{Verb: "delete", Resource: pods, Namespace: "ns", Name: "p", Preconditions: &metav1.Preconditions{UID: ptr.To(types.UID("7"))}}, nil},
		{"unknown resource", "404, as an API server answers", purekube.Request{Verb: "delete", Resource: schema.GroupVersionResource{Resource: "things"}}, apierrors.IsNotFound},
		{"no verb", "the zero request", purekube.Request{Resource: pods}, apierrors.IsMethodNotSupported},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := New(role(), holder).Do(tc.request)
			switch {
			case tc.want == nil:
				require.NoError(t, err, tc.reason)
			default:
				require.True(t, tc.want(err), "%s: %v", tc.reason, err)
			}
		})
	}
}

func TestFinalizersHoldBackADeletion(t *testing.T) {
	s := New(role())
	s.Now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	_, err := s.Do(purekube.Request{Verb: "delete", Resource: roles, Name: "view"})
	require.NoError(t, err)
	held := List[rbacv1.ClusterRole](s)
	require.Len(t, held, 1)
	require.True(t, held[0].DeletionTimestamp.Time.Equal(s.Now))

	held[0].Finalizers = nil
	_, err = s.Do(purekube.Request{Verb: "update", Resource: roles, Name: "view", Object: held[0]})
	require.NoError(t, err)
	require.Empty(t, List[rbacv1.ClusterRole](s))
}

func TestASubresourceChangesNothingElse(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}
	s := New(pod)
	written := pod.DeepCopy()
	written.Labels = map[string]string{"a": "b"}
	written.Status.Phase = corev1.PodRunning

	_, err := s.Do(purekube.Request{Verb: "update", Resource: pods, Subresource: "status", Namespace: "ns", Name: "p", Object: written})
	require.NoError(t, err)
	got := List[corev1.Pod](s)[0]
	require.Nil(t, got.Labels)
	require.Equal(t, corev1.PodRunning, got.Status.Phase)

	written.Status.Phase = corev1.PodFailed
	_, err = s.Do(purekube.Request{Verb: "update", Resource: pods, Namespace: "ns", Name: "p", Object: written})
	require.NoError(t, err)
	got = List[corev1.Pod](s)[0]
	require.Equal(t, "b", got.Labels["a"])
	require.Equal(t, corev1.PodRunning, got.Status.Phase)

	apply := purekube.Request{Verb: "patch", Resource: pods, Subresource: "status", Namespace: "ns", Name: "p", PatchType: types.ApplyYAMLPatchType, FieldManager: "m",
		Patch: []byte(`{"apiVersion":"v1","kind":"Pod","spec":{"nodeName":"n"},"status":{"phase":"Succeeded"}}`)}
	_, err = s.Do(apply)
	require.NoError(t, err)
	got = List[corev1.Pod](s)[0]
	require.Empty(t, got.Spec.NodeName)
	require.Equal(t, corev1.PodSucceeded, got.Status.Phase)

	apply.Subresource, apply.Patch = "", []byte(`{"apiVersion":"v1","kind":"Pod","spec":{"nodeName":"n"},"status":{"phase":"Failed"}}`)
	_, err = s.Do(apply)
	require.NoError(t, err)
	got = List[corev1.Pod](s)[0]
	require.Equal(t, "n", got.Spec.NodeName)
	require.Equal(t, corev1.PodSucceeded, got.Status.Phase)
}

// What a manager leaves out of its next apply goes; what another one has set stays. This is the
// mechanism behind D-5.
func TestApplyOwnsItsFields(t *testing.T) {
	s := New(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}})
	apply := func(manager, statuses string) {
		t.Helper()
		_, err := s.Do(purekube.Request{Verb: "patch", Resource: pods, Subresource: "status", Namespace: "ns", Name: "p",
			PatchType: types.ApplyYAMLPatchType, FieldManager: manager, Force: true,
			Patch: []byte(`{"apiVersion":"v1","kind":"Pod","status":{"resourceClaimStatuses":` + statuses + `}}`)})
		require.NoError(t, err)
	}
	statuses := func() map[string]string {
		out := map[string]string{}
		for _, st := range List[corev1.Pod](s)[0].Status.ResourceClaimStatuses {
			out[st.Name] = ptr.Deref(st.ResourceClaimName, "none")
		}
		return out
	}
	apply("ours", `[{"name":"a","resourceClaimName":"claim-a"},{"name":"b","resourceClaimName":"claim-b"}]`)
	apply("theirs", `[{"name":"c"}]`)
	require.Empty(t, cmp.Diff(map[string]string{"a": "claim-a", "b": "claim-b", "c": "none"}, statuses()))
	apply("ours", `[{"name":"b","resourceClaimName":"claim-2"}]`)
	require.Empty(t, cmp.Diff(map[string]string{"b": "claim-2", "c": "none"}, statuses()))
	apply("ours", `[{"name":"c"}]`)
	apply("theirs", `[]`)
	require.Empty(t, cmp.Diff(map[string]string{"c": "none"}, statuses()), "both have it, so it stays")
}

// A write that changes nothing leaves the object its resourceVersion.
func TestAWriteThatChangesNothing(t *testing.T) {
	s := New(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}})
	apply := func(manager string) string {
		t.Helper()
		after, err := s.Do(purekube.Request{Verb: "patch", Resource: pods, Subresource: "status", Namespace: "ns", Name: "p",
			PatchType: types.ApplyYAMLPatchType, FieldManager: manager, Force: true, Patch: []byte(`{"apiVersion":"v1","kind":"Pod","status":{"resourceClaimStatuses":[{"name":"a"}]}}`)})
		require.NoError(t, err)
		return after.(*corev1.Pod).ResourceVersion
	}
	first := apply("ours")
	require.Equal(t, first, apply("ours"))
	require.NotEqual(t, first, apply("theirs"), "who manages a field is a part of the object")
	held := List[corev1.Pod](s)[0]
	after, err := s.Do(purekube.Request{Verb: "update", Resource: pods, Namespace: "ns", Name: "p", Object: held})
	require.NoError(t, err)
	require.Equal(t, held.ResourceVersion, after.(*corev1.Pod).ResourceVersion)
}

// As from a typed client, objects come without apiVersion and kind, however they were given; so the kind is never what a write changes.
func TestObjectsComeWithoutTheirKind(t *testing.T) {
	manifest := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}
	do := func(t *testing.T, s *Server, r purekube.Request) *corev1.Pod {
		t.Helper()
		r.Resource, r.Namespace = pods, "ns"
		after, err := s.Do(r)
		require.NoError(t, err)
		for _, o := range append(s.All(), after.(Object)) {
			require.Empty(t, o.GetObjectKind().GroupVersionKind())
		}
		return after.(*corev1.Pod)
	}
	for name, s := range map[string]*Server{
		"New":     New(manifest),
		"Restore": Restore(1, 0, Stored{Object: manifest}),
		"create": func() *Server {
			s := New()
			do(t, s, purekube.Request{Verb: "create", Object: manifest})
			return s
		}(),
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []purekube.Request{
				{Verb: "update", Name: "p", Object: manifest},
				{Verb: "update", Name: "p", Subresource: "status", Object: manifest},
				{Verb: "patch", Name: "p", PatchType: types.StrategicMergePatchType, Patch: []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"a":"b"}}}`)},
				{Verb: "patch", Name: "p", Subresource: "status", PatchType: types.ApplyYAMLPatchType, FieldManager: "m", Patch: []byte(`{"apiVersion":"v1","kind":"Pod","status":{"phase":"Running"}}`)},
			} {
				first := do(t, s, r).ResourceVersion
				require.Equal(t, first, do(t, s, r).ResourceVersion, "%s %s again", r.Verb, r.PatchType)
			}
		})
	}
}

func TestRefuse(t *testing.T) {
	s := New(role())
	s.Refuse = QuotaExceeded
	_, err := s.Do(purekube.Request{Verb: "delete", Resource: roles, Name: "view"})
	require.True(t, apierrors.IsForbidden(err))
	require.Len(t, List[rbacv1.ClusterRole](s), 1)
}

// What the server hands out and takes in is a copy.
func TestCopies(t *testing.T) {
	given := role()
	s := New(given)
	given.Finalizers[0] = "changed"
	List[rbacv1.ClusterRole](s)[0].Finalizers[0] = "changed"
	require.Equal(t, "keep", List[rbacv1.ClusterRole](s)[0].Finalizers[0])

	made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "p-"}}
	returned, err := s.Do(purekube.Request{Verb: "create", Resource: pods, Namespace: "ns", Object: made})
	require.NoError(t, err)
	require.Empty(t, made.Name)
	pod := returned.(*corev1.Pod)
	require.NotEmpty(t, pod.Name)
	pod.Name = "changed"
	require.NotEqual(t, "changed", List[corev1.Pod](s)[0].Name)
}

// A pod that has time to terminate is there until its kubelet says that it has terminated, whoever writes to it.
func TestAPodIsGivenTimeToTerminate(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", DeletionTimestamp: &metav1.Time{Time: time.Unix(0, 0)}, DeletionGracePeriodSeconds: ptr.To[int64](30)}}
	s := New(pod)
	require.Len(t, List[corev1.Pod](s), 1)
	pod.DeletionGracePeriodSeconds = ptr.To[int64](0)
	s.Put(pod)
	require.Empty(t, List[corev1.Pod](s))
}

// What Stored returns makes the same server again.
func TestRestore(t *testing.T) {
	s := New(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}})
	apply := func(s *Server, statuses string) {
		t.Helper()
		_, err := s.Do(purekube.Request{Verb: "patch", Resource: pods, Subresource: "status", Namespace: "ns", Name: "p",
			PatchType: types.ApplyYAMLPatchType, FieldManager: "m", Force: true,
			Patch: []byte(`{"apiVersion":"v1","kind":"Pod","status":{"resourceClaimStatuses":` + statuses + `}}`)})
		require.NoError(t, err)
	}
	apply(s, `[{"name":"a"}]`)
	again := Restore(41, 7, s.Stored()...)
	apply(again, `[{"name":"b"}]`)
	got := List[corev1.Pod](again)[0]
	require.Equal(t, []corev1.PodResourceClaimStatus{{Name: "b"}}, got.Status.ResourceClaimStatuses, "the server still knows what the manager applied")
	require.Equal(t, "42", got.ResourceVersion)
	require.Equal(t, []corev1.PodResourceClaimStatus{{Name: "a"}}, List[corev1.Pod](s)[0].Status.ResourceClaimStatuses, "and shares nothing that is written to")

	made, err := again.Do(purekube.Request{Verb: "create", Resource: pods, Namespace: "ns", Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "q-"}}})
	require.NoError(t, err)
	require.Equal(t, "q-00008", made.(*corev1.Pod).Name)
	require.Equal(t, types.UID("uid-9"), made.(*corev1.Pod).UID)
}

// Changed hears of what is stored and of what goes, and of nothing that a refused request asks for.
func TestChanged(t *testing.T) {
	var heard []string
	s := New()
	s.Changed = func(o Object, gone bool) {
		heard = append(heard, fmt.Sprintf("%s %s %t", o.GetName(), o.GetResourceVersion(), gone))
	}
	s.Put(role())
	s.Refuse = QuotaExceeded
	_, err := s.Do(purekube.Request{Verb: "delete", Resource: roles, Name: "view"})
	require.Error(t, err)
	s.Remove(role())
	s.Remove(role())
	require.Equal(t, []string{"view 1 false", "view 2 true"}, heard)
}
