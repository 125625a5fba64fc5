package model

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/reconcile"
	"github.com/purekube/purekube/ttl"
)

// What a clone does, the Loop that it came from knows nothing of.
func TestCloneLoop(t *testing.T) {
	key, resource := ttl.Key("node"), nodesResource.GroupResource()
	see := func(l *nodeReconcileLoop, version string, annotations map[string]string) {
		l.Event(resource, version, func(x *ttl.Index) (*ttl.Index, []purekube.Key) {
			return x.With(ttl.Snapshot{Nodes: []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "node", ResourceVersion: version, Annotations: annotations}}}})
		})
	}
	l := reconcile.New(ttl.NewIndex(ttl.Snapshot{}, ttl.Options{}), reconcile.Options[*ttl.Index, ttl.Snapshot]{Synced: func() bool { return true }})
	l.Watches(resource)
	see(l, "5", nil)
	l.Start(Start)
	l.Begin(Start, key)
	c := cloneLoop(l)
	require.NotNil(t, c.Turns[key])
	require.NotSame(t, l.Turns[key], c.Turns[key])

	turn := c.Turns[key]
	result, problems := turn.Index.Plan(key)
	c.Planned(Start, turn, result, problems)
	c.Sent(Start, turn, result.Actions[0].Request(nil), &corev1.Node{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9"}}, nil)
	c.End(Start, turn, nil, false)
	require.Equal(t, reconcile.Wait, c.Begin(Start, key).Step, "held by its write")
	again := cloneLoop(c)
	require.Equal(t, reconcile.Wait, again.Begin(Start, key).Step)
	see(again, "9", map[string]string{ttl.Annotation: "0"})
	require.Equal(t, reconcile.Plan, again.Begin(Start, key).Step)
	require.Equal(t, reconcile.Wait, c.Begin(Start, key).Step)

	require.Nil(t, c.Turns[key])
	require.Equal(t, reconcile.Plan, l.Turns[key].Step)
	l.Planned(Start, l.Turns[key], result, problems)
	l.End(Start, l.Turns[key], nil, false)
	require.Equal(t, reconcile.Plan, l.Begin(Start, key).Step, "nothing was written there")
}
