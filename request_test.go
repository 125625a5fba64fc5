package purekube_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/purekube/purekube"
)

func TestWithSpecOf(t *testing.T) {
	r := purekube.Request{
		Verb: "create", Object: &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{GenerateName: "p-gpu-"}},
		Template: &purekube.Template{Resource: resourcev1.SchemeGroupVersion.WithResource("resourceclaimtemplates"), Name: "gpu", UID: "1"},
	}
	template := func(uid string, spec any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"uid": uid}, "spec": spec}}
	}
	whole := map[string]any{"spec": map[string]any{"newer": "field"}}

	filled, err := r.WithSpecOf(template("1", whole))
	require.NoError(t, err)
	object := filled.Object.(*unstructured.Unstructured)
	require.Equal(t, map[string]any{"newer": "field"}, object.Object["spec"])
	require.Equal(t, "p-gpu-", object.GetGenerateName())
	object.Object["spec"].(map[string]any)["newer"] = "changed"
	require.Equal(t, "field", whole["spec"].(map[string]any)["newer"], "nothing of the template is in the request")
	require.IsType(t, &resourcev1.ResourceClaim{}, r.Object, "the request is as it was")

	for name, wrong := range map[string]*unstructured.Unstructured{
		"none": nil, "empty": {}, "another": template("2", whole), "no spec.spec": template("1", map[string]any{}), "spec.spec is a number": template("1", map[string]any{"spec": int64(7)}),
	} {
		_, err := r.WithSpecOf(wrong)
		require.True(t, apierrors.IsConflict(err), "%s: %v", name, err)
	}
	plain := purekube.Request{Verb: "patch"}
	same, err := plain.WithSpecOf(nil)
	require.NoError(t, err)
	require.Equal(t, plain, same)
}
