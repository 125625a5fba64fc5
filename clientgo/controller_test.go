package clientgo_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/clientgo"
)

// cell is the simplest core: it wants each object that it holds to be written, until that was done. What
// plan returns in its place is up to the test.
type cell struct {
	held    []string
	now     time.Time
	answers map[string]string
	begin   []string // the keys to begin with; nil: held
	plan    func(c *cell, key string) (purekube.Result[write], error)
}

type state struct {
	held    []string
	now     time.Time
	answers map[string]string
}

func (c *cell) With(s state) (*cell, []purekube.Key) {
	next := *c
	for _, name := range s.held {
		if !slices.Contains(next.held, name) {
			next.held = append(slices.Clone(next.held), name)
		}
	}
	if !s.now.IsZero() {
		next.now = s.now
	}
	if s.answers != nil {
		next.answers = s.answers
	}
	return &next, keysOf(s.held)
}

func (c *cell) Without(s state) (*cell, []purekube.Key) {
	next := *c
	next.held = slices.DeleteFunc(slices.Clone(next.held), func(name string) bool { return slices.Contains(s.held, name) })
	return &next, keysOf(s.held)
}

func (c *cell) Plan(key purekube.Key) (purekube.Result[write], error) { return c.plan(c, key.Name) }

// PlanAll names the keys to begin with.
func (c *cell) PlanAll() (outcomes []purekube.Outcome[write], err error) {
	names := c.held
	if c.begin != nil {
		names = c.begin
	}
	for _, key := range keysOf(names) {
		outcomes = append(outcomes, purekube.Outcome[write]{Key: key})
	}
	return outcomes, nil
}

func (c *cell) Err() error { return nil }

func keysOf(names []string) (keys []purekube.Key) {
	for _, name := range names {
		keys = append(keys, purekube.Key{Kind: "Cell", Name: name})
	}
	return keys
}

// write is an action; it says what was returned to those before it.
type write struct {
	name string
	verb string // empty: update
}

func (w write) String() string { return "write " + w.name }

func (write) Type() string { return "write" }

func (w write) Request(done []runtime.Object) purekube.Request {
	got := ""
	for _, o := range done {
		got += " after " + o.(*corev1.Pod).Name
	}
	return purekube.Request{Verb: cmp.Or(w.verb, "update"), Resource: corev1.SchemeGroupVersion.WithResource("pods"), Name: w.name + got}
}

func (w write) FailureEvent(err error) (purekube.Event, bool) {
	return purekube.Event{Type: "Warning", Reason: "Failed", Message: w.name + ": " + err.Error()}, true
}

// server answers requests with a pod of that name, or refuses.
type server struct {
	mu     sync.Mutex
	seen   []string
	at     []time.Duration
	start  time.Time
	dead   []string // requests whose context has ended
	refuse func(name string) error
}

func (s *server) Do(ctx context.Context, r purekube.Request) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		s.dead = append(s.dead, r.Name)
		return nil, ctx.Err()
	}
	s.seen, s.at = append(s.seen, r.Name), append(s.at, time.Since(s.start))
	if s.refuse != nil {
		if err := s.refuse(r.Name); err != nil {
			return nil, err
		}
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: r.Name}}, nil
}

// answersAsTheyAre puts the answers into a state. One with an error is none.
func answersAsTheyAre(answers map[purekube.Need]purekube.Answer) state {
	s := state{answers: map[string]string{}}
	for n, a := range answers {
		if a.Err == nil {
			s.answers[n.Name] = "there"
		}
	}
	return s
}

type plan func(c *cell, key string) (purekube.Result[write], error)

// options are those of a controller, and what is around it.
type options struct {
	clientgo.Options[*cell, state]
	lookup func(context.Context, purekube.Need) (purekube.Answer, error)
	record func(purekube.Event)
	hooks  clientgo.Hooks
	begin  []string
	// workers, 0 is the default.
	workers int
}

type lookupFunc func(context.Context, purekube.Need) (purekube.Answer, error)

