package e2e

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/purekube/purekube/admission"
	serving "github.com/purekube/purekube/admission/webhook"
	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/internal/test/e2e/cluster"
)

// Two webhooks of package clientgo, for longer than clientgo.MaxCacheAge. The one whose watches hang, although its lists are
// answered, is not ready any more after that time and not before the last minute of it, and it is ready again soon after the
// watches go on. The other one is ready all the time: in a cluster in which hardly anything changes, too.
func TestWebhookWhoseWatchesHang(t *testing.T) {
	if !*long {
		t.Skip("takes eight minutes: -long")
	}
	t.Parallel()
	w := newWorld(t)
	ns := w.namespace(t, "shop")
	w.createPod(t, ns, "web", "web", metav1.OwnerReference{})
	p := newProxy(t, w)
	through := w.Config(cluster.Admin)
	through.Host, through.CAFile = p.URL, p.CAFile
	straight := w.clientgoWebhook(t, w.Config(cluster.Admin))
	hung := w.clientgoWebhook(t, through)
	for _, hook := range []*clientgo.Webhook{straight, hung} {
		eventually(t, patience, "the webhook is ready", func(context.Context) error { return hook.Ready() })
	}

	began := time.Now()
	p.set(func(r *http.Request) fault { // called with the proxy locked
		if isWatch(r) {
			return hanging
		}
		return none
	})
	p.cut()
	w.createPod(t, ns, "unseen", "web", metav1.OwnerReference{})
	eventually(t, clientgo.MaxCacheAge+time.Minute, "the webhook refuses", func(context.Context) error {
		require.NoError(t, straight.Ready(), "after %s", time.Since(began))
		if hung.Ready() == nil {
			return errors.New("it is ready")
		}
		return nil
	})
	t.Logf("Refused after %s: %v", time.Since(began).Round(time.Second), hung.Ready())
	require.Greater(t, time.Since(began), clientgo.MaxCacheAge-time.Minute)

	p.set(func(*http.Request) fault { return none })
	p.cut()
	began = time.Now()
	eventually(t, patience, "ready again", func(context.Context) error { return hung.Ready() })
	t.Logf("Ready again after %s", time.Since(began).Round(time.Second))
	throughout(t, time.Minute, "both are ready", func(context.Context) error { return errors.Join(straight.Ready(), hung.Ready()) })
}

// clientgoWebhook makes a Webhook with informers of its own, and runs it until the test ends.
func (w *world) clientgoWebhook(t *testing.T, config *rest.Config) *clientgo.Webhook {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	versions, err := metadata.NewForConfig(config)
	require.NoError(t, err)
	factory := informers.NewSharedInformerFactory(client, 0)
	hook, err := clientgo.NewWebhook(clientgo.FromFactory(factory), versions, admission.Options{}, serving.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	factory.Start(t.Context().Done())
	go func() { _ = hook.Run(t.Context()) }()
	return hook
}
