package ttl

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	step := slices.IndexFunc(core.Steps(), func(b core.Boundary) bool { return b.TTL == time.Duration(seconds)*time.Second })
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
	s := core.Snapshot{Step: c.boundaryStep}
	for i := range nodes {
		s.Nodes = append(s.Nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i)}})
	}
	c.boundaryStep = core.NewIndex(s, core.Options{}).Step()
	c.desiredTTLSeconds = int(core.Steps()[c.boundaryStep].TTL.Seconds())
}
