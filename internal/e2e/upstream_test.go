package e2e

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/e2e/cluster"
)

// startUpstream runs the real kube-controller-manager with the five controllers only.
func (w *world) startUpstream(t *testing.T) *cluster.Process {
	t.Helper()
	kubeconfig, err := w.Kubeconfig(cluster.KubeControllerManager, w.Endpoint())
	require.NoError(t, err)
	ports, err := cluster.FreePorts(1)
	require.NoError(t, err)
	p, err := cluster.StartProcess(w.log("kube-controller-manager"), filepath.Join(bin, "kube-controller-manager"),
		"--kubeconfig="+kubeconfig, "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig,
		"--controllers=disruption-controller,ttl-controller,clusterrole-aggregation-controller,resourceclaim-controller,service-cidr-controller",
		"--leader-elect=false", "--kube-api-qps=50", "--kube-api-burst=100",
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]), "--cert-dir="+filepath.Join(w.folder, "kcm-certificates"))
	require.NoError(t, err)
	return p
}
