package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// etcd is restored from a backup. A pod that was deleted after the backup runs again, and a manager that has seen its
// deletion takes no device from it (D-37). The manager ends by itself where a cache goes back. Once it is started again,
// everything is right.
func TestRestoredFromABackup(t *testing.T) {
	t.Parallel()
	forEachModule(t, restoredFromABackup)
}

func restoredFromABackup(t *testing.T, of module) {
	w := newWorld(t)
	patient := of.alone
	if of.name == clientGo.name { // it keeps the Lease while the cluster is down
		patient = []string{"-leader-elect-lease-duration=150s", "-leader-elect-renew-deadline=120s", "-leader-elect-retry-period=500ms"}
	}
	m := w.start(t, of, "manager", w.Endpoint(), patient...)
	ns := w.namespace(t, "restored")
	w.createTemplate(t, ns, "gpu")
	claims := map[string]string{}
	for _, pod := range []string{"lives", "deleted"} {
		claims[pod] = w.runWithClaim(t, ns, pod)
	}
	rs := w.createReplicaSet(t, ns, "web", 2)
	w.createBudget(t, ns, "web", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(1))})
	for i := range 2 {
		w.createPod(t, ns, fmt.Sprint("web-", i), "web", rs)
		w.setReady(t, ns, fmt.Sprint("web-", i), true)
	}
	budget := w.budgetIs(ns, "web", budgetStatus{allowed: 1, expected: 2, desired: 1, healthy: 2})
	eventually(t, patience, "one may go", budget)
	w.createServiceCIDR(t, "old", "10.41.0.0/28")

	backup := filepath.Join(t.TempDir(), "backup")
	require.NoError(t, w.BackUp(backup))
	eventually(t, patience, "the manager leads, or takes no Lease", of.leading(m, patient))

	// What happens after the backup never was.
	w.removePod(t, ns, "deleted")
	eventually(t, patience, "released", w.reservedFor(ns, claims["deleted"]))
	w.setReady(t, ns, "web-1", false)
	eventually(t, patience, "none may go", w.budgetIs(ns, "web", budgetStatus{expected: 2, desired: 1, healthy: 1}))
	w.runWithClaim(t, ns, "lost")
	w.createServiceCIDR(t, "new", "10.41.1.0/28")
	before := w.revision(t)

	require.NoError(t, w.Restore(backup))
	running := func(ctx context.Context) error {
		return errors.Join(w.reservedFor(ns, claims["lives"], "lives")(ctx), w.reservedFor(ns, claims["deleted"], "deleted")(ctx),
			w.allocated(ctx, ns, claims["lives"]), w.allocated(ctx, ns, claims["deleted"]))
	}
	require.NoError(t, running(t.Context()), "the pods run again with their devices")

	// A watch that goes on from the revision that it had tells nothing of the restore. When the cluster is past that, it shows
	// changes again: one of each object makes a manager that has not noticed plan it.
	for w.revision(t) <= before {
		require.NoError(t, touch(t, w.CoreV1().Namespaces().Patch, "default", fmt.Sprint(time.Now().UnixNano())))
	}
	for _, pod := range []string{"lives", "deleted"} {
		require.NoError(t, touch(t, w.CoreV1().Pods(ns).Patch, pod, "restored"))
		require.NoError(t, touch(t, w.ResourceV1().ResourceClaims(ns).Patch, claims[pod], "restored"))
	}
	throughout(t, 10*time.Second, "no device is taken from a pod that runs", running)

	// What it remembers is of another cluster. Its log says that it may not watch: an API server that has just
	// started refuses until it knows the roles.
	noticed := m.hasEnded()
	t.Logf("the manager has noticed: %t", noticed)
	if noticed {
		content, err := os.ReadFile(m.log)
		require.NoError(t, err)
		require.Contains(t, string(content), "etcd was restored from a backup")
	} else {
		require.NoError(t, m.Stop())
	}
	m = w.start(t, of, "manager-2", w.Endpoint(), patient...)
	eventually(t, patience, "the manager leads, or takes no Lease", of.leading(m, patient))
	eventually(t, patience, "one may go", budget)
	for _, pod := range []string{"lost", "later"} {
		w.runWithClaim(t, ns, pod)
	}
	w.createServiceCIDR(t, "new", "10.41.1.0/28")
	w.atRest(t, m)
	require.NoError(t, running(t.Context()))
	m.stop(t)
}

// leading checks that the manager leads, unless it has these flags because it takes no Lease.
func (of module) leading(m *manager, flags []string) func(context.Context) error {
	return func(context.Context) error {
		return expect("leading", true, slices.Equal(flags, of.alone) || m.leads())
	}
}

// runWithClaim makes a pod that runs with a device, and returns the name of its claim.
func (w *world) runWithClaim(t *testing.T, ns, pod string) string {
	t.Helper()
	w.createPodWithClaims(t, ns, pod, "gpu")
	var claim string
	eventually(t, patience, "pod "+pod+" has its claim", func(ctx context.Context) error {
		names, err := w.claimNames(ctx, ns, pod, "gpu")
		if err == nil {
			claim = names[0]
		}
		return err
	})
	w.allocate(t, ns, claim)
	require.NoError(t, w.CoreV1().Pods(ns).Bind(t.Context(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod}, Target: corev1.ObjectReference{Kind: "Node", Name: "somewhere"}}, metav1.CreateOptions{}))
	eventually(t, patience, "reserved", w.reservedFor(ns, claim, pod))
	w.setReady(t, ns, pod, true)
	return claim
}

func (w *world) allocated(ctx context.Context, ns, claim string) error {
	c, err := w.ResourceV1().ResourceClaims(ns).Get(ctx, claim, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return expect(claim+" allocated", true, c.Status.Allocation != nil)
}

// revision is the newest of the cluster.
func (w *world) revision(t *testing.T) int64 {
	t.Helper()
	list, err := w.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	var revision int64
	_, err = fmt.Sscan(list.ResourceVersion, &revision)
	require.NoError(t, err)
	return revision
}

// touch sets a label, and so makes an event.
func touch[T any](
	t *testing.T, patch func(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error), name, value string,
) error {
	t.Helper()
	_, err := patch(t.Context(), name, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"touched":%q}}}`, value), metav1.PatchOptions{})
	return err
}
