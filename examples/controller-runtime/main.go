// Command controller-runtime runs two cores of purekube with controller-runtime's manager: the smallest
// wiring there is. examples/manager has all five, and more of what a cluster's own controllers need.
package main

import (
	"flag"
	"os"

	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/purekube/purekube/clientgo"
)

func main() {
	metrics := flag.String("metrics-address", ":8080", "`address` of /metrics")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(*metrics); err != nil {
		ctrl.Log.Error(err, "Ended")
		os.Exit(1)
	}
}

func run(metrics string) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	m, err := ctrl.NewManager(config, ctrl.Options{Metrics: server.Options{BindAddress: metrics}})
	if err != nil {
		return err
	}
	exec, err := clientgo.NewExecutor(config)
	if err != nil {
		return err
	}
	resources, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	lookup := clientgo.LookupFor(exec, resources, resettable{m.GetRESTMapper()})
	if err := setUpServiceCIDRs(m); err != nil {
		return err
	}
	if err := setUpDisruptions(m, lookup); err != nil {
		return err
	}
	return m.Start(signals.SetupSignalHandler())
}
