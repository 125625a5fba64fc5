package e2e

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/e2e/cluster"
)

// startUpstream runs the real kube-controller-manager with the five controllers only.
func (w *world) startUpstream(t *testing.T, at cluster.Endpoint, flags ...string) *manager {
	t.Helper()
	kubeconfig, err := w.Kubeconfig(cluster.KubeControllerManager, at)
	require.NoError(t, err)
	ports, err := cluster.FreePorts(1)
	require.NoError(t, err)
	args := append([]string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--controllers=disruption-controller,ttl-controller,clusterrole-aggregation-controller,resourceclaim-controller,service-cidr-controller",
		"--leader-elect=false", "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]),
		"--cert-dir=" + filepath.Join(w.folder, "kcm-certificates"), "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
	}, flags...)
	m := &manager{url: fmt.Sprintf("https://127.0.0.1:%d", ports[0]), log: w.log("kube-controller-manager")}
	m.Process, err = cluster.StartProcess(m.log, filepath.Join(bin, "kube-controller-manager"), args...)
	require.NoError(t, err)
	return m
}
