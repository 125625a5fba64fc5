package clientgo

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/reconcile"
)

// veto is the error of a call that a hook did not let through.
type veto struct{ error }

func (v veto) Error() string { return "vetoed: " + v.error.Error() }
func (v veto) Unwrap() error { return v.error }

// carryOut makes the calls of a plan, in order. It returns what failed, and whether a hook vetoed something.
func (c *Controller[X, S, A]) carryOut(ctx context.Context, t *reconcile.Turn[X, A]) (failed error, vetoed bool) {
	n := 0
	var last error
	_, err := purekube.CarryOut(t.Result.Actions, func(r purekube.Request) (object runtime.Object, err error) {
		action := t.Result.Actions[n]
		n++
		object, last = c.send(ctx, t, action, r)
		return object, last
	}, func(e purekube.Event) {
		// A hook, the Lease, or this controller itself at its end may have ended the call. Then the API server refused
		// nothing.
		if ctx.Err() == nil && !errors.As(last, new(veto)) && !errors.Is(last, ErrLeaseLost) {
			c.record(e)
		}
	})
	return withoutVetoes(err)
}

// send makes one call, unless a hook vetoes it.
func (c *Controller[X, S, A]) send(
	ctx context.Context, t *reconcile.Turn[X, A], action A, r purekube.Request,
) (runtime.Object, error) {
	log, started := klog.FromContext(ctx).WithValues("key", t.Key, "action", clip(action.String(), maxLog)), time.Now()
	result := ActionResult{Controller: c.name, Key: t.Key, Action: action}
	if before := c.cluster.Hooks.BeforeSend; before != nil {
		if err := before(ctx, Sending{c.name, t.Key, action, &r}); err != nil {
			log.Info("Vetoed", "reason", clip(err.Error(), maxLog))
			result.Request, result.Err, result.Vetoed = r, err, true
			c.cluster.Hooks.action(result)
			return nil, veto{err}
		}
	}
	log.Info("Sending", "request", clip(r.String(), maxLog))
	object, err := c.cluster.Client.Do(ctx, r)
	if errors.Is(err, ErrLeaseLost) {
		// It was not sent. That is not for a hook to decide: the key is tried again, as after any failure.
		return nil, err
	}
	c.mu.Lock()
	c.loop.Sent(time.Now(), t, r, object, err)
	c.mu.Unlock()
	result.Request, result.Err, result.Took = r, err, time.Since(started)
	c.cluster.Hooks.action(result)
	return object, err
}

// withoutVetoes takes the vetoes out of joined errors.
func withoutVetoes(err error) (failed error, vetoed bool) {
	all, joined := err.(interface{ Unwrap() []error })
	if !joined {
		return err, false
	}
	var rest []error
	for _, e := range all.Unwrap() {
		if errors.As(e, new(veto)) {
			vetoed = true
		} else {
			rest = append(rest, e)
		}
	}
	return errors.Join(rest...), vetoed
}
