// Package controllerruntime runs the packages of purekube as controllers of a controller-runtime manager.
//
//	mgr, err := ctrl.NewManager(config, ctrl.Options{LeaderElection: true, LeaderElectionID: "purekube"})
//	err = controllerruntime.AddDisruption(mgr, disruption.Options{})
//	err = mgr.Start(ctx)
//
// Each Add function adds one controller. It reads from the manager's cache, sends requests with the manager's
// configuration, runs only while the manager leads, and adds a readiness check with its name. Events go to the manager's
// recorder, metrics to controller-runtime's registry, and logs to the manager's logger. Package clientgo has the
// controller itself; this package connects it. AddWebhook adds the admission webhook.
//
// The manager's recorder uses events.k8s.io. All events with the same reason about the same object are one series there,
// which keeps the message of the first event. If a claim cannot be created because the API server does not answer, and then
// because of a quota, the event still says that there was no answer. The log has every message.
//
// # The caller's duties
//
//  1. Switch the same controller of kube-controller-manager off. Two writers of one status keep overwriting each other.
//  2. Elect a leader, or run one replica: two replicas of resourceclaim make two claims for one pod. When the manager
//     returns because it lost its Lease, end the process.
//  3. Add each controller once, before the manager starts.
//  4. Leave the manager's cache whole. A cache with a label or field selector, or a transform that takes labels, owner
//     references, spec or status away, hides objects, and what is hidden counts as gone. A cache of some namespaces is
//     fine for disruption and resourceclaim, whose plans are about one namespace.
//  5. Give the manager's account the rights that examples/manager/manifests/rbac.yaml lists for the controller.
//
// What each controller decides, and its rules, are in the documentation of its package.
package controllerruntime
