// Command controller-runtime runs the five controllers of purekube on a manager of controller-runtime.
package main

import (
	"flag"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/purekube/purekube/clientgo"
	purekube "github.com/purekube/purekube/controllerruntime"
)

func main() {
	metrics := flag.String("metrics-address", ":8080", "`address` of /metrics")
	health := flag.String("health-address", ":8081", "`address` of /healthz and /readyz")
	elect := flag.Bool("leader-elect", true, "take a Lease in namespace purekube; without it, run one replica")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Metrics: server.Options{BindAddress: *metrics}, HealthProbeBindAddress: *health,
		LeaderElection: *elect, LeaderElectionID: "purekube-manager", LeaderElectionNamespace: "purekube",
	})
	if err == nil {
		err = purekube.Add(mgr, clientgo.SetOptions{Controllers: clientgo.Names()})
	}
	if err == nil {
		err = mgr.Start(ctrl.SetupSignalHandler())
	}
	if err != nil {
		panic(err)
	}
}
