// Command webhook is an admission webhook that refuses what the controllers would otherwise have to live with:
//
//   - the deletion of a ServiceCIDR that would leave addresses without a range. It names their Services.
//   - a write of a ClusterRole that may give a protected ClusterRole a rule outside an allow-list, even for a moment.
//   - an eviction that a budget does not allow. The budget's status is computed again for each decision.
//   - a budget that could never allow a disruption; or it warns of it.
//
// It is a manager of controller-runtime without controllers. The manager serves by TLS, reads a renewed certificate
// again and answers readiness checks. docs/webhook.md says what to give it.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	serving "sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"
	//nolint:staticcheck // the package is deprecated for one that would be a further requirement
	goyaml "sigs.k8s.io/yaml/goyaml.v2"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/admission/webhook"
	purekube "github.com/purekube/purekube/controllerruntime"
)

func main() {
	port := flag.Int("port", 8443, "`port` of /validate, on all addresses")
	certs := flag.String("certs", "certs", "`folder` with tls.crt and tls.key")
	health := flag.String("health-address", ":8081", "`address` of /healthz and /readyz")
	protect := flag.String("protect", "", "YAML `file`: for each protected ClusterRole the rules that it may get")
	refuse := flag.Bool("refuse-budgets", false,
		"refuse a budget that could never allow a disruption, in place of a warning")
	flag.Parse()
	ctrl.SetLogger(logr.FromSlogHandler(slog.Default().Handler()))
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		WebhookServer: serving.NewServer(serving.Options{Port: *port, CertDir: *certs}),
		Metrics:       server.Options{BindAddress: "0"}, HealthProbeBindAddress: *health,
	})
	if err == nil {
		err = addWebhook(mgr, *protect, *refuse)
	}
	if err == nil {
		err = mgr.Start(ctrl.SetupSignalHandler())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "webhook: %v\n", err)
		os.Exit(1)
	}
}

// addWebhook lets the manager's webhook server answer reviews. Evictions and budgets that cannot be computed are left
// to the API server's own checks.
func addWebhook(mgr ctrl.Manager, protect string, refuse bool) error {
	o := admission.Options{
		Evictions: admission.EvictionOptions{AllowUnknown: true},
		Budgets:   admission.BudgetOptions{Refuse: refuse, AllowUnknown: true},
	}
	if protect != "" {
		text, err := os.ReadFile(protect)
		if err != nil {
			return err
		}
		if o.ClusterRoles.Allowed, err = readProtected(text); err != nil {
			return fmt.Errorf("%s: %w", protect, err)
		}
	}
	if err := mgr.AddHealthzCheck("serving", mgr.GetWebhookServer().StartedChecker()); err != nil {
		return err
	}
	return purekube.AddWebhook(mgr, "/validate", o, webhook.Options{})
}

// readProtected reads a map from the names of ClusterRoles to lists of rules.
func readProtected(text []byte) (map[string][]rbacv1.PolicyRule, error) {
	rules := map[string][]rbacv1.PolicyRule{}
	if err := yaml.UnmarshalStrict(text, &rules); err != nil {
		return nil, err
	}
	documents := goyaml.NewDecoder(bytes.NewReader(text)) // UnmarshalStrict reads the first one only
	if _, more := documents.Decode(new(any)), documents.Decode(new(any)); !errors.Is(more, io.EOF) {
		return nil, errors.New("more than one YAML document in it")
	}
	if len(rules) == 0 {
		return nil, errors.New("no ClusterRole in it")
	}
	return rules, nil
}
