package clientgo_test

import (
	"context"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/clientgo"
)

// versioned answers each write with a pod of the next resourceVersion.
type versioned struct {
	mu      sync.Mutex
	version []string
	seen    []time.Duration
	start   time.Time
}

func (s *versioned) Do(context.Context, purekube.Request) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: s.version[len(s.seen)]}}
	s.seen = append(s.seen, time.Since(s.start))
	return pod, nil
}

// A key is planned again when its own write shows in the Index, and not before: the plan would ask for the same write
// again. Where the watch hangs, it waits for a while only.
func TestOwnWriteIsNotMadeTwice(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		shown        bool
		want         int
	}{
		{"the watch lags", "the write shows a second later", true, 1},
		{"the watch hangs", "something may be wrong with it", false, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", ResourceVersion: "5"}})
				events := watch.NewFake()
				client.PrependWatchReactor("pods", clienttesting.DefaultWatchReactor(events, nil))
				factory := informers.NewSharedInformerFactory(client, 0)
				s := &versioned{start: time.Now(), version: []string{"10", "11", "12"}}
				c := newController(t, func(c *cell, _ string) (r purekube.Result[write], err error) {
					if !slices.Contains(c.held, "10") { // what was written shows
						r.Actions = []write{{name: "x"}}
					}
					return r, nil
				}, s, clientgo.FromFactory(factory), options{begin: []string{"p"}})
				clientgo.Watch(c, func(o *corev1.Pod) state { return state{held: []string{o.ResourceVersion}} })
				ctx, cancel := context.WithCancel(t.Context())
				factory.Start(ctx.Done())
				factory.WaitForCacheSync(ctx.Done())
				synctest.Wait() // until the Index has the pod
				s.start = time.Now()
				end := running(ctx, t, c)
				again := func() { c.Update(func(x *cell) (*cell, []purekube.Key) { return x, keysOf([]string{"p"}) }) }
				time.Sleep(100 * time.Millisecond)
				again() // on account of another object
				time.Sleep(900 * time.Millisecond)
				if tc.shown {
					events.Modify(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", ResourceVersion: "10"}})
				}
				time.Sleep(5 * time.Second)
				end()
				cancel()
				events.Stop()
				factory.Shutdown()
				require.Len(t, s.seen, tc.want, tc.reason)
				require.Zero(t, s.seen[0])
				if !tc.shown {
					require.InDelta(t, 5, s.seen[1].Seconds(), 0.1, "as long as a key waits")
				}
			})
		})
	}
}

// broken makes what it is asked for, and loses the answer; the second time it answers.
type broken struct{ versioned }

func (s *broken) Do(ctx context.Context, r purekube.Request) (runtime.Object, error) {
	object, err := s.versioned.Do(ctx, r)
	if len(s.seen) == 1 {
		return nil, io.ErrUnexpectedEOF
	}
	return object, err
}

// A create that ended without an answer may have made its object. The key is not planned again before the watch could
// show it.
func TestCreateWithoutAnAnswerIsNotMadeAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", ResourceVersion: "5"}})
		events := watch.NewFake()
		client.PrependWatchReactor("pods", clienttesting.DefaultWatchReactor(events, nil))
		factory := informers.NewSharedInformerFactory(client, 0)
		s := &broken{versioned{version: []string{"10", "11"}}}
		c := newController(t, func(c *cell, _ string) (r purekube.Result[write], err error) {
			if !slices.Contains(c.held, "10") { // what was made shows
				r.Actions = []write{{name: "x", verb: "create"}}
			}
			return r, nil
		}, s, clientgo.FromFactory(factory), options{begin: []string{"p"}})
		clientgo.Watch(c, func(o *corev1.Pod) state { return state{held: []string{o.ResourceVersion}} })
		ctx, cancel := context.WithCancel(t.Context())
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		synctest.Wait() // until the Index has the pod
		end := running(ctx, t, c)
		time.Sleep(time.Second)
		events.Modify(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", ResourceVersion: "10"}})
		time.Sleep(time.Minute)
		end()
		cancel()
		events.Stop()
		factory.Shutdown()
		require.Len(t, s.seen, 1)
	})
}
