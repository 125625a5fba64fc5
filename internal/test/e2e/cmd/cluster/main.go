// Command cluster runs an API server with its etcd until it is interrupted, and writes a kubeconfig for it. It has no
// nodes and no controllers.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/purekube/purekube/internal/test/e2e/cluster"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "kubeconfig", "`file` to write")
	bin := flag.String("bin", cluster.Binaries(), "`folder` with etcd and kube-apiserver, which build.sh makes")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, *bin, *kubeconfig); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, bin, kubeconfig string) error {
	folder, err := os.MkdirTemp("", "cluster")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	c, err := cluster.Start(bin, folder)
	if err != nil {
		return err
	}
	written, err := c.Kubeconfig(cluster.Admin, c.Endpoint())
	if err == nil {
		var content []byte
		if content, err = os.ReadFile(written); err == nil {
			err = os.WriteFile(kubeconfig, content, 0o600)
		}
	}
	if err != nil {
		return fmt.Errorf("%w, %w", err, c.Stop())
	}
	fmt.Printf("An API server is at %s; its kubeconfig is %s\n", c.URL, kubeconfig)
	<-ctx.Done()
	return c.Stop()
}
