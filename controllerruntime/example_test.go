package controllerruntime_test

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/purekube/purekube/controllerruntime"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/servicecidr"
)

// A program with two controllers and leader election.
func Example() {
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{LeaderElection: true, LeaderElectionID: "purekube"})
	if err == nil {
		err = controllerruntime.AddDisruption(mgr, disruption.Options{})
	}
	if err == nil {
		err = controllerruntime.AddServiceCIDR(mgr, servicecidr.Options{})
	}
	if err == nil {
		err = mgr.Start(ctrl.SetupSignalHandler())
	}
	if err != nil {
		panic(err)
	}
}
