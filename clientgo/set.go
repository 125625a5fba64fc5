package clientgo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"

	"github.com/purekube/purekube"
)

// SetOptions are what [New] needs.
type SetOptions struct {
	PackageOptions
	// Controllers are the names of those to run: see [Names]. There must be one.
	Controllers []string
	// Component is the name in events and in the user agent of requests; empty is "purekube".
	Component string
	// QPS and Burst limit the requests of each client: the informers, the events, and the writes of each controller have
	// one. LookupQPS limits the lookups of each controller. 0 is 50, 100 and 50.
	QPS       float32
	Burst     int
	LookupQPS float32
	// PodGroups is the version of PodGroups in scheduling.k8s.io that the API server serves, for example "v1beta1". It is
	// required with ResourceClaim.PodGroupOf: see [PodGroups].
	PodGroups string
	// Workers is how many plans each controller makes at the same time; 0 is 4.
	Workers int
	// DryRun logs requests and events, and sends none.
	DryRun bool
	// Lease lets one of several replicas work at a time. Nil, or with DryRun: this process is the only one.
	Lease *Lease
	// Hooks add behaviour of your own.
	Hooks Hooks
}

// Set is several controllers that share informers.
type Set struct {
	controllers []Runner
	factory     informers.SharedInformerFactory
	podGroups   dynamicinformer.DynamicSharedInformerFactory
	events      record.EventBroadcaster
	recorder    record.EventRecorder
	record      func(context.Context) // starts recording events
	lease       *elected              // or nil
	err         error

	stopped      chan struct{}
	stop         func()
	ran, working atomic.Bool
}

var errSetRanBefore = errors.New("a Set runs once")

// New returns controllers for the API server of this configuration. It makes no request. What is wrong with the options
// is the error of Err and of Run.
func New(config *rest.Config, o SetOptions) *Set {
	s := &Set{stopped: make(chan struct{})}
	s.stop = sync.OnceFunc(func() { close(s.stopped) })
	s.err = s.connect(config, o)
	return s
}

func (s *Set) connect(config *rest.Config, o SetOptions) error {
	if len(o.Controllers) == 0 {
		return fmt.Errorf("no controllers to run: there are %s", strings.Join(Names(), ", "))
	}
	if config == nil {
		return errNoConfig
	}
	config = rest.CopyConfig(config)
	config.RateLimiter = nil // it would be one for all clients
	config.UserAgent, config.QPS, config.Burst = cmp.Or(o.Component, "purekube"), cmp.Or(o.QPS, 50), cmp.Or(o.Burst, 100)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	// Each client has a rate of its own: events must not use up the rate of the informers.
	recording, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	s.factory = informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTransform(trim), informers.WithTweakListOptions(listsOfNow))
	reads, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	s.podGroups = dynamicinformer.NewFilteredDynamicSharedInformerFactory(reads, 0, metav1.NamespaceAll, listsOfNow)
	s.record = func(ctx context.Context) { // the broadcaster has a goroutine of its own
		s.events = record.NewBroadcaster()
		s.recorder = s.events.NewRecorder(scheme.Scheme, corev1.EventSource{Component: config.UserAgent})
		if o.DryRun {
			s.events.StartLogging(func(format string, args ...any) {
				klog.FromContext(ctx).Info("Would record: " + fmt.Sprintf(format, args...))
			})
		} else {
			s.events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: recording.CoreV1().Events("")})
		}
	}
	if o.Lease != nil && !o.DryRun { // a dry run writes nothing, not even a Lease
		if s.lease, err = o.Lease.elector(config); err != nil {
			return err
		}
	}
	for i, name := range o.Controllers {
		if slices.Contains(o.Controllers[:i], name) {
			return fmt.Errorf("the controller %s is named twice", name)
		}
		writing := rest.CopyConfig(config)
		if s.lease != nil { // a request waits for the rate of its client, and may read a template first
			writing.Wrap(s.lease.checked)
		}
		writes, err := NewExecutor(writing)
		if err != nil {
			return err
		}
		reading := rest.CopyConfig(config)
		reading.QPS = cmp.Or(o.LookupQPS, 50)
		reading.Burst, reading.Timeout = max(1, int(reading.QPS)), callTimeout // discovery takes no context
		lookup, err := NewLookup(reading)
		if err != nil {
			return err
		}
		c := Cluster{
			Informers: FromFactory(s.factory), Client: writes, Lookup: lookup, ServiceCIDRs: ListServiceCIDRs(client),
			Record:  func(e purekube.Event) { RecordTo(s.recorder)(e) }, // there is none before Run
			Workers: o.Workers, Hooks: o.Hooks,
		}
		if o.DryRun {
			c.Client = DryRun{}
		}
		if o.PodGroups != "" && name == "resourceclaim" {
			c.PodGroups = &PodGroups{o.PodGroups, s.podGroups.ForResource(PodGroupsOf(o.PodGroups)).Informer()}
		}
		controller, err := NewRunner(name, c, o.PackageOptions)
		if err != nil {
			return err
		}
		s.controllers = append(s.controllers, controller)
	}
	return nil
}

// Err is what is wrong with the options.
func (s *Set) Err() error { return s.err }

// Unsynced are the names of the controllers that have not seen every object yet: a readiness check fails while there
// are any. There are none while this replica waits for its Lease: it has no informers then, and nothing to see.
func (s *Set) Unsynced() []string {
	var names []string
	for _, c := range s.controllers {
		if s.working.Load() && !c.HasSynced() {
			names = append(names, c.Name())
		}
	}
	return names
}

// Stop lets no new plan begin. Run returns when the plans under way are finished.
func (s *Set) Stop() {
	s.stop()
	for _, c := range s.controllers {
		c.Stop()
	}
}

// Run runs the controllers until ctx is done, or while it has the Lease. Calls under way end with ctx; Stop lets them
// finish. Run it once and, without a Lease, only while no other replica runs.
//
// The informers start with the Lease: a replica knows only what it listed while it led. When the Lease is lost, Run
// returns [ErrLeaseLost], and when etcd was restored from a backup, [ErrRestored]. Then end the process: a leader has
// to begin with empty caches.
func (s *Set) Run(ctx context.Context) error {
	if s.err != nil {
		return s.err
	}
	if s.ran.Swap(true) {
		return errSetRanBefore
	}
	if s.lease != nil {
		return s.lease.lead(ctx, s.stopped, s.work)
	}
	return s.work(ctx)
}

// work runs the informers and the controllers.
func (s *Set) work(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	s.record(ctx)
	defer s.events.Shutdown()
	s.factory.Start(ctx.Done())
	defer s.factory.Shutdown()
	s.podGroups.Start(ctx.Done())
	defer s.podGroups.Shutdown()
	defer end()
	s.working.Store(true)
	failed := make([]error, len(s.controllers))
	var running sync.WaitGroup
	for i, c := range s.controllers {
		running.Go(func() {
			if failed[i] = c.Run(ctx); failed[i] != nil {
				end() // all of them, or none
			}
		})
	}
	running.Wait()
	return errors.Join(failed...)
}

// trim removes the managedFields of an object, which take the most memory. No plan reads them. Previews of package
// rbacaggregate under MatchUpstream do (D-20): for them, ClusterRoles without managedFields may keep their rules, which
// is the careful answer.
func trim(object any) (any, error) {
	if o, ok := object.(interface {
		SetManagedFields([]metav1.ManagedFieldsEntry)
	}); ok {
		o.SetManagedFields(nil)
	}
	return object, nil
}
