package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/clientgo"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// AddServiceCIDR adds the controller of ServiceCIDRs. It reads ServiceCIDRs and IPAddresses.
func AddServiceCIDR(mgr manager.Manager, o servicecidr.Options, options ...Option) error {
	return add(mgr, "servicecidr", options, func(c clientgo.Cluster) (clientgo.Runner, error) { return clientgo.NewServiceCIDR(c, o) })
}

// AddResourceClaim adds the controller of ResourceClaims. It reads Pods, ResourceClaims and ResourceClaimTemplates, and looks
// up pods and claims that the cache does not show. With Options.PodGroupOf it reads PodGroups, too, in the version of
// [WithPodGroups], without which it returns [clientgo.ErrPodGroups].
func AddResourceClaim(mgr manager.Manager, o resourceclaim.Options, options ...Option) error {
	return add(mgr, "resourceclaim", options, func(c clientgo.Cluster) (clientgo.Runner, error) { return clientgo.NewResourceClaim(c, o) })
}

// AddTTL adds the controller of the TTL annotation of Nodes. It reads Nodes.
func AddTTL(mgr manager.Manager, o ttl.Options, options ...Option) error {
	return add(mgr, "ttl", options, func(c clientgo.Cluster) (clientgo.Runner, error) { return clientgo.NewTTL(c, o) })
}

// AddRBACAggregate adds the controller of aggregated ClusterRoles. It reads ClusterRoles.
func AddRBACAggregate(mgr manager.Manager, o rbacaggregate.Options, options ...Option) error {
	return add(mgr, "rbacaggregate", options, func(c clientgo.Cluster) (clientgo.Runner, error) { return clientgo.NewRBACAggregate(c, o) })
}

// AddDisruption adds the controller of PodDisruptionBudgets and of the pods' condition DisruptionTarget. It reads
// PodDisruptionBudgets, Pods, ReplicationControllers, ReplicaSets, Deployments and StatefulSets, and looks up the scale of
// whatever else controls pods.
func AddDisruption(mgr manager.Manager, o disruption.Options, options ...Option) error {
	return add(mgr, "disruption", options, func(c clientgo.Cluster) (clientgo.Runner, error) { return clientgo.NewDisruption(c, o) })
}

// Option changes how a controller is run.
type Option func(*settings)

type settings struct {
	hooks   clientgo.Hooks
	workers int
	dryRun  bool
	// podGroups is the version of PodGroups, or empty.
	podGroups string
}

// WithHooks adds behaviour of your own: filter what is planned, change or veto an action before it is sent, observe
// results.
func WithHooks(h clientgo.Hooks) Option { return func(s *settings) { s.hooks = h } }

// WithWorkers sets how many plans the controller makes at the same time. The default is 4.
func WithWorkers(n int) Option { return func(s *settings) { s.workers = n } }

// WithDryRun logs requests and events, and sends none. The controller then needs no Lease.
func WithDryRun() Option { return func(s *settings) { s.dryRun = true } }

// WithPodGroups says in which version of scheduling.k8s.io the API server has PodGroups, for example "v1beta1". It is for
// [AddResourceClaim] with Options.PodGroupOf: see [clientgo.PodGroups].
func WithPodGroups(version string) Option { return func(s *settings) { s.podGroups = version } }

const (
	// lookupQPS limits the lookups of a controller, so that they do not use up the rate of its writes.
	lookupQPS = 50
	// lookupTimeout is for one request of a lookup: discovery takes no context.
	lookupTimeout = 10 * time.Second
)

var errNoManager = errors.New("no manager")

// add connects one controller with the manager.
func add(mgr manager.Manager, name string, options []Option, construct func(clientgo.Cluster) (clientgo.Runner, error)) error {
	if mgr == nil {
		return fmt.Errorf("%s: %w", name, errNoManager)
	}
	var s settings
	for _, o := range options {
		o(&s)
	}
	cluster, err := s.cluster(mgr, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	runner, err := construct(cluster)
	if err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("purekube-"+name, ready(runner)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return mgr.Add(runnable{runner, mgr.GetLogger(), !s.dryRun})
}

// cluster is what the controller works with. Each has clients with rates of its own, so that one cannot starve another.
func (s settings) cluster(mgr manager.Manager, name string) (clientgo.Cluster, error) {
	writes, err := clientgo.NewExecutor(mgr.GetConfig())
	if err != nil {
		return clientgo.Cluster{}, err
	}
	reading := rest.CopyConfig(mgr.GetConfig())
	reading.QPS, reading.Burst, reading.RateLimiter, reading.Timeout = lookupQPS, lookupQPS, nil, lookupTimeout
	lookup, err := clientgo.NewLookup(reading)
	if err != nil {
		return clientgo.Cluster{}, err
	}
	client, err := versions(mgr)
	if err != nil {
		return clientgo.Cluster{}, err
	}
	c := clientgo.Cluster{
		Informers: informers(mgr), Client: writes, Lookup: lookup, Metadata: client, Record: record(mgr, name), Workers: s.workers,
		Hooks: measured(s.hooks),
	}
	if s.podGroups != "" {
		kind := &unstructured.Unstructured{}
		kind.SetGroupVersionKind(clientgo.PodGroupsOf(s.podGroups).GroupVersion().WithKind("PodGroup"))
		informer, err := c.Informers(kind)
		if err != nil {
			return clientgo.Cluster{}, err
		}
		c.PodGroups = &clientgo.PodGroups{Version: s.podGroups, Informer: informer}
	}
	if s.dryRun {
		log := mgr.GetLogger()
		c.Client = clientgo.DryRun{}
		c.Record = func(e purekube.Event) {
			log.Info("Would record", "controller", name, "regarding", e.Regarding, "type", e.Type, "reason", e.Reason, "message", e.Message)
		}
	}
	return c, nil
}

// informers are the informers of the manager's cache.
func informers(mgr manager.Manager) clientgo.Informers {
	return func(o runtime.Object) (clientgo.Informer, error) {
		object, ok := o.(client.Object)
		if !ok {
			return nil, fmt.Errorf("no informer for a %T", o)
		}
		return mgr.GetCache().GetInformer(context.Background(), object, cache.BlockUntilSynced(false))
	}
}

// record sends events to the manager's recorder.
func record(mgr manager.Manager, name string) func(purekube.Event) {
	recorder := mgr.GetEventRecorder("purekube-" + name)
	return func(e purekube.Event) {
		recorder.Eventf(&e.Regarding, nil, e.Type, e.Reason, "Plan", "%s", message.Event(e.Message))
	}
}

// ready fails until the controller has seen every object that was listed at the start, whether the manager leads or not.
func ready(r clientgo.Runner) func(*http.Request) error {
	return func(*http.Request) error {
		if !r.HasSynced() {
			return fmt.Errorf("%s has not seen every object yet", r.Name())
		}
		return nil
	}
}

// runnable is a controller as a manager runs it.
type runnable struct {
	clientgo.Runner
	log   logr.Logger
	leads bool
}

// NeedLeaderElection makes the manager run the controller only while it leads.
func (r runnable) NeedLeaderElection() bool { return r.leads }

// Start plans until the manager ends, or loses its Lease. Calls under way end then: another replica may lead already.
func (r runnable) Start(ctx context.Context) error { return r.Run(logr.NewContext(ctx, r.log)) }
