package reconcile

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/ttl"
)

// What a clone does, the Loop that it came from knows nothing of.
func TestClone(t *testing.T) {
	l := newLoop(Options[*ttl.Index, ttl.Snapshot]{})
	l.Start(start)
	l.Begin(start, key)
	c := l.Clone()
	require.NotNil(t, c.Turn(key))
	require.NotSame(t, l.Turn(key), c.Turn(key))

	turn := c.Turn(key)
	result, problems := turn.Index.Plan(key)
	c.Planned(start, turn, result, problems)
	c.Sent(start, turn, result.Actions[0].Request(nil), &corev1.Node{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9"}}, nil)
	c.End(start, turn, nil, false)
	require.Equal(t, Wait, c.Begin(start, key).Step, "held by its write")
	again := c.Clone()
	require.Equal(t, Wait, again.Begin(start, key).Step)
	see(again, "9", "0")
	require.Equal(t, Plan, again.Begin(start, key).Step)
	require.Equal(t, Wait, c.Begin(start, key).Step)

	require.Nil(t, c.Turn(key))
	require.Equal(t, Plan, l.Turn(key).Step)
	l.Planned(start, l.Turn(key), result, problems)
	l.End(start, l.Turn(key), nil, false)
	require.Equal(t, Plan, l.Begin(start, key).Step, "nothing was written there")
}
