package controllerruntime

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/admission/webhook"
	"github.com/purekube/purekube/clientgo"
)

const webhookName = "purekube-webhook"

var errNotSynced = errors.New("the webhook has not seen every object yet")

// AddWebhook lets the manager's webhook server answer admission reviews at this path, with the decisions of package
// admission, whether the manager leads or not. It reads ServiceCIDRs, IPAddresses, ClusterRoles, PodDisruptionBudgets, Pods,
// ReplicationControllers, ReplicaSets, Deployments and StatefulSets from the manager's cache. Until it has seen all of them
// it refuses what it would decide, and the readiness check purekube-webhook fails. Without [webhook.Options.Log], the
// manager's logger gets a line for each review.
func AddWebhook(mgr manager.Manager, path string, o admission.Options, w webhook.Options) error {
	if mgr == nil {
		return fmt.Errorf("%s: %w", webhookName, errNoManager)
	}
	if w.Log == nil {
		w.Log = slog.New(logr.ToSlogHandler(mgr.GetLogger()))
	}
	handler, synced, err := clientgo.NewWebhook(informers(mgr), o, w)
	if err != nil {
		return fmt.Errorf("%s: %w", webhookName, err)
	}
	mgr.GetWebhookServer().Register(path, handler)
	return mgr.AddReadyzCheck(webhookName, func(*http.Request) error {
		if !synced() {
			return errNotSynced
		}
		return nil
	})
}
