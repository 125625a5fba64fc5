// Package cores makes a controller of each core: what it watches, and how its look-ups are answered.
package cores

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/record"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/examples/manager/controller"
	"github.com/purekube/purekube/examples/manager/executor"
	"github.com/purekube/purekube/examples/manager/scale"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// All are the controllers by name.
var All = map[string]func(*Cluster) Runner{
	"servicecidr":   newServiceCIDR,
	"resourceclaim": newResourceClaim,
	"ttl":           newTTL,
	"rbacaggregate": newRBACAggregate,
	"disruption":    newDisruption,
}

// Runner is a controller.Controller of any core.
type Runner interface {
	Name() string
	HasSynced() bool
	Run(ctx context.Context, stop <-chan struct{}, workers int)
}

// Options are those of each core. The zero value is the careful default.
type Options struct {
	ServiceCIDR   servicecidr.Options
	ResourceClaim resourceclaim.Options
	TTL           ttl.Options
	RBACAggregate rbacaggregate.Options
	Disruption    disruption.Options
}

// Match are the options that make the requests of that release's kube-controller-manager; the zero value
// if it is empty.
func Match(r purekube.Release) Options {
	return Options{
		ServiceCIDR:   servicecidr.Options{MatchUpstream: r},
		ResourceClaim: resourceclaim.Options{MatchUpstream: r},
		RBACAggregate: rbacaggregate.Options{MatchUpstream: r},
		Disruption:    disruption.Options{MatchUpstream: r},
	}
}

// Cluster is what the cores share.
type Cluster struct {
	Options
	// Informers hold what is read all the time. Live and Scales read past them.
	Informers informers.SharedInformerFactory
	Live      *executor.Executor
	Scales    *scale.Client
	// Client makes the writes of plans, Events records their events.
	Client controller.Client
	Events record.EventRecorder
}
