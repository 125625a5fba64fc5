package controllerruntime

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/admission/webhook"
	"github.com/purekube/purekube/clientgo"
)

const webhookName = "purekube-webhook"

// AddWebhook lets the manager's webhook server answer admission reviews at this path, with the decisions of package
// admission, whether the manager leads or not. Reviews of ServiceCIDRs and ClusterRoles are decided on lists of the API
// server, with the manager's configuration and without its rate limit: see [clientgo.Webhook].
//
// For evictions and budgets it reads PodDisruptionBudgets, Pods, ReplicationControllers, ReplicaSets, Deployments and
// StatefulSets from the manager's cache, which must be one of all namespaces. Until it has seen all of them it refuses
// evictions and writes of budgets, and the readiness check purekube-webhook fails. Without [webhook.Options.Log], the
// manager's logger gets a line for each review.
func AddWebhook(mgr manager.Manager, path string, o admission.Options, w webhook.Options) error {
	if mgr == nil {
		return fmt.Errorf("%s: %w", webhookName, errNoManager)
	}
	if w.Log == nil {
		w.Log = slog.New(logr.ToSlogHandler(mgr.GetLogger()))
	}
	handler, err := newWebhook(mgr, o, w)
	if err != nil {
		return fmt.Errorf("%s: %w", webhookName, err)
	}
	mgr.GetWebhookServer().Register(path, handler)
	if err := mgr.AddReadyzCheck(webhookName, func(*http.Request) error { return handler.Ready() }); err != nil {
		return fmt.Errorf("%s: %w", webhookName, err)
	}
	return nil
}

func newWebhook(mgr manager.Manager, o admission.Options, w webhook.Options) (*clientgo.Webhook, error) {
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS, config.RateLimiter = -1, nil // a webhook lists for two reviews at a time, one page after the other
	lists, err := kubernetes.NewForConfigAndClient(config, mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	return clientgo.NewWebhook(informers(mgr), lists, o, w)
}

// informers are the informers of the manager's cache.
func informers(mgr manager.Manager) clientgo.Informers {
	return func(o runtime.Object) (clientgo.Informer, error) {
		object, ok := o.(client.Object)
		if !ok {
			return nil, fmt.Errorf("no informer for a %T", o)
		}
		return mgr.GetCache().GetInformer(context.Background(), object, cache.BlockUntilSynced(false))
	}
}
