package clientgo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// Lease lets one of several replicas work at a time. All replicas of a cluster need the same Namespace and Name.
//
// A replica that loses the Lease cuts its requests off. They may still take effect, so the Lease is given up only where
// the API server has answered all requests, as after [Set.Stop]: otherwise the next leader waits for the whole
// Duration.
//
// A replica whose process was stopped for a while, or whose renewals hang, sends no request later than RenewDeadline
// after the last renewal: each request is checked when it is sent. So two replicas overlap by one request in flight at
// most, as long as Duration is longer than RenewDeadline and a request, and their clocks run at the same speed. The
// time for which a virtual machine is suspended does not count on all systems.
type Lease struct {
	Namespace, Name string
	// Duration is how long another replica waits after the last renewal, RenewDeadline how long the leader works without
	// one, and RetryPeriod the pause between attempts. 0 is 15, 10 and 2 seconds.
	Duration, RenewDeadline, RetryPeriod time.Duration
}

// ErrLeaseLost is the error of Set.Run where another replica may be at work.
var ErrLeaseLost = errors.New("the Lease is lost: another replica may be at work")

var errUnnamedLease = errors.New("a Lease needs a Namespace and a Name")

// elected is a Lease and what has it.
type elected struct {
	*leaderelection.LeaderElector
	leading chan context.Context
	renewed *renewals
	// deadline is for how long after a renewal requests are sent, and duration how long another replica waits.
	deadline, duration time.Duration
	// unanswered is when the last request ended without an answer, or with a server error: it may still take effect.
	unanswered atomic.Pointer[time.Time]
}

// renewals is the lock of a Lease that remembers when it was written last. LeaderElector.Check would read a time that
// another goroutine writes.
type renewals struct {
	resourcelock.Interface
	last atomic.Pointer[time.Time] // from before the call
}

func (r *renewals) Create(ctx context.Context, l resourcelock.LeaderElectionRecord) error {
	return r.note(l, func() error { return r.Interface.Create(ctx, l) })
}

func (r *renewals) Update(ctx context.Context, l resourcelock.LeaderElectionRecord) error {
	return r.note(l, func() error { return r.Interface.Update(ctx, l) })
}

// note makes the call. To give the Lease up is no renewal.
func (r *renewals) note(l resourcelock.LeaderElectionRecord, call func() error) error {
	before := time.Now()
	err := call()
	if err == nil && l.HolderIdentity == r.Identity() {
		r.last.Store(&before)
	}
	return err
}

func (l Lease) elector(config *rest.Config) (*elected, error) {
	if l.Namespace == "" || l.Name == "" {
		return nil, errUnnamedLease
	}
	duration, renew := cmp.Or(l.Duration, 15*time.Second), cmp.Or(l.RenewDeadline, 10*time.Second)
	// A client of its own, without a rate: the Lease must not wait behind the requests of plans.
	config = rest.CopyConfig(config)
	config.Timeout = renew / 2
	config.QPS, config.RateLimiter = -1, nil
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	e := &elected{leading: make(chan context.Context, 1), deadline: renew, duration: duration}
	e.renewed = &renewals{Interface: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: l.Namespace, Name: l.Name},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}}
	e.LeaderElector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: l.Name, Lock: e.renewed,
		LeaseDuration: duration, RenewDeadline: renew, RetryPeriod: cmp.Or(l.RetryPeriod, 2*time.Second),
		// ReleaseOnCancel would give the Lease up after renewals that failed, before the context of the work ends.
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) { e.leading <- ctx },
			OnStoppedLeading: func() {}, // Run returns then, too
		},
	})
	return e, err
}

// lead works while this replica has the Lease. The context of work ends when the Lease is lost. Another replica
// may have the Lease only when work has ended.
func (e *elected) lead(ctx context.Context, stop <-chan struct{}, work func(context.Context) error) error {
	electing, release := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Run(electing)
	}()
	cutOff := false
	defer func() {
		release()
		<-ended
		last := e.unanswered.Load()
		cutOff = cutOff || last != nil && time.Since(*last) < e.duration
		if e.IsLeader() && !cutOff { // a call that was cut off may still take effect
			e.giveUp(klog.FromContext(ctx))
		}
	}()
	select {
	case <-ctx.Done():
		return nil
	case <-stop:
		return nil
	case holding := <-e.leading:
		klog.FromContext(ctx).Info("Leading")
		working, cancel := context.WithCancel(holding)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		err := work(working)
		cutOff = working.Err() != nil || err != nil
		if err == nil && holding.Err() != nil {
			err = ErrLeaseLost
		}
		return err
	}
}

// giveUp lets another replica lead at once. No call may be under way, and no renewal.
func (e *elected) giveUp(log klog.Logger) {
	e.renewed.last.Store(nil)
	ctx, cancel := context.WithTimeout(context.Background(), e.deadline)
	defer cancel()
	record, _, err := e.renewed.Get(ctx)
	if err == nil && record.HolderIdentity == e.renewed.Identity() {
		record.HolderIdentity, record.LeaseDurationSeconds = "", 1
		err = e.renewed.Update(ctx, *record)
	}
	if err != nil {
		log.Error(err, "The Lease is not given up: the next leader waits until it expires")
	}
}

// mayWrite is an error where the Lease should have been renewed and was not. The elector ends the work then, too, but
// later: it tries once more, or this process was stopped for a while.
func (e *elected) mayWrite() error {
	if !e.IsLeader() {
		return ErrLeaseLost
	}
	if last := e.renewed.last.Load(); last == nil || time.Since(*last) > e.deadline {
		return fmt.Errorf("%w: it was not renewed for %s", ErrLeaseLost, e.deadline)
	}
	return nil
}

// checked sends requests while this replica may write, and remembers which ones may still take effect.
func (e *elected) checked(next http.RoundTripper) http.RoundTripper { return checked{next, e} }

type checked struct {
	http.RoundTripper
	e *elected
}

// RoundTrip is part of http.RoundTripper.
func (c checked) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := c.e.mayWrite(); err != nil {
		return nil, err
	}
	answer, err := c.RoundTripper.RoundTrip(r)
	if err != nil || answer.StatusCode >= http.StatusInternalServerError { // a proxy or etcd may still be at it
		now := time.Now()
		c.e.unanswered.Store(&now)
	}
	return answer, err
}
