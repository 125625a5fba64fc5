package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
)

func TestNamed(t *testing.T) {
	node := func(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	a, b := node("a"), node("b")
	in := []*corev1.Node{nil, b, node(""), a, nil, node(""), a}

	var problems Problems
	require.Equal(t, []*corev1.Node{b, a, a}, Named("Node", in, &problems), "in their order, with duplicates")
	require.Nil(t, in[0], "the slice itself stays as it was")
	err := problems.Err()
	require.ErrorIs(t, err, purekube.ErrNil)
	require.EqualError(t, err, "Node: nil object in the snapshot\nNode: metadata.name: required",
		"each problem once, however often")

	var none Problems
	require.Equal(t, []*corev1.Node{a}, Named("Node", []*corev1.Node{a}, &none))
	require.NoError(t, none.Err())
}
