package clientgo

import (
	"context"
	"errors"
	"time"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/reconcile"
)

// confirmTimeout is for everything that is read to confirm a plan. The API server keeps the rest of a list for five
// minutes.
const confirmTimeout = 2 * time.Minute

var (
	errNoConfirm  = errors.New("it cannot be undone, and Options.Confirm is nil")
	errConfirming = errors.New("other plans are being confirmed")
)

// confirm plans the key of the turn again with what the API server has.
func (c *Controller[X, S, A]) confirm(ctx context.Context, t *reconcile.Turn[X, A]) {
	fresh, err := c.fresh(ctx, t.Key)
	c.mu.Lock()
	c.loop.Confirmed(time.Now(), t, fresh, err)
	c.mu.Unlock()
}

// fresh is the plan of a key with what the API server has.
func (c *Controller[X, S, A]) fresh(ctx context.Context, key purekube.Key) (purekube.Result[A], error) {
	if c.reads == nil {
		return purekube.Result[A]{}, errNoConfirm
	}
	select {
	case c.waiting <- struct{}{}:
		defer func() { <-c.waiting }()
	default:
		return purekube.Result[A]{}, errConfirming
	}
	c.confirming <- struct{}{}
	defer func() { <-c.confirming }()
	ctx, cancel := context.WithTimeout(ctx, confirmTimeout)
	defer cancel()
	s, err := c.reads(ctx, key)
	if err != nil {
		return purekube.Result[A]{}, err
	}
	index, _ := c.empty.With(s)
	// what is wrong with an object makes a plan stricter, and is in the error of the plan before
	result, _ := index.Plan(key)
	return result, nil
}
