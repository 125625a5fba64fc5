package main

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // registers the metrics of client-go
	_ "k8s.io/component-base/metrics/prometheus/restclient"
	_ "k8s.io/component-base/metrics/prometheus/workqueue"
)

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
			slog.Error("Health and metrics are no longer served", "error", err)
		}
	}()
	slog.Info("Serving health and metrics", "address", listener.Addr().String())
	return server, nil
}
