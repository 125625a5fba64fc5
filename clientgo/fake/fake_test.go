package fake_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/purekube/purekube/clientgo/fake"
	"github.com/purekube/purekube/purekubetest"
)

func claim(name string, finalizers ...string) *resourcev1.ResourceClaim {
	return &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name, Finalizers: finalizers}}
}

func TestAnswersAsAnAPIServer(t *testing.T) {
	ctx := t.Context()
	given := claim("given", "example.com/keep")
	clientset := fake.NewClientset(given)
	require.Empty(t, given.UID, "the test's own object was written to")
	claims := clientset.ResourceV1().ResourceClaims("ml")
	kept, err := claims.Get(ctx, "given", metav1.GetOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, kept.UID)
	require.NotEmpty(t, kept.ResourceVersion)
	require.False(t, kept.CreationTimestamp.IsZero())

	generated := claim("")
	generated.GenerateName = "train-"
	var names []string
	for range 2 {
		made, err := claims.Create(ctx, generated, metav1.CreateOptions{})
		require.NoError(t, err)
		names = append(names, made.Name)
	}
	require.Empty(t, generated.Name)
	require.NotEqual(t, names[0], names[1])
	require.Regexp(t, "^train-.", names[0])

	t.Run("conflicts", func(t *testing.T) {
		changed := kept.DeepCopy()
		changed.Labels = map[string]string{"a": "b"}
		updated, err := claims.Update(ctx, changed, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.NotEqual(t, kept.ResourceVersion, updated.ResourceVersion)
		_, err = claims.Update(ctx, changed, metav1.UpdateOptions{})
		require.True(t, apierrors.IsConflict(err), "%v", err)
		again, err := claims.Update(ctx, updated, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.Equal(t, updated.ResourceVersion, again.ResourceVersion, "nothing changed")

		for patch, conflict := range map[string]bool{
			`{"metadata":{"resourceVersion":"` + kept.ResourceVersion + `","labels":{"a":"c"}}}`: true,
			`{"metadata":{"uid":"other","labels":{"a":"c"}}}`:                                    true,
			`{"metadata":{"uid":"` + string(kept.UID) + `","labels":{"a":"c"}}}`:                 false,
		} {
			_, err = claims.Patch(ctx, "given", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
			require.Equal(t, conflict, apierrors.IsConflict(err), "%s: %v", patch, err)
		}
		err = claims.Delete(ctx, "given", metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("other")})
		require.True(t, apierrors.IsConflict(err), "%v", err)
		err = claims.Delete(ctx, "given", metav1.DeleteOptions{Preconditions: metav1.NewRVDeletionPrecondition("other").Preconditions})
		require.True(t, apierrors.IsConflict(err), "%v", err)
	})
	t.Run("finalizers", func(t *testing.T) {
		require.NoError(t, claims.Delete(ctx, "given", metav1.DeleteOptions{}))
		going, err := claims.Get(ctx, "given", metav1.GetOptions{})
		require.NoError(t, err)
		require.NotNil(t, going.DeletionTimestamp)
		require.NoError(t, claims.Delete(ctx, "given", metav1.DeleteOptions{}), "once more")
		going.Finalizers = nil
		_, err = claims.Update(ctx, going, metav1.UpdateOptions{})
		require.NoError(t, err)
		_, err = claims.Get(ctx, "given", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), "%v", err)
		require.NoError(t, claims.Delete(ctx, names[0], metav1.DeleteOptions{}))
		_, err = claims.Get(ctx, names[0], metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), "%v", err)
	})
}

