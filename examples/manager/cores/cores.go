// Package cores makes a controller of each core: what it watches, and how its lookups are answered.
package cores

import (
	"context"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
func Match(r purekube.Upstream) Options {
	return Options{
		ServiceCIDR:   servicecidr.Options{MatchUpstream: r},
		ResourceClaim: resourceclaim.Options{MatchUpstream: r},
		RBACAggregate: rbacaggregate.Options{MatchUpstream: r},
		Disruption:    disruption.Options{MatchUpstream: r},
	}
}

// Cluster is what a core works with. Informers and Events are shared. The clients are the core's own, so that one
// with thousands of lookups does not use up the rate of the others.
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

// begin are the keys that a controller begins with. What belongs to no key is logged.
func begin[A purekube.Action](outcomes []purekube.Outcome[A], err error) []purekube.Key {
	if err != nil {
		slog.Warn("The objects listed at the start are not whole", "error", err)
	}
	return controller.KeysOf(outcomes)
}

// lookUp reads an object past the informers.
func (c *Cluster) lookUp(ctx context.Context, resource schema.GroupVersionResource, n purekube.Need) (controller.Answer, error) {
	return answer(c.Live.Get(ctx, resource, n.Subresource, n.Namespace, n.Name))
}

// answer is what a read says: NotFound is an answer.
func answer[T runtime.Object](found T, err error) (controller.Answer, error) {
	switch {
	case apierrors.IsNotFound(err):
		return controller.Answer{}, nil
	case err != nil:
		return controller.Answer{}, err
	}
	return controller.Answer{Object: found}, nil
}

// lookUpClaim asks the API server for a pod or a claim whose absence from the informers proves nothing.
func (c *Cluster) lookUpClaim(ctx context.Context, n purekube.Need) (controller.Answer, error) {
	if n.Kind == "Pod" {
		return c.lookUp(ctx, corev1.SchemeGroupVersion.WithResource("pods"), n)
	}
	return c.lookUp(ctx, resourcev1.SchemeGroupVersion.WithResource("resourceclaims"), n)
}
