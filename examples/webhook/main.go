// Webhook is an admission webhook that says no before the controllers would have to live with it:
//
//   - to the deletion of a ServiceCIDR that would leave addresses without a range. It names their Services.
//   - to a write of a ClusterRole that may give a protected one a rule outside an allow-list, even for a moment.
//   - to an eviction that a budget does not allow. The budget's status is computed again for each decision.
//   - to a budget that could never allow a disruption; or it warns of it.
//
// It keeps the objects that it decides by in indexes, which list and watch keep up to date. A decision makes no
// call. What cannot be decided, or not in time, is refused. docs/webhook.md says what that means for each kind
// of review, and which failurePolicy to set.
//
// In a pod:
//
//	webhook -protect protected.yaml -tls-cert tls.crt -tls-key tls.key
//
// To try it, behind kubectl proxy:
//
//	kubectl proxy &
//	webhook -api http://127.0.0.1:8001 -listen 127.0.0.1:8080 -protect protected.yaml
package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/admission/memory"
	"github.com/purekube/purekube/admission/webhook"
)

// A pod finds the API server by this name, and its service account in this folder.
const (
	inCluster      = "https://kubernetes.default.svc"
	serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], slog.Default()); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "webhook: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, log *slog.Logger) error {
	flags := flag.NewFlagSet("webhook", flag.ContinueOnError)
	listen := flags.String("listen", ":8443", "`address` to serve on")
	cert := flags.String("tls-cert", "", "`file` with the certificate; an API server calls webhooks by TLS only")
	key := flags.String("tls-key", "", "`file` with the key of the certificate")
	api := flags.String("api", inCluster, "`URL` of the API server")
	tokenFile := flags.String("token-file", "", "`file` with a bearer token for the API server (default: in a pod, the service account's)")
	caFile := flags.String("ca-file", "", "`file` with the certificates that the API server's is signed by (default: in a pod, the service account's; otherwise the system's)")
	protect := flags.String("protect", "", "YAML `file`: for each protected ClusterRole the rules that it may get")
	budgets := flags.String("budgets", "warn", "what a budget that could never allow a disruption gets: warn or `refuse`")
	maxReview := flags.Int64("max-review", webhook.MaxBody, "`bytes` of a review; a larger one gets 413, so that the failurePolicy decides")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *api == inCluster {
		*tokenFile = cmp.Or(*tokenFile, serviceAccount+"token")
		*caFile = cmp.Or(*caFile, serviceAccount+"ca.crt")
	}
	if (*cert == "") != (*key == "") {
		return errors.New("-tls-cert and -tls-key go together")
	}
	var decide admission.Options
	switch *budgets {
	case "warn":
	case "refuse":
		decide.Budgets.Refuse = true
	default:
		return fmt.Errorf("-budgets %q: warn or refuse", *budgets)
	}
	if *protect != "" {
		text, err := os.ReadFile(*protect)
		if err != nil {
			return err
		}
		if decide.ClusterRoles.Allowed, err = readProtected(text); err != nil {
			return fmt.Errorf("%s: %w", *protect, err)
		}
	}
	client, err := newClient(strings.TrimSuffix(*api, "/"), *tokenFile, *caFile)
	if err != nil && *api == inCluster {
		return fmt.Errorf("%w (outside of a pod, -api is needed)", err)
	}
	if err != nil {
		return err
	}

	store := memory.NewStore(memory.Options{AssumeServiceCIDRFor: assumeServiceCIDRFor})
	watcher := &watcher{client: client, store: store, log: log}
	go watcher.run(ctx)

	server := &http.Server{
		Addr:              *listen,
		Handler:           newHandler(store, watcher.synced, decide, webhook.Options{MaxBody: *maxReview, Log: log}),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       webhook.MaxTimeout,
		WriteTimeout:      webhook.MaxTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    1 << 16,
	}
	if *cert != "" {
		renewed, err := loadCertificate(*cert, *key, log)
		if err != nil {
			return err
		}
		server.TLSConfig = &tls.Config{GetCertificate: renewed.get, MinVersion: tls.VersionTLS12}
	}
	failed := make(chan error, 1)
	go func() {
		log.Info("serving", "address", *listen, "tls", *cert != "")
		if *cert == "" {
			failed <- server.ListenAndServe()
			return
		}
		failed <- server.ListenAndServeTLS("", "")
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		// Reviews that have begun are answered.
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return server.Shutdown(last)
	}
}

// newHandler serves reviews, and says whether the process lives and whether it can decide.
func newHandler(store *memory.Store, synced func() bool, o admission.Options, w webhook.Options) http.Handler {
	// Evictions and budgets that cannot be computed are left to the API server's own checks.
	o.Evictions.AllowUnknown, o.Budgets.AllowUnknown = true, true
	mux := http.NewServeMux()
	mux.Handle("POST /validate", webhook.New(func(r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		return store.Review(r, synced(), time.Now(), o)
	}, w))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !synced() {
			http.Error(w, "the objects are not listed yet, or not watched any more", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}
