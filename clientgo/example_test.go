package clientgo_test

import (
	"cmp"
	"context"
	"errors"
	"log"
	"net/http"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/admission"
	"github.com/purekube/purekube/admission/webhook"
	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/ttl"
)

// A whole program: it runs two controllers, one replica at a time, until it is told to end.
func Example() {
	main := func() {
		config, err := rest.InClusterConfig()
		if err != nil {
			log.Fatal(err)
		}
		ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer cancel()
		if err := runTwo(ctx, config); err != nil {
			log.Fatal(err)
		}
	}
	_ = main
}

// runTwo runs the controllers of ServiceCIDRs and PodDisruptionBudgets while this replica has the Lease.
func runTwo(ctx context.Context, config *rest.Config) error {
	return clientgo.New(config, clientgo.SetOptions{
		Controllers: []string{"servicecidr", "disruption"},
		Component:   "my-controllers",
		Lease:       &clientgo.Lease{Namespace: "my-namespace", Name: "my-controllers"},
	}).Run(ctx)
}

// decide returns a handler for reviews and for readiness checks. Start the factory afterwards.
func decide(factory informers.SharedInformerFactory, client kubernetes.Interface, o admission.Options) (http.Handler, error) {
	handler, err := clientgo.NewWebhook(clientgo.FromFactory(factory), client, o, webhook.Options{})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /validate", handler)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := handler.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	return mux, nil
}

// careful are hooks that leave a namespace out, keep node TTLs as they are on Sundays, and count what is sent.
func careful(now func() time.Time, sent *atomic.Int64) clientgo.Hooks {
	return clientgo.Hooks{
		Filter: func(controller string, key purekube.Key) bool { return key.Namespace != "kube-system" },
		BeforeSend: func(_ context.Context, a clientgo.Sending) error {
			if _, ok := a.Action.(ttl.SetTTL); ok && now().Weekday() == time.Sunday {
				return errors.New("not on a Sunday")
			}
			a.Request.FieldManager = cmp.Or(a.Request.FieldManager, "my-controllers")
			return nil
		},
		OnAction: func(r clientgo.ActionResult) {
			if r.Err == nil {
				sent.Add(1)
			}
		},
	}
}