func (f lookupFunc) Lookup(ctx context.Context, n purekube.Need) (purekube.Answer, error) {
	return f(ctx, n)
}

type controller = clientgo.Controller[*cell, state, write]

func noInformers(runtime.Object) (clientgo.Informer, error) { return nil, errors.New("no informers") }

func newController(t *testing.T, p plan, client clientgo.Client, informers clientgo.Informers, o options) *controller {
	t.Helper()
	if o.Answers == nil {
		o.Answers = answersAsTheyAre
	}
	c, err := clientgo.NewController("test", &cell{plan: p, begin: o.begin}, clientgo.Cluster{
		Informers: informers, Client: client, Lookup: lookupFunc(o.lookup), Record: o.record, Hooks: o.hooks, Workers: o.workers}, o.Options)
	require.NoError(t, err)
	return c
}

// running runs the controller. The function that it returns ends it.
func running(ctx context.Context, t *testing.T, c clientgo.Runner) (end func()) {
	t.Helper()
	if _, err := logr.FromContext(ctx); err != nil {
		ctx = klog.NewContext(ctx, logr.Discard())
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

func hold(c *controller, names ...string) {
	c.Update(func(x *cell) (*cell, []purekube.Key) { return x.With(state{held: names}) })
}

// play runs a controller with this plan for one key, for that long, and returns the server and the events.
func play(t *testing.T, long time.Duration, p plan, o options, refuse func(string) error) (*server, []string) {
	t.Helper()
	s := &server{start: time.Now(), refuse: refuse}
	var mu sync.Mutex
	var recorded []string
	o.record = func(e purekube.Event) {
		mu.Lock()
		defer mu.Unlock()
		recorded = append(recorded, fmt.Sprint(e.Type, " ", e.Reason, " ", e.Message))
	}
	c := newController(t, p, s, noInformers, o)
	hold(c, "a")
	end := running(t.Context(), t, c)
	time.Sleep(long)
	end()
	return s, recorded
}

func writes(w ...write) plan {
	return func(*cell, string) (purekube.Result[write], error) { return purekube.Result[write]{Actions: w}, nil }
}

var errRefused = errors.New("refused")

func refuseOnly(name string) func(string) error {
	return func(n string) error {
		if n == name {
			return errRefused
		}
		return nil
	}
}

// A controller that never runs, and one whose end comes before its beginning, leave no goroutine behind: the bubble of a test
// does not end before its goroutines.
func TestControllerThatNeverRuns(t *testing.T) {
	for _, runs := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
			cluster := clientgo.Cluster{Informers: clientgo.FromFactory(factory), Client: clientgo.DryRun{}}
			c, err := clientgo.NewController("test", &cell{}, cluster, clientgo.Options[*cell, state]{})
			require.NoError(t, err)
			if runs {
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				require.NoError(t, c.Run(ctx))
			}
		})
	}
}

// Informers may go on without a controller that has ended: it takes its handlers away, and whoever runs it again is told that
// it ran, while the first run goes on.
func TestControllerLeavesItsInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
		factory := informers.NewSharedInformerFactory(client, 0)
		counts := make([]atomic.Int32, 2)
		controllers := make([]*clientgo.Controller[*cell, state, write], 2)
		for i := range controllers {
			var err error
			cluster := clientgo.Cluster{Informers: clientgo.FromFactory(factory), Client: clientgo.DryRun{}}
			controllers[i], err = clientgo.NewController("test", &cell{}, cluster, clientgo.Options[*cell, state]{})
			require.NoError(t, err)
			clientgo.Watch(controllers[i], func(*corev1.Node) state {
				counts[i].Add(1)
				return state{}
			})
		}
		factory.Start(ctx.Done())
		var running sync.WaitGroup
		for _, c := range controllers {
			running.Go(func() {
				if err := c.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(time.Minute)
		require.EqualValues(t, 1, counts[0].Load())
		require.EqualValues(t, 1, counts[1].Load())
		require.ErrorContains(t, controllers[1].Run(ctx), "runs once")
		controllers[0].Stop()
		time.Sleep(time.Minute)
		_, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.EqualValues(t, 1, counts[0].Load(), "it has ended")
		require.EqualValues(t, 2, counts[1].Load(), "it runs, and hears of the other node")
		require.ErrorContains(t, controllers[0].Run(ctx), "runs once")
		cancel()
		running.Wait()
	})
}

