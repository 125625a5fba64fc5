package e2e

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/purekube/purekube/admission"
	serving "github.com/purekube/purekube/admission/webhook"
	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/internal/test/e2e/cluster"
	"github.com/purekube/purekube/internal/test/reviews"
)

// A webhook whose watches hang sees the address of a Service that came afterwards: it lists for the review. Where the API
// server does not list, the deletion is refused.
func TestWebhookWhoseWatchesHang(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.start(t, clientGo, "manager", w.Endpoint(), clientGo.alone...) // makes ServiceCIDRs ready
	ns := w.namespace(t, "shop")
	w.createServiceCIDR(t, "late", "10.33.0.0/28")
	p := newProxy(t, w)
	through := w.Config(cluster.Admin)
	through.Host, through.CAFile = p.URL, p.CAFile
	client, err := kubernetes.NewForConfig(through)
	require.NoError(t, err)
	factory := informers.NewSharedInformerFactory(client, 0)
	hook, err := clientgo.NewWebhook(clientgo.FromFactory(factory), client, admission.Options{}, serving.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	factory.Start(t.Context().Done())
	eventually(t, patience, "the webhook is ready", func(context.Context) error { return hook.Ready() })

	inject := func(lists fault) {
		p.set(func(r *http.Request) fault { // called with the proxy locked
			if isWatch(r) {
				return hanging
			}
			return lists
		})
	}
	inject(none)
	p.cut()
	deletion := reviews.DeletesCIDR("late", "10.33.0.0/28")
	require.True(t, ask(t, hook, deletion).Allowed)
	w.createService(t, ns, "web", "10.33.0.5")
	answer := ask(t, hook, deletion)
	require.False(t, answer.Allowed)
	require.Contains(t, answer.Result.Message, "10.33.0.5 (Service shop/web)")

	free := reviews.DeletesCIDR("free", "10.34.0.0/28")
	require.True(t, ask(t, hook, free).Allowed)
	inject(internal)
	answer = ask(t, hook, free)
	require.False(t, answer.Allowed)
	require.Contains(t, answer.Result.Message, "the review is refused: list IPAddresses: injected")
	inject(disconnected)
	require.False(t, ask(t, hook, free).Allowed)
	m.stop(t)
}

// ask posts a review to the webhook.
func ask(t *testing.T, hook http.Handler, review reviews.Request) *admissionv1.AdmissionResponse {
	t.Helper()
	server := httptest.NewServer(hook)
	defer server.Close()
	code, answer, text := reviews.Post(t, server.Client(), server.URL+"/validate?timeout=10s", review.Body(t, "v1"))
	require.Equal(t, http.StatusOK, code, text)
	return answer.Response
}
