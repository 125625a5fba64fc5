// Command manager runs the packages of purekube as controllers, in the place of the controllers of
// kube-controller-manager that they mirror: flags, a Lease, metrics and health around package clientgo.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/clientgo/metrics"
)

// component is the manager's name in events, requests and the Lease.
const component = "purekube-manager"

func main() {
	s, err := parseSettings(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2) // the reason has been printed
	}
	s.setUpLogging(os.Stderr)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, s); err != nil {
		slog.Error("Ended", "error", err)
		os.Exit(1)
	}
	slog.Info("Ended")
}

// run is the manager's life, until ctx is done.
func run(ctx context.Context, s settings) error {
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	if err != nil {
		return err
	}
	if s.Hooks, err = metrics.Register(legacyregistry.Registerer(), clientgo.Hooks{}); err != nil {
		return err
	}
	controllers := clientgo.New(config, s.SetOptions)
	serving, err := serve(s.address, controllers.Unsynced)
	if err != nil {
		return err
	}
	defer func() { _ = serving.Close() }()           // the process ends
	defer context.AfterFunc(ctx, controllers.Stop)() // plans under way are finished
	return controllers.Run(context.WithoutCancel(ctx))
}
