package controllerruntime_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/purekube/purekube/admission"
	decisions "github.com/purekube/purekube/admission/webhook"
	"github.com/purekube/purekube/controllerruntime"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/internal/test/reviews"
	"github.com/purekube/purekube/purekubetest"
)

// The controllers of docs/controller.md do their work.
func TestControllersOfThePage(t *testing.T) {
	cidr := purekubetest.ServiceCIDR("services", "10.96.0.0/24")
	cidr.Finalizers = nil
	objects := []apiserver.Object{cidr, purekubetest.MaxUnavailable("shop/web", "1")}
	for _, o := range purekubetest.Deployment("shop/web", 2).Objects() {
		objects = append(objects, o)
	}
	ctx := t.Context()
	mgr := controllerruntime.Play(t, manager.Options{}, addTwo, objects...)
	require.Eventually(t, func() bool {
		var cidrs networkingv1.ServiceCIDRList
		var budgets policyv1.PodDisruptionBudgetList
		reads := mgr.GetAPIReader()
		return reads.List(ctx, &cidrs) == nil && reads.List(ctx, &budgets) == nil &&
			len(cidrs.Items[0].Finalizers) == 1 && budgets.Items[0].Status.DisruptionsAllowed == 1
	}, 30*time.Second, 10*time.Millisecond)
}

// The webhook of docs/webhook.md answers by TLS. It is not ready, and refuses, before it has seen the objects.
func TestWebhookOfThePage(t *testing.T) {
	certified := httptest.NewTLSServer(http.NotFoundHandler())
	defer certified.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address, ok := listener.Addr().(*net.TCPAddr)
	require.True(t, ok)
	require.NoError(t, listener.Close())
	server := webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: address.Port, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
		c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certified.TLS.Certificates[0], nil }
	}}})
	var objects []apiserver.Object
	for _, o := range reviews.Cluster() {
		object, ok := o.(apiserver.Object)
		require.True(t, ok)
		objects = append(objects, object)
	}
	checks := &checks{at: map[string]healthz.Checker{}}
	controllerruntime.Play(t, manager.Options{WebhookServer: server}, func(mgr manager.Manager) error {
		checks.Manager = mgr
		err := addWebhook(checks)
		require.Error(t, checks.at["purekube-webhook"](nil), "nothing was listed yet")
		return err
	}, objects...)
	url := "https://" + address.String() + "/validate?timeout=10s"
	require.Eventually(t, func() bool { return checks.at["purekube-webhook"](nil) == nil && server.StartedChecker()(nil) == nil }, 30*time.Second, 10*time.Millisecond)
	secrets := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}}
	for _, tc := range []struct {
		name, reason string
		request      reviews.Request
		allowed      bool
		message      string
	}{
		{"used", "its addresses would have no range", reviews.DeletesCIDR("used", "10.96.0.0/24"), false, "10.96.0.7 (Service shop/web)"},
		{"free", "no address is in it", reviews.DeletesCIDR("free", "10.97.0.0/24"), true, ""},
		{"secrets for view", "the allow-list does not have them", reviews.WritesRole(nil, reviews.Role("team", "to-view", secrets)), false, "ClusterRole view"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, review, text := reviews.Post(t, certified.Client(), url, tc.request.Body(t, "v1"))
			require.Equal(t, http.StatusOK, code, text)
			require.Equal(t, tc.allowed, review.Response.Allowed, "%s: %s", tc.reason, text)
			require.Contains(t, text, tc.message)
		})
	}
}

// checks is a manager whose readiness checks a test can call.
type checks struct {
	manager.Manager
	at map[string]healthz.Checker
}

func (c *checks) AddReadyzCheck(name string, check healthz.Checker) error {
	c.at[name] = check
	return nil
}

func TestAddWebhookWithoutAManager(t *testing.T) {
	require.ErrorContains(t, controllerruntime.AddWebhook(nil, "/validate", admission.Options{}, decisions.Options{}), "purekube-webhook: no manager")
}
