package reconcile

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
)

// The same events queue the same keys in the same order, whatever order a map has.
func TestFencesDoTheSameEachTime(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	claims, groups := schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}, schema.GroupResource{Group: "scheduling.k8s.io", Resource: "podgroups"}
	key := func(i int) purekube.Key {
		return purekube.Key{Kind: "PodGroup", Namespace: "ns", Name: fmt.Sprint("group-", i)}
	}
	for range 20 {
		f := newFences()
		f.watch(claims)
		f.watch(groups)
		for i := range 4 {
			f.set(now, key(i), map[schema.GroupResource]string{claims: "11", groups: "12"}, false)
			require.Equal(t, FenceTimeout, f.hold(now, key(i)))
		}
		require.Empty(t, f.see(claims, "11"), "a key waits for one resource at a time: for the first one by name")
		require.Len(t, f.see(groups, "12"), 4)
	}
}