// An event tells what the API server refused. Where a hook vetoed the action, it refused nothing.
func TestOnlyRefusalsAreEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, events := play(t, time.Millisecond, writes(write{name: "x"}), options{}, refuseOnly("x"))
		require.Equal(t, []string{"Warning Failed x: refused"}, events)

		vetoed := 0
		hooks := clientgo.Hooks{
			BeforeSend: func(context.Context, clientgo.Sending) error { return errRefused },
			OnAction:   func(clientgo.ActionResult) { vetoed++ },
		}
		s, events := play(t, time.Millisecond, writes(write{name: "x"}), options{hooks: hooks}, nil)
		require.Equal(t, 1, vetoed)
		require.Empty(t, s.seen)
		require.Empty(t, events)
	})
}

// A key that fails is tried again after pauses that double, for as long as it takes.
func TestFailureIsTriedAgainWithPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, events := play(t, time.Hour, writes(write{name: "x"}, write{name: "y"}), options{}, refuseOnly("x"))
		require.Equal(t, []string{"x"}, slices.Compact(s.seen))
		require.Equal(t, slices.Repeat([]string{"Warning Failed x: refused"}, len(s.at)), events)
		require.InDelta(t, 20, len(s.at), 2)
		for i := 2; i < 15; i++ {
			require.InEpsilon(t, 2*(s.at[i]-s.at[i-1]), s.at[i+1]-s.at[i], 0.01)
		}
	})
}

func TestRetriesEndInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := play(t, 10*time.Second, writes(write{name: "x"}), options{Options: clientgo.Options[*cell, state]{Retries: 3}}, refuseOnly("x"))
		require.Len(t, s.at, 4)
	})
	synctest.Test(t, func(t *testing.T) {
		s, _ := play(t, clientgo.PauseAfterRetries+time.Minute, writes(write{name: "x"}), options{Options: clientgo.Options[*cell, state]{Retries: 3}}, refuseOnly("x"))
		require.Len(t, s.at, 8, "nothing is lost: it is tried again after the pause")
	})
}

func TestRecheckAt(t *testing.T) {
	var planned []time.Duration
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		now := func(now time.Time, _ *cell) state { return state{now: now} }
		play(t, 59*time.Second, func(c *cell, _ string) (purekube.Result[write], error) {
			planned = append(planned, c.now.Sub(start))
			return purekube.Result[write]{RecheckAt: c.now.Add(20 * time.Second)}, nil
		}, options{Options: clientgo.Options[*cell, state]{At: now}}, nil)
	})
	require.Equal(t, []time.Duration{0, 20 * time.Second, 40 * time.Second}, planned)
}

func found(context.Context, purekube.Need) (purekube.Answer, error) {
	return purekube.Answer{Object: "there"}, nil
}

// needing is a plan that writes x when it has the answer to each of these lookups.
func needing(names ...string) plan {
	return func(c *cell, _ string) (purekube.Result[write], error) {
		var r purekube.Result[write]
		for _, name := range names {
			if _, answered := c.answers[name]; !answered {
				r.Needs = append(r.Needs, purekube.Need{Name: name})
			}
		}
		if len(r.Needs) == 0 {
			r.Actions = []write{{name: "x"}}
		}
		return r, nil
	}
}

