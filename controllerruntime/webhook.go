package controllerruntime

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/admission/webhook"
	"github.com/purekube/purekube/clientgo"
)

const webhookName = "purekube-webhook"

// AddWebhook lets the manager's webhook server answer admission reviews at this path, with the decisions of package
// admission, whether the manager leads or not. It reads ServiceCIDRs, IPAddresses, ClusterRoles, PodDisruptionBudgets, Pods,
// ReplicationControllers, ReplicaSets, Deployments and StatefulSets from the manager's cache, which must be one of all
// namespaces. Until it has seen all of them, and when they may be older than [clientgo.MaxCacheAge], it refuses what it
// would decide, and the readiness check purekube-webhook fails. Without [webhook.Options.Log], the manager's logger gets a
// line for each review.
func AddWebhook(mgr manager.Manager, path string, o admission.Options, w webhook.Options) error {
	if mgr == nil {
		return fmt.Errorf("%s: %w", webhookName, errNoManager)
	}
	if w.Log == nil {
		w.Log = slog.New(logr.ToSlogHandler(mgr.GetLogger()))
	}
	reads, err := versions(mgr)
	if err != nil {
		return fmt.Errorf("%s: %w", webhookName, err)
	}
	handler, err := clientgo.NewWebhook(informers(mgr), reads, o, w)
	if err != nil {
		return fmt.Errorf("%s: %w", webhookName, err)
	}
	mgr.GetWebhookServer().Register(path, handler)
	if err := mgr.AddReadyzCheck(webhookName, func(*http.Request) error { return handler.Ready() }); err != nil {
		return fmt.Errorf("%s: %w", webhookName, err)
	}
	return mgr.Add(everywhere{handler})
}

// versions is a client that shows how new the manager's cache is.
func versions(mgr manager.Manager) (metadata.Interface, error) {
	return metadata.NewForConfigAndClient(metadata.ConfigFor(mgr.GetConfig()), mgr.GetHTTPClient())
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

// everywhere is a webhook as a manager runs it, whether it leads or not.
type everywhere struct{ webhook *clientgo.Webhook }

// NeedLeaderElection makes the manager run it always.
func (everywhere) NeedLeaderElection() bool { return false }

// Start finds out how old the caches are until the manager ends.
func (e everywhere) Start(ctx context.Context) error { return e.webhook.Run(ctx) }
