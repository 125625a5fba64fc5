package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Without a Lease a manager runs only if it is told that no other one does.
func TestNoManagerWithoutALease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.start(t, clientGo, "manager", w.Endpoint(), "-leader-elect=false")
	select {
	case <-m.Ended():
	case <-time.After(patience):
		m.Kill()
		t.Fatal("it runs")
	}
	require.ErrorContains(t, m.Stop(), "exit status 2")
	said, err := os.ReadFile(m.log)
	require.NoError(t, err)
	require.Contains(t, string(said), "-single-replica")
}

// Of two managers with a Lease one works, and the other one after it: 40 pods get one claim each.
func TestTwoReplicasMakeOneClaimForEachPod(t *testing.T) {
	t.Parallel()
	const pods = 40
	forEachModule(t, func(t *testing.T, of module) {
		w := newWorld(t)
		managers := []*manager{w.start(t, of, "manager-1", w.Endpoint(), of.elected...), w.start(t, of, "manager-2", w.Endpoint(), of.elected...)}
		ns := w.namespace(t, "replicas")
		w.createTemplate(t, ns, "gpu")
		var leader, follower *manager
		eventually(t, patience, "one of two leads", func(context.Context) error {
			for i, m := range managers {
				if m.leads() {
					leader, follower = m, managers[1-i]
					return nil
				}
			}
			return expect("leaders", 1, 0)
		})
		for i := range pods {
			w.createPodWithClaims(t, ns, fmt.Sprint("train-", i), "gpu")
			if i == pods/2 {
				leader.Kill() // in the middle of its work
			}
		}
		for i := range pods {
			eventually(t, patience, "a claim", func(ctx context.Context) error {
				_, err := w.claimNames(ctx, ns, fmt.Sprint("train-", i), "gpu")
				return err
			})
		}
		throughout(t, 3*time.Second, "one claim for each pod", w.countClaims(ns, pods))
		w.atRest(t, follower)
		follower.stop(t)
	})
}
