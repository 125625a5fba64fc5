// Package controllerruntime runs the packages of purekube as controllers of a controller-runtime manager.
//
//	mgr, err := ctrl.NewManager(config, ctrl.Options{LeaderElection: true, LeaderElectionID: "purekube"})
//	err = controllerruntime.Add(mgr, clientgo.SetOptions{Controllers: []string{"servicecidr", "disruption"}})
//	err = mgr.Start(ctx)
//
// [Add] adds the controllers of package clientgo as a runnable. The manager starts it when it leads, and it ends with
// the manager's Lease. The informers start at the same time, and are clientgo's own. So a replica that waits for the
// Lease has no old data, and objects that the manager's cache leaves out by a selector or a transform do not count as
// deleted. The price is memory: kinds that the manager's cache also has are kept twice.
//
// Add adds a readiness check, which succeeds on a replica that does not lead. Metrics go to controller-runtime's
// registry, and logs to the manager's logger. [AddWebhook] adds the admission webhook.
//
// # The caller's duties
//
//  1. Switch off the same controller of kube-controller-manager. Two writers of one status keep overwriting each other.
//  2. Elect a leader, or run one replica: two replicas of resourceclaim make two claims for one pod. When the manager
//     returns because it lost its Lease, or because of [clientgo.ErrRestored], end the process.
//  3. Add each controller once, before the manager starts. Controllers of one Add share informers.
//  4. Give the manager's account the rights that examples/manager/manifests/rbac.yaml lists for the controller.
//
// What each controller decides, and its rules, are in the documentation of its package.
package controllerruntime
