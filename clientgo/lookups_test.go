package clientgo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/clientgo"
)

const many = 5000

// figure is a core as that of budgets: it writes "figure" when it has the answers to all lookups of the namespace, and
// "refuse" if one of them is an error, unless that is what it wrote last.
func figure(namespace string, n int) plan {
	var written sync.Map
	return func(c *cell, key string) (purekube.Result[write], error) {
		var r purekube.Result[write]
		name := "figure"
		for i := range n {
			need := purekube.Need{Namespace: namespace, Name: fmt.Sprint(i)}
			switch c.answers[need.Name] {
			case "":
				r.Needs = append(r.Needs, need)
			case "error":
				name = "refuse"
			}
		}
		if len(r.Needs) > 0 {
			return r, nil
		}
		if last, _ := written.Swap(key, name); last != "refuse" || name != "refuse" {
			r.Actions = []write{{name: name}}
		}
		return r, nil
	}
}

// errorsAreAnswers puts all answers into a state.
func errorsAreAnswers(answers map[purekube.Need]purekube.Answer) state {
	s := state{answers: map[string]string{}}
	for n, a := range answers {
		if s.answers[n.Name] = "there"; a.Err != nil {
			s.answers[n.Name] = "error"
		}
	}
	return s
}

// slow makes each lookup take so long, and counts them.
func slow(long time.Duration, asked *atomic.Int32) func(context.Context, purekube.Need) (purekube.Answer, error) {
	return func(ctx context.Context, n purekube.Need) (purekube.Answer, error) {
		asked.Add(1)
		select {
		case <-ctx.Done():
			return purekube.Answer{}, ctx.Err()
		case <-time.After(long):
			return purekube.Answer{Object: n}, nil
		}
	}
}

// started is a controller that runs until the test ends, with these keys.
func started(t *testing.T, s *server, p plan, o options, keys ...string) *controller {
	t.Helper()
	c := newController(t, p, s, noInformers, o)
	hold(c, keys...)
	t.Cleanup(running(t.Context(), t, c))
	return c
}

// A budget over 5,000 pods, each with a controller of its own, at a slow API server: the status that refuses is written
// when the deadline of the lookups has passed, the other keys and cores write meanwhile, and the figure follows. Each
// lookup is made once.
func TestLateLookUpsHoldUpNoWrite(t *testing.T) {
	var asked atomic.Int32
	synctest.Test(t, func(t *testing.T) {
		s, other := &server{start: time.Now()}, &server{start: time.Now()}
		p := figure("big", many)
		budgets := func(c *cell, key string) (purekube.Result[write], error) {
			if key == "small" {
				return writes(write{name: "small"})(c, key)
			}
			return p(c, key)
		}
		o := options{lookup: slow(time.Second, &asked), Options: clientgo.Options[*cell, state]{Answers: errorsAreAnswers, DecidesWithout: true}}
		// More such budgets than workers.
		started(t, s, budgets, o, "big", "big2", "big3", "big4", "big5", "small")
		started(t, other, writes(write{name: "node"}), options{}, "node")
		time.Sleep(10 * time.Minute)
		s.mu.Lock()
		defer s.mu.Unlock()
		require.Equal(t, []string{"small", "refuse", "refuse", "refuse", "refuse", "refuse", "figure", "figure", "figure", "figure", "figure"}, s.seen)
		require.Zero(t, s.at[0], "it needs no lookup")
		require.Equal(t, clientgo.LookupsDeadline, s.at[1])
		require.Empty(t, s.dead, "no write has the context of the lookups")
		require.Equal(t, []string{"node"}, other.seen)
		require.Zero(t, other.at[0])
	})
	require.Less(t, int(asked.Load()), 2*many+100, "one answer serves the five that wait for it, and all is asked again when they have refused")
}

// Of a tenant with thousands of lookups only the tenant itself hears.
func TestNamespacesTakeTurns(t *testing.T) {
	var asked atomic.Int32
	synctest.Test(t, func(t *testing.T) {
		s := &server{start: time.Now()}
		big, small := figure("big", many), figure("small", 1)
		c := started(t, s, func(c *cell, key string) (purekube.Result[write], error) {
			if key == "small" {
				return small(c, key)
			}
			return big(c, key)
		}, options{lookup: slow(time.Second, &asked), Options: clientgo.Options[*cell, state]{Answers: errorsAreAnswers}}, "big")
		time.Sleep(time.Minute)
		hold(c, "small")
		time.Sleep(20 * time.Second)
		s.mu.Lock()
		defer s.mu.Unlock()
		require.Equal(t, []string{"figure"}, s.seen, "in the next turn, after 256 lookups by 16 at a time")
	})
}

// Of a tenant whose event queues thousands of keys only the tenant itself hears: the key of another namespace is written
// next, and not after 5,000 writes.
func TestKeysTakeTurnsByNamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{start: time.Now()}
		slow := func(context.Context, clientgo.Sending) error { time.Sleep(20 * time.Millisecond); return nil }
		write := func(_ *cell, key string) (purekube.Result[write], error) {
			return purekube.Result[write]{Actions: []write{{name: key}}}, nil
		}
		c := started(t, s, write, options{workers: 1, hooks: clientgo.Hooks{BeforeSend: slow}})
		synctest.Wait()
		queue := func(namespace string, n int) {
			c.Update(func(x *cell) (*cell, []purekube.Key) {
				var keys []purekube.Key
				for i := range n {
					keys = append(keys, purekube.Key{Kind: "Cell", Namespace: namespace, Name: fmt.Sprintf("%s-%d", namespace, i)})
				}
				return x, keys
			})
		}
		queue("big", many)
		time.Sleep(time.Second)
		s.mu.Lock()
		before := len(s.seen)
		s.mu.Unlock()
		queue("small", 2)
		time.Sleep(time.Second)
		s.mu.Lock()
		defer s.mu.Unlock()
		require.Contains(t, s.seen[before:before+3], "small-0")
		require.Contains(t, s.seen[before:before+5], "small-1")
	})
}