// A core that never has enough does not ask for ever.
func TestNeedsWithoutEnd(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		need         func(*cell) string
		want         int
	}{
		{"the same", "the answer did not help", func(*cell) string { return "1" }, 1},
		{"always another", "there are not that many steps from a pod to its scale", func(c *cell) string { return fmt.Sprint(len(c.answers)) }, 8},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var asked int
			p := func(c *cell, _ string) (purekube.Result[write], error) {
				return purekube.Result[write]{Needs: []purekube.Need{{Name: tc.need(c)}}}, nil
			}
			look := func(context.Context, purekube.Need) (purekube.Answer, error) {
				asked++
				return purekube.Answer{}, nil
			}
			synctest.Test(t, func(t *testing.T) {
				play(t, time.Millisecond, p, options{lookup: look}, nil)
			})
			require.Equal(t, tc.want, asked, tc.reason)
		})
	}
}

func TestProblemsOfAPlan(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		retry        bool
		want         int
	}{
		{"left alone", "only an event can make the problem go", false, 1},
		{"tried again", "the core asks for that", true, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var planned int
			p := func(*cell, string) (purekube.Result[write], error) {
				planned++
				return purekube.Result[write]{Actions: []write{{name: fmt.Sprint(planned)}}}, errors.New("one object is bad")
			}
			synctest.Test(t, func(t *testing.T) {
				s, _ := play(t, 40*time.Millisecond, p, options{Options: clientgo.Options[*cell, state]{RetryProblems: tc.retry}}, nil)
				require.Len(t, s.seen, tc.want, "%s; what is right is written all the same", tc.reason)
			})
			require.Equal(t, tc.want, planned)
		})
	}
}

func TestWrittenIsToldOfWhatTheServerReturned(t *testing.T) {
	var told []string
	synctest.Test(t, func(t *testing.T) {
		play(t, time.Second, writes(write{name: "x"}, write{name: "y"}, write{name: "gone", verb: "delete"}), options{Options: clientgo.Options[*cell, state]{
			Written: func(_ time.Time, o runtime.Object) { told = append(told, o.(*corev1.Pod).Name) },
		}}, nil)
	})
	require.Equal(t, []string{"x", "y after x"}, told, "what a deletion returns is not there any more")
}

// A plan that is under way when the controller is told to stop is carried out to its end, and none is begun.
func TestStopEndsThePlanUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{start: time.Now()}
		var c *controller
		s.refuse = func(name string) error {
			if name == "x" {
				c.Stop()
				time.Sleep(time.Second)
			}
			return nil
		}
		c = newController(t, writes(write{name: "x"}, write{name: "y"}), s, noInformers, options{workers: 1})
		hold(c, "a", "b", "c")
		require.NoError(t, c.Run(t.Context()))
		require.Equal(t, []string{"x", "y after x"}, s.seen)
	})
}

// What an informer sees is in the Index: added, updated, deleted.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "there"}})
		factory := informers.NewSharedInformerFactory(client, 0)
		planned := make(chan string, 100)
		c := newController(t, func(c *cell, key string) (purekube.Result[write], error) {
			planned <- fmt.Sprintf("%s of %v", key, c.held)
			return purekube.Result[write]{}, nil
		}, &server{}, clientgo.FromFactory(factory), options{})
		var gone []string
		clientgo.Watch(c, func(o *corev1.Pod) state { return state{held: []string{o.Name}} },
			func(o *corev1.Pod) { gone = append(gone, o.Name) })
		require.False(t, c.HasSynced())

		stop := make(chan struct{})
		factory.Start(stop)
		end := running(t.Context(), t, c)
		require.Eventually(t, c.HasSynced, 10*time.Second, time.Millisecond)
		require.Equal(t, "there of [there]", <-planned)

		_, err := client.CoreV1().Pods("ns").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "new"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		require.Equal(t, "new of [there new]", <-planned)
		_, err = client.CoreV1().Pods("ns").Update(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "new", Labels: map[string]string{"a": "b"}}}, metav1.UpdateOptions{})
		require.NoError(t, err)
		require.Equal(t, "new of [there new]", <-planned)
		require.NoError(t, client.CoreV1().Pods("ns").Delete(t.Context(), "there", metav1.DeleteOptions{}))
		require.Equal(t, "there of [new]", <-planned)

		end()
		close(stop)
		factory.Shutdown()
		require.Equal(t, []string{"there"}, gone)
	})
}
