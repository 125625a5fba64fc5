package controllerruntime_test

import (
	rbacv1 "k8s.io/api/rbac/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/admission/webhook"
	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/controllerruntime"
)

// A program with two controllers and leader election.
func Example() {
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{LeaderElection: true, LeaderElectionID: "purekube"})
	if err == nil {
		err = addTwo(mgr)
	}
	if err == nil {
		err = mgr.Start(ctrl.SetupSignalHandler())
	}
	if err != nil {
		panic(err)
	}
}

// addTwo adds the controllers of ServiceCIDRs and PodDisruptionBudgets to a manager.
func addTwo(mgr ctrl.Manager) error {
	return controllerruntime.Add(mgr, clientgo.SetOptions{Controllers: []string{"servicecidr", "disruption"}, Workers: 8})
}

// addWebhook lets the manager's webhook server answer reviews. Writes of ClusterRoles may give view nothing but pods and
// services.
func addWebhook(mgr ctrl.Manager) error {
	readable := rbacv1.PolicyRule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"*"}, Resources: []string{"pods", "services"}}
	return controllerruntime.AddWebhook(mgr, "/validate", admission.Options{
		ClusterRoles: admission.ClusterRoleOptions{Allowed: map[string][]rbacv1.PolicyRule{"view": {readable}}},
	}, webhook.Options{})
}
