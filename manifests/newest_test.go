package manifests

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// The time of a dump is the newest one that its objects have; one that is ahead of the clock is wrong and does not count.
func TestNewestTimeOfADump(t *testing.T) {
	clock := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	const old = `metadata: {name: a, uid: u, resourceVersion: "1", creationTimestamp: "2026-01-01T08:00:00Z"`
	for _, tc := range []struct{ name, reason, input, want string }{
		{"created", "every object says so", "apiVersion: v1\nkind: Pod\n" + old + "}\n", "08:00"},
		{"a condition of a pod", "it is newer", "apiVersion: v1\nkind: Pod\n" + old + "}\nstatus: {conditions: [{type: Ready, lastTransitionTime: \"2026-01-01T09:00:00Z\"}]}\n", "09:00"},
		{"a heartbeat", "nodes send one every few minutes", "apiVersion: v1\nkind: Node\n" + old + "}\nstatus: {conditions: [{type: Ready, lastHeartbeatTime: \"2026-01-01T10:00:00Z\"}]}\n", "10:00"},
		{"an eviction", "the API server notes when", "apiVersion: policy/v1\nkind: PodDisruptionBudget\n" + old + "}\nstatus: {disruptedPods: {a: \"2026-01-01T10:30:00Z\"}}\n", "10:30"},
		{"a deletion", "the timestamp is the end of the grace period", "apiVersion: v1\nkind: Pod\n" + old + ", deletionTimestamp: \"2026-01-01T11:30:00Z\", deletionGracePeriodSeconds: 1800}\n", "11:00"},
		{"managed fields", "kubectl shows them on demand", "apiVersion: v1\nkind: Pod\n" + old + ", managedFields: [{manager: x, time: \"2026-01-01T11:15:00Z\"}]}\n", "11:15"},
		{"ahead of the clock", "it is wrong", "apiVersion: v1\nkind: Pod\n" + old + ", managedFields: [{manager: x, time: \"2027-01-01T11:15:00Z\"}]}\n", "08:00"},
		{"a manifest beside it", "what somebody wrote, or kept of an older dump, says nothing about when this was taken",
			"apiVersion: v1\nkind: Pod\n" + old + "}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: b, creationTimestamp: \"2026-01-01T11:00:00Z\"}\n", "08:00"},
		{"a kind that no package knows", "it is of the same dump", "apiVersion: example.com/v1\nkind: Thing\n" + old + "}\nspec: {replicas: 1}\n", "08:00"},
		{"KEDA", "it is of the same dump", "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\n" + old + "}\nspec: {scaleTargetRef: {name: x}}\n", "08:00"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set, err := of(tc.input)
			require.NoError(t, err)
			require.Equal(t, tc.want, set.Newest(clock).UTC().Format("15:04"), tc.reason)
		})
	}
	require.True(t, (&Set{}).Newest(clock).IsZero())
	require.True(t, loaded(t, oneNode("a")).Newest(clock).IsZero(), "manifests have no times")
	require.True(t, (&Set{Nodes: []*corev1.Node{nil}, CustomWorkloads: []*CustomWorkload{nil}, ScaledObjects: []*ScaledObject{nil}}).Newest(clock).IsZero())
}
