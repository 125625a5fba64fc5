package main

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // registers the metrics of client-go
	_ "k8s.io/component-base/metrics/prometheus/restclient"
	_ "k8s.io/component-base/metrics/prometheus/workqueue"

	"github.com/purekube/purekube/clientgo"
)

var (
	plans = metrics.NewCounterVec(&metrics.CounterOpts{Name: "purekube_plans_total",
		Help: "Plans made, by controller and result: empty, actions, or error."}, []string{"controller", "result"})
	planSeconds = metrics.NewHistogramVec(&metrics.HistogramOpts{Name: "purekube_plan_duration_seconds", Buckets: metrics.ExponentialBuckets(1e-5, 4, 12),
		Help: "Time to make a plan, without its lookups and actions."}, []string{"controller"})
	actions = metrics.NewCounterVec(&metrics.CounterOpts{Name: "purekube_actions_total",
		Help: "Actions, by controller, kind, and answer: OK, the reason or the HTTP code of the refusal, NoAnswer, or Vetoed."}, []string{"controller", "action", "answer"})
)

func init() { legacyregistry.MustRegister(plans, planSeconds, actions) }

func metricHooks() clientgo.Hooks {
	return clientgo.Hooks{
		OnPlan: func(p clientgo.PlanResult) {
			result := map[bool]string{true: "actions", false: "empty"}[p.Actions > 0]
			if p.Err != nil {
				result = "error"
			}
			plans.WithLabelValues(p.Controller, result).Inc()
			planSeconds.WithLabelValues(p.Controller).Observe(p.Took.Seconds())
		},
		OnAction: func(a clientgo.ActionResult) {
			actions.WithLabelValues(a.Controller, a.Action.Type(), a.Answer()).Inc()
		},
	}
}

// serve answers for the manager's health and metrics at the address, and returns at once.
func serve(address string, unsynced func() []string) (*http.Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", legacyregistry.Handler())
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if names := unsynced(); len(names) > 0 {
			http.Error(w, strings.Join(names, ", ")+": not all objects are listed yet", http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			slog.Error("No health and metrics any more", "error", err)
		}
	}()
	slog.Info("Serving health and metrics", "address", listener.Addr().String())
	return server, nil
}
