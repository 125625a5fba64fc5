package snapshot

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
)

func inNamespace(namespace, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func TestTable(t *testing.T) {
	a, b, other := inNamespace("x", "a"), inNamespace("x", "b"), inNamespace("y", "a")
	for _, tc := range []struct {
		name, reason string
		objects      []*corev1.Pod
		want         *corev1.Pod // for x/a
		ambiguous    bool
	}{
		{name: "empty", reason: "nothing to find"},
		{name: "one", reason: "found", objects: []*corev1.Pod{a}, want: a},
		{name: "others", reason: "a name is found in its namespace", objects: []*corev1.Pod{b, other}},
		{name: "same name elsewhere", reason: "no duplicate", objects: []*corev1.Pod{other, a, b}, want: a},
		{name: "twice", reason: "which of them is real is not known", objects: []*corev1.Pod{a, b, inNamespace("x", "a")}, ambiguous: true},
		{name: "three times", reason: "once is enough to say so", objects: []*corev1.Pod{a, inNamespace("x", "a"), inNamespace("x", "a")}, ambiguous: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table, key := NewTable("Pod", tc.objects), types.NamespacedName{Namespace: "x", Name: "a"}
			require.Same(t, tc.want, table.Find(key), tc.reason)
			require.Equal(t, tc.ambiguous, table.Ambiguous(key), tc.reason)
			if tc.ambiguous {
				require.Equal(t, []*purekube.ObjectError{DuplicateError("Pod", key)}, table.Duplicates())
			} else {
				require.Empty(t, table.Duplicates())
			}
		})
	}
}

// Every one of many is found, and none of as many others.
func TestTableOfMany(t *testing.T) {
	var objects []*corev1.Pod
	for i := range 5000 {
		objects = append(objects, inNamespace(fmt.Sprint("ns", i%7), fmt.Sprint("pod-", i)))
	}
	table := NewTable("Pod", objects)
	for i, o := range objects {
		require.Same(t, o, table.Find(KeyOf(o)))
		require.Nil(t, table.Find(types.NamespacedName{Namespace: fmt.Sprint("ns", (i+1)%7), Name: o.Name}))
	}
}
