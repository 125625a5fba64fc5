package main

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/purekube/purekube/examples/manager/cores"
)

// serve answers for the manager's health at the address, and returns at once.
func serve(address string, controllers []cores.Runner) (*http.Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", legacyregistry.Handler())
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		for _, c := range controllers {
			if !c.HasSynced() {
				http.Error(w, c.Name()+" has not listed all objects yet", http.StatusServiceUnavailable)
			}
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
