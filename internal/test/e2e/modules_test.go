package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/e2e/cluster"
)

// module is a module that runs the five controllers, as a program of examples runs it.
type module struct {
	name   string
	binary func() string
	// metrics and health are the flags for the addresses of metrics and health checks. They may be the same.
	metrics, health string
	// alone are flags of a program that takes no Lease, and elected of one that takes a Lease of ten seconds, if the
	// program has a flag for that. On a busy machine a shorter one is lost now and then.
	alone, elected []string
}

var (
	clientGo = module{
		name: "clientgo", binary: func() string { return managerBinary },
		metrics: "-listen-address", health: "-listen-address",
		alone:   []string{"-leader-elect=false", "-single-replica"},
		elected: []string{"-leader-elect-lease-duration=10s", "-leader-elect-renew-deadline=8s", "-leader-elect-retry-period=500ms"},
	}
	controllerRuntime = module{
		name: "controllerruntime", binary: func() string { return reconcilerBinary },
		metrics: "-metrics-address", health: "-health-address",
		alone: []string{"-leader-elect=false"},
	}
)

// modules are all of them.
var modules = []module{clientGo, controllerRuntime}

// forEachModule runs the test with each module, at the same time.
func forEachModule(t *testing.T, test func(*testing.T, module)) {
	t.Helper()
	for _, m := range modules {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			test(t, m)
		})
	}
}

// start runs the module's program at the API server, or at a proxy in front of it, and does not wait.
func (w *world) start(t *testing.T, of module, name string, at cluster.Endpoint, flags ...string) *manager {
	t.Helper()
	kubeconfig, err := w.Kubeconfig(cluster.Manager, at)
	require.NoError(t, err)
	ports, err := cluster.FreePorts(2)
	require.NoError(t, err)
	address := map[string]string{of.metrics: fmt.Sprintf("127.0.0.1:%d", ports[0])}
	if of.health != of.metrics {
		address[of.health] = fmt.Sprintf("127.0.0.1:%d", ports[1])
	}
	m := &manager{url: "http://" + address[of.metrics], health: "http://" + address[of.health], log: w.log(name)}
	args := []string{"-kubeconfig=" + kubeconfig}
	for name, value := range address {
		args = append(args, name+"="+value)
	}
	m.Process, err = cluster.StartProcess(m.log, of.binary(), append(args, flags...)...)
	require.NoError(t, err)
	return m
}
