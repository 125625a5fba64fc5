package controllerruntime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/clientgo/metrics"
)

var (
	errNoManager = errors.New("no manager")
	errOwnLease  = errors.New("a Lease in the options: the manager elects the leader")
)

// Add adds the controllers that o.Controllers names: see [clientgo.Names]. They share informers of their own, which
// start when the manager leads. They do not read the manager's cache. Without o.QPS, requests have the rate of the
// manager's configuration. With o.DryRun they need no Lease. The manager's registry has the metrics of package
// clientgo/metrics then.
func Add(mgr manager.Manager, o clientgo.SetOptions) error {
	name := "purekube-" + strings.Join(o.Controllers, "-")
	switch {
	case mgr == nil:
		return fmt.Errorf("%s: %w", name, errNoManager)
	case o.Lease != nil:
		return fmt.Errorf("%s: %w", name, errOwnLease)
	}
	config := mgr.GetConfig()
	hooks, err := metrics.Register(ctrlmetrics.Registry, o.Hooks)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	o.QPS, o.Burst, o.Hooks = cmp.Or(o.QPS, config.QPS), cmp.Or(o.Burst, config.Burst), hooks
	set := clientgo.New(config, o)
	if err := set.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := mgr.AddReadyzCheck(name, ready(set.Unsynced)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return mgr.Add(runnable{set, mgr.GetLogger(), !o.DryRun})
}

// ready fails while there are controllers that have not seen every object that was listed at the start.
func ready(unsynced func() []string) func(*http.Request) error {
	return func(*http.Request) error {
		if names := unsynced(); len(names) > 0 {
			return fmt.Errorf("%s: not all objects are listed yet", strings.Join(names, ", "))
		}
		return nil
	}
}

// runnable is a Set as a manager runs it.
type runnable struct {
	set   *clientgo.Set
	log   logr.Logger
	leads bool
}

var _ manager.LeaderElectionRunnable = runnable{}

// NeedLeaderElection makes the manager start the informers and the controllers when it leads.
func (r runnable) NeedLeaderElection() bool { return r.leads }

// Start plans until the manager ends, or loses its Lease. Calls under way end then: another replica may lead already.
func (r runnable) Start(ctx context.Context) error { return r.set.Run(logr.NewContext(ctx, r.log)) }