// A deletion has a resourceVersion of its own, the newest: a controller would take an older one for a restored backup.
func TestDeletionsHaveVersions(t *testing.T) {
	ctx := t.Context()
	clientset := fake.NewClientset(claim("first"), claim("second"), claim("third", "example.com/keep"), claim("last"))
	claims := clientset.ResourceV1().ResourceClaims("ml")
	watched, err := claims.Watch(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	defer watched.Stop()
	require.NoError(t, claims.Delete(ctx, "first", metav1.DeleteOptions{}))
	require.NoError(t, claims.Delete(ctx, "third", metav1.DeleteOptions{}))
	third, err := claims.Get(ctx, "third", metav1.GetOptions{})
	require.NoError(t, err)
	third.Finalizers = nil
	_, err = claims.Update(ctx, third, metav1.UpdateOptions{})
	require.NoError(t, err)
	require.NoError(t, claims.Delete(ctx, "second", metav1.DeleteOptions{}))
	list, err := claims.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	var deleted []string
	version := 0
	for len(deleted) < 3 {
		event := <-watched.ResultChan()
		if event.Type == watch.Added {
			continue // newer fakes begin with what is there
		}
		o := event.Object.(*resourcev1.ResourceClaim)
		next, err := strconv.Atoi(o.ResourceVersion)
		require.NoError(t, err)
		require.GreaterOrEqual(t, next, version, "%s %s", event.Type, o.Name)
		if version = next; event.Type == watch.Deleted {
			deleted = append(deleted, o.Name)
		}
	}
	require.Equal(t, []string{"first", "third", "second"}, deleted)
	require.Equal(t, list.ResourceVersion, strconv.Itoa(version))
}

func TestNewClientsetPanics(t *testing.T) {
	require.Panics(t, func() { fake.NewClientset(claim("a"), claim("a")) })
	require.Panics(t, func() { fake.NewClientset(&unstructured.Unstructured{}) })
}

// The dynamic client sees the objects of the clientset, and the other way round.
func TestDynamicClient(t *testing.T) {
	ctx := t.Context()
	clientset := fake.NewClientset(claim("given"))
	client := fake.NewDynamicClient(clientset)
	resource := client.Resource(resourcev1.SchemeGroupVersion.WithResource("resourceclaims")).Namespace("ml")
	before, err := resource.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	watched, err := resource.Watch(ctx, metav1.ListOptions{ResourceVersion: before.GetResourceVersion()})
	require.NoError(t, err)
	defer watched.Stop()

	patched, err := resource.Patch(ctx, "given", types.StrategicMergePatchType, []byte(`{"metadata":{"finalizers":["example.com/keep"]}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"example.com/keep"}, patched.GetFinalizers())
	require.Equal(t, "ResourceClaim", patched.GetKind())
	typed, err := clientset.ResourceV1().ResourceClaims("ml").Get(ctx, "given", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"example.com/keep"}, typed.Finalizers)
	event := <-watched.ResultChan()
	require.Equal(t, patched, event.Object)

	list, err := resource.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	require.Equal(t, patched.GetResourceVersion(), list.GetResourceVersion())
	require.Equal(t, "resource.k8s.io/v1", list.Items[0].GetAPIVersion())

	made, err := resource.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": map[string]any{"namespace": "ml", "generateName": "x-"},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Regexp(t, "^x-.", made.GetName())
	_, err = resource.Create(ctx, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Unknown"}}, metav1.CreateOptions{})
	require.ErrorContains(t, err, "Unknown")
	require.NoError(t, resource.Delete(ctx, made.GetName(), metav1.DeleteOptions{}))
	_, err = resource.Get(ctx, made.GetName(), metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
	_, err = resource.Get(ctx, "given", metav1.GetOptions{}, "scale")
	require.True(t, apierrors.IsNotFound(err), "a scale that nobody answers for: %v", err)

	roles := client.Resource(rbacv1.SchemeGroupVersion.WithResource("clusterroles"))
	applied, err := roles.Apply(ctx, "view", &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": "view"},
		"rules": []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"get"}}},
	}}, metav1.ApplyOptions{FieldManager: "test", Force: true})
	require.NoError(t, err)
	require.NotEmpty(t, applied.GetUID())
	require.NotEmpty(t, applied.GetCreationTimestamp())
	role, err := clientset.RbacV1().ClusterRoles().Get(ctx, "view", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, applied.GetResourceVersion(), role.ResourceVersion)
	require.Equal(t, "pods", role.Rules[0].Resources[0])
}

// An apply is one change, which has the next resourceVersion, and conflicts as other patches do.
func TestApply(t *testing.T) {
	ctx := t.Context()
	clientset := fake.NewClientset(purekubetest.ClusterRole("other"))
	roles := clientset.RbacV1().ClusterRoles()
	watched, err := roles.Watch(ctx, metav1.ListOptions{ResourceVersion: "99"})
	require.NoError(t, err)
	defer watched.Stop()
	apply := func(metadata, label string) (*rbacv1.ClusterRole, error) {
		patch := `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"view"` + metadata + `,"labels":{"a":"` + label + `"}}}`
		return roles.Patch(ctx, "view", types.ApplyPatchType, []byte(patch), metav1.PatchOptions{FieldManager: "test"})
	}
	_, err = apply(`,"uid":"gone"`, "b")
	require.True(t, apierrors.IsConflict(err), "%v", err)
	_, err = roles.Patch(ctx, "view", types.ApplyPatchType, []byte(`{"metadata":{"name":"view"}}`), metav1.PatchOptions{FieldManager: "test"}, "status")
	require.True(t, apierrors.IsNotFound(err), "an apply of a status creates nothing: %v", err)
	made, err := apply("", "b")
	require.NoError(t, err)
	require.NotEmpty(t, made.UID)
	require.False(t, made.CreationTimestamp.IsZero())
	applied, err := apply(`,"uid":"`+string(made.UID)+`","resourceVersion":"`+made.ResourceVersion+`"`, "c")
	require.NoError(t, err)
	require.Equal(t, made.UID, applied.UID)
	require.Equal(t, made.CreationTimestamp, applied.CreationTimestamp)
	require.Equal(t, "c", applied.Labels["a"])
	require.Equal(t, []metav1.ManagedFieldsEntry{{
		Manager: "test", Operation: "Apply", APIVersion: "rbac.authorization.k8s.io/v1", Time: applied.ManagedFields[0].Time,
		FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:metadata":{"f:labels":{"f:a":{}}}}`)},
	}}, applied.ManagedFields)
	for _, metadata := range []string{`,"uid":"other"`, `,"resourceVersion":"` + made.ResourceVersion + `"`} {
		_, err = apply(metadata, "d")
		require.True(t, apierrors.IsConflict(err), "%s: %v", metadata, err)
	}
	list, err := roles.List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, applied.ResourceVersion, list.ResourceVersion)
	require.NoError(t, roles.Delete(ctx, "other", metav1.DeleteOptions{}))
	var seen []string
	for event := range watched.ResultChan() {
		o := event.Object.(*rbacv1.ClusterRole)
		if o.Name == "other" {
			break
		}
		seen = append(seen, string(event.Type)+" "+o.ResourceVersion)
	}
	require.Equal(t, []string{"ADDED " + made.ResourceVersion, "MODIFIED " + applied.ResourceVersion}, seen)
	require.NotEqual(t, made.ResourceVersion, applied.ResourceVersion)
}
