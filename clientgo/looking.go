package clientgo

import (
	"context"
	"time"

	"github.com/purekube/purekube"
)

const (
	// callTimeout is for one lookup.
	callTimeout = 10 * time.Second
	// lookers make lookups at the same time.
	lookers = 16
)

// ask queues lookups.
func (c *Controller[X, S, A]) ask(needs []purekube.Need) {
	for _, n := range needs {
		c.looking.Add(n)
	}
}

// tick queues a key whose lookups are late by then.
func (c *Controller[X, S, A]) tick(key purekube.Key, after time.Duration) {
	if after <= 0 {
		return
	}
	time.AfterFunc(after, func() {
		c.mu.Lock()
		late := c.loop.Tick(time.Now(), key)
		c.mu.Unlock()
		if late {
			c.queue.Add(key)
		}
	})
}

// lookUpAll makes lookups until the queue is shut down.
func (c *Controller[X, S, A]) lookUpAll(ctx context.Context) {
	for {
		need, shutdown := c.looking.Get()
		if shutdown {
			return
		}
		if ctx.Err() == nil {
			c.lookUp(ctx, need)
		}
		c.looking.Done(need)
	}
}

// lookUp makes one lookup for the keys that have asked by now.
func (c *Controller[X, S, A]) lookUp(ctx context.Context, n purekube.Need) {
	c.mu.Lock()
	wanted := c.loop.Look(time.Now(), n)
	c.mu.Unlock()
	if !wanted {
		return
	}
	started := time.Now()
	calling, cancel := context.WithTimeout(ctx, callTimeout) // the writes have a timeout of their own
	answer, err := c.cluster.Lookup.Lookup(calling, n)
	cancel()
	c.cluster.Hooks.lookup(LookupResult{c.name, n, answer, err, time.Since(started)})
	c.mu.Lock()
	keys, again, after := c.loop.Found(n, answer, err)
	c.mu.Unlock()
	if again {
		c.looking.AddAfter(n, after)
	}
	c.enqueue(keys)
}
