package aliasing

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestShared(t *testing.T) {
	node := func() *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Labels:     map[string]string{"a": "b"},
				Finalizers: []string{"x", "y"},
			},
			Spec: corev1.NodeSpec{ConfigSource: &corev1.NodeConfigSource{}}, //nolint:staticcheck // a pointer to an empty struct
		}
	}
	for _, tc := range []struct {
		name, reason string
		result       func(in *corev1.Node) any
		want         []string
	}{{
		name: "deep copy", reason: "a deep copy shares nothing",
		result: func(in *corev1.Node) any { return in.DeepCopy() },
	}, {
		name: "the same pointer", reason: "the object itself",
		result: func(in *corev1.Node) any { return in },
		want:   []string{"result is input"},
	}, {
		name: "struct copy", reason: "a shallow copy shares its maps, slices and pointers",
		result: func(in *corev1.Node) any { return corev1.Node{ObjectMeta: in.ObjectMeta, Spec: in.Spec} },
		want: []string{
			"result.ObjectMeta.Finalizers[0] is input.ObjectMeta.Finalizers[0]",
			"result.ObjectMeta.Finalizers[1] is input.ObjectMeta.Finalizers[1]",
			"result.ObjectMeta.Labels is input.ObjectMeta.Labels",
			"result.Spec.ConfigSource is input.Spec.ConfigSource",
		},
	}, {
		name: "overlapping slice", reason: "the second half of a slice is the same memory",
		result: func(in *corev1.Node) any { return []any{in.Finalizers[1:]} },
		want:   []string{"result[0][0] is input.ObjectMeta.Finalizers[1]"},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			in := node()
			if diff := cmp.Diff(tc.want, Shared(in, tc.result(in))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
