package ttl_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/ttl"
)

// A step is recovered at the very numbers of nodes where it begins and ends.
func TestRecoverAtTheBoundaries(t *testing.T) {
	for _, tc := range []struct {
		nodes      int
		annotation string
		want       int
	}{
		{89, "15", 0}, {90, "15", 1}, {100, "0", 0}, {101, "0", 1}, {500, "15", 1}, {501, "15", 2},
	} {
		var nodes []*corev1.Node
		for i := range tc.nodes {
			nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i), Annotations: map[string]string{ttl.Annotation: tc.annotation}}})
		}
		x, _ := ttl.NewIndex(ttl.Snapshot{Nodes: nodes}, ttl.Options{}).Recover()
		require.Equal(t, tc.want, x.Step(), "%d nodes with %q", tc.nodes, tc.annotation)
	}
}

// Outcomes are sorted, those of names that two nodes have among the others.
func TestOutcomesOfDuplicatesAreSorted(t *testing.T) {
	node := func(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	outcomes, err := ttl.PlanAll(ttl.Snapshot{Nodes: []*corev1.Node{node("b"), node("a"), node("a"), node("c"), node("c")}}, ttl.Options{})
	require.NoError(t, err)
	var keys []string
	for _, o := range outcomes {
		keys = append(keys, o.Key.Name)
	}
	require.Equal(t, []string{"a", "b", "c"}, keys)
}

// A SetTTL without a UID is for whatever node has the name.
func TestApplyWithoutAUID(t *testing.T) {
	latest := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1"}}
	require.Equal(t, "15", ttl.SetTTL{Name: "a", TTL: 15 * time.Second}.Apply(latest).Annotations[ttl.Annotation])
	require.Empty(t, ttl.SetTTL{Name: "a", UID: "2", TTL: 15 * time.Second}.Apply(latest).Annotations)
}
