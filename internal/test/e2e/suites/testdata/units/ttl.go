package ttl

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"example.com/purekube-suites/adapter"
	core "github.com/purekube/purekube/ttl"
)

func (c *Controller) updateNodeIfNeeded(ctx context.Context, key string) error {
	node, err := c.nodeStore.Get(key)
	if apierrors.IsNotFound(err) {
		return nil
	}
	seconds := c.getDesiredTTLSeconds()
	step := slices.IndexFunc(core.Table{}.Boundaries(), func(b core.Boundary) bool { return b.TTL == time.Duration(seconds)*time.Second })
	result, err := core.Plan(core.Snapshot{Step: step, Nodes: []*v1.Node{node}}, core.Key(key), core.Options{})
	if err != nil {
		return err
	}
	return adapter.CarryOut(ctx, c.kubeClient, result.Actions, nil)
}

func (c *Controller) addNode(klog.Logger, any) { c.count(c.nodeCount + 1) }

func (c *Controller) deleteNode(any) { c.count(c.nodeCount - 1) }

func (c *Controller) count(nodes int) {
	c.nodeCount = nodes
	c.boundaryStep = core.Table{}.Next(c.boundaryStep, nodes)
	c.desiredTTLSeconds = int(core.Table{}.TTL(c.boundaryStep).Seconds())
}