// 100 namespaces, each with a claim that 40 vanished pods shared: the lookups of one claim are finished before those of the next
// begin, so that no answer is too old when the last one arrives.
func TestLookupsOfManyNamespacesEnd(t *testing.T) {
	var asked atomic.Int32
	synctest.Test(t, func(t *testing.T) {
		s := &server{start: time.Now()}
		plans := map[string]plan{}
		var keys []string
		for i := range 100 {
			keys = append(keys, fmt.Sprint("ns", i))
			plans[keys[i]] = figure(keys[i], 40)
		}
		rate := time.NewTicker(time.Second / 50)
		defer rate.Stop()
		started(t, s, func(c *cell, key string) (purekube.Result[write], error) { return plans[key](c, key) }, options{
			lookup: func(_ context.Context, n purekube.Need) (purekube.Answer, error) {
				<-rate.C
				asked.Add(1)
				return purekube.Answer{Object: n}, nil
			}, Options: clientgo.Options[*cell, state]{Answers: errorsAreAnswers}}, keys...)
		time.Sleep(3 * time.Minute)
		s.mu.Lock()
		defer s.mu.Unlock()
		require.Len(t, s.seen, 100)
	})
	require.EqualValues(t, 4000, asked.Load(), "each lookup is made once")
}

// A plan with 5,000 errors, and a lookup of 5,000 that fail, are lines that a person can read.
func TestLogLinesAreBounded(t *testing.T) {
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		s := &server{start: time.Now()}
		var wrong []error
		for i := range many {
			wrong = append(wrong, fmt.Errorf("Pod ns/%d: metadata.ownerReferences: not good", i))
		}
		p := figure("ns", many)
		c := newController(t, func(c *cell, key string) (purekube.Result[write], error) {
			r, _ := p(c, key)
			for i := range r.Actions {
				r.Actions[i].name = strings.Repeat("long", many)
			}
			return r, errors.Join(wrong...)
		}, s, noInformers, options{
			lookup: func(context.Context, purekube.Need) (purekube.Answer, error) {
				return purekube.Answer{}, errors.New("away")
			},
			Options: clientgo.Options[*cell, state]{Answers: errorsAreAnswers, DecidesWithout: true}})
		hold(c, "a")
		defer running(klog.NewContext(t.Context(), logr.FromSlogHandler(slog.NewTextHandler(&log, nil))), t, c)()
		time.Sleep(50 * time.Millisecond)
	})
	for line := range strings.Lines(log.String()) {
		require.Less(t, len(line), 10_000)
	}
	for _, text := range []string{"The plan leaves something out", "Planning again", "Sending"} {
		require.Contains(t, log.String(), text)
	}
}

// A plan that fails again and again is one line in the log each time: loggers add a stack trace to each error.
func TestOneLogLineForEachRetry(t *testing.T) {
	var log bytes.Buffer
	retries := 0
	synctest.Test(t, func(t *testing.T) {
		c := newController(t, func(*cell, string) (purekube.Result[write], error) {
			return purekube.Result[write]{}, errors.New("not good")
		}, &server{start: time.Now()}, noInformers, options{Options: clientgo.Options[*cell, state]{RetryProblems: true},
			hooks: clientgo.Hooks{OnRetry: func(clientgo.Retry) { retries++ }}})
		hold(c, "a")
		defer running(klog.NewContext(t.Context(), logr.FromSlogHandler(slog.NewTextHandler(&log, nil))), t, c)()
		time.Sleep(time.Second)
	})
	require.Greater(t, retries, 3)
	require.Equal(t, retries, strings.Count(log.String(), "level=ERROR"), log.String())
}

// A manager that waits for the Lease keeps no keys of objects that have gone.
func TestNothingIsQueuedBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var planned []string
		c := newController(t, func(_ *cell, key string) (purekube.Result[write], error) {
			planned = append(planned, key)
			return purekube.Result[write]{}, nil
		}, &server{}, noInformers, options{})
		for i := range 1000 {
			pod := state{held: []string{fmt.Sprint(i)}}
			c.Update(func(x *cell) (*cell, []purekube.Key) { return x.With(pod) })
			if i > 0 {
				c.Update(func(x *cell) (*cell, []purekube.Key) { return x.Without(pod) })
			}
		}
		end := running(t.Context(), t, c)
		time.Sleep(time.Second)
		end()
		require.Equal(t, []string{"0"}, planned)
	})
}

// An API server that says when a lookup may be made again is asked no sooner.
func TestLookUpWaitsAsLongAsTheAPIServerSays(t *testing.T) {
	asked := 0
	look := func(context.Context, purekube.Need) (purekube.Answer, error) {
		if asked++; asked < 3 {
			return purekube.Answer{}, apierrors.NewTooManyRequests("busy", 2)
		}
		return purekube.Answer{}, nil
	}
	synctest.Test(t, func(t *testing.T) {
		s, _ := play(t, time.Minute, needing("1"), options{lookup: look}, nil)
		require.Equal(t, []string{"x"}, s.seen)
		require.Equal(t, []time.Duration{4 * time.Second}, s.at)
	})
}
