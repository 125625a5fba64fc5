package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

var errLeaseLost = errors.New("the Lease is lost: another manager may be at work")

// lead calls work once this manager holds the Lease. When ctx is done, work ends what it is at, and
// only then may another manager have the Lease. When the Lease is lost, work's own context ends.
func lead(ctx context.Context, config *rest.Config, s settings, work func(ctx context.Context, stop <-chan struct{})) error {
	leading := make(chan context.Context, 1)
	elector, err := newElector(config, s, func(ctx context.Context) { leading <- ctx })
	if err != nil {
		return err
	}
	electing, release := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(electing)
	}()
	defer func() {
		release()
		<-ended
	}()

	select {
	case <-ctx.Done():
		return nil
	case holding := <-leading:
		slog.Info("Leading")
		stopping, cancel := context.WithCancel(holding)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		work(holding, stopping.Done())
		if ctx.Err() == nil {
			return errLeaseLost
		}
		return nil
	}
}

func newElector(config *rest.Config, s settings, started func(context.Context)) (*leaderelection.LeaderElector, error) {
	// A client of its own: the Lease must not wait behind the requests of plans.
	config = rest.CopyConfig(config)
	config.Timeout = s.renewDeadline / 2
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	return leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: component,
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: s.leaseNamespace, Name: component},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
		},
		LeaseDuration:   s.leaseDuration,
		RenewDeadline:   s.renewDeadline,
		RetryPeriod:     s.retryPeriod,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: started,
			OnStoppedLeading: func() {}, // Run returns then, too
			OnNewLeader:      func(identity string) { slog.Info("The leader is", "identity", identity) },
		},
	})
}
