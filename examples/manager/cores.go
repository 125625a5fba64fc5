package main

import (
	"context"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/record"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/examples/manager/controller"
	"github.com/purekube/purekube/examples/manager/executor"
	"github.com/purekube/purekube/examples/manager/scale"
)

// cores are the controllers by the name that the flag -controllers has for them.
var cores = map[string]func(*cluster) runner{
	"servicecidr":   newServiceCIDR,
	"resourceclaim": newResourceClaim,
	"ttl":           newTTL,
	"rbacaggregate": newRBACAggregate,
	"disruption":    newDisruption,
}

// runner is a controller.Controller of any core.
type runner interface {
	Name() string
	HasSynced() bool
	Run(ctx context.Context, stop <-chan struct{}, workers int)
}

// cluster is what the cores share.
type cluster struct {
	// release whose controllers to match; empty is the careful default.
	release purekube.Release
	// informers hold what is read all the time, live and scales read past them.
	informers informers.SharedInformerFactory
	live      *executor.Executor
	scales    *scale.Client
	// client makes the writes of plans, events records their events.
	client     controller.Client
	events     record.EventRecorder
	stopEvents func()
}
