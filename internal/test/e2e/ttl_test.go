package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/ttl"
)

func init() { stories["ttl of nodes"] = ttlOfNodes }

// The TTL of nodes goes up with the 101st and down with the 90th. In between, a restart changes
// nothing (BR-19-01 … BR-19-07). No other story makes nodes.
func ttlOfNodes(t *testing.T, w *world) {
	w.createNodes(t, 0, 100)
	w.disturb()
	eventually(t, patience, "0 s for 100", w.allNodes(100, "0"))
	w.createNodes(t, 100, 101)
	w.disturb()
	eventually(t, patience, "15 s for 101", w.allNodes(101, "15"))
	w.deleteNodes(t, 95, 101)
	before := w.nodeVersions(t)
	w.disturb()
	throughout(t, 3*time.Second, "no write in the overlap", func(context.Context) error {
		for name, version := range w.nodeVersions(t) {
			if err := expect("resourceVersion of "+name, before[name], version); err != nil {
				return err
			}
		}
		return nil
	})
	w.deleteNodes(t, 89, 95)
	w.disturb()
	eventually(t, patience, "0 s for 89", w.allNodes(89, "0"))
}

// A manager that starts while 95 nodes carry the TTL of 101 writes none of them: a cluster
// that grew to 95 would be at 0 s.
func TestStartInTheOverlapOfTTLs(t *testing.T) {
	t.Parallel()
	forEachModule(t, func(t *testing.T, of module) {
		w := newWorld(t)
		first := w.start(t, of, "manager", w.Endpoint(), of.alone...)
		w.createNodes(t, 0, 101)
		eventually(t, patience, "15 s for 101", w.allNodes(101, "15"))
		w.deleteNodes(t, 95, 101)
		first.stop(t)
		before := w.nodeVersions(t)

		second := w.start(t, of, "manager", w.Endpoint(), of.alone...)
		// A node that is new tells when the manager plans, and by which step.
		w.createNodes(t, 101, 102)
		eventually(t, patience, "15 s for the new one too", w.allNodes(96, "15"))
		w.atRest(t, second)
		after := w.nodeVersions(t)
		delete(after, nodeName(101))
		require.Equal(t, before, after)
		second.stop(t)
	})
}

func (w *world) createNodes(t *testing.T, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		_, err := w.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i)}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
}

func (w *world) deleteNodes(t *testing.T, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		require.NoError(t, w.CoreV1().Nodes().Delete(t.Context(), nodeName(i), metav1.DeleteOptions{}))
	}
}

func nodeName(i int) string { return fmt.Sprintf("node-%03d", i) }

func (w *world) allNodes(count int, seconds string) func(context.Context) error {
	return func(ctx context.Context) error {
		nodes, err := w.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if err := expect("number of nodes", count, len(nodes.Items)); err != nil {
			return err
		}
		for _, n := range nodes.Items {
			if err := expect("TTL of "+n.Name, seconds, n.Annotations[ttl.Annotation]); err != nil {
				return err
			}
		}
		return nil
	}
}

func (w *world) nodeVersions(t *testing.T) map[string]string {
	t.Helper()
	nodes, err := w.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	versions := map[string]string{}
	for _, n := range nodes.Items {
		versions[n.Name] = n.ResourceVersion
	}
	return versions
}
