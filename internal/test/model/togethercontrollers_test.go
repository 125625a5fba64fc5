package model

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/reconcile"
	"github.com/purekube/purekube/internal/reconcile/cidrmemory"
	"github.com/purekube/purekube/internal/reconcile/claimmemory"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// player is a controller in the cluster of TestAllFiveTogether.
type player interface {
	called() string
	watches() []schema.GroupVersionResource
	// begin is a new process: its handlers see what is listed, and it remembers nothing.
	begin(l *loop)
	// hear puts a change into the cache that the handlers see later, and behind says how many there are.
	hear(h heard)
	behind(resource schema.GroupVersionResource) int
	oldest(resource schema.GroupVersionResource) time.Time
	// deliver shows the handlers the oldest change of a kind.
	deliver(l *loop, resource schema.GroupVersionResource)
	// queued and looking are how many keys and lookups there are to work on; work and look do one of them.
	queued() int
	looking() int
	work(l *loop, at int)
	look(l *loop, at int)
	// next is when time alone gives it something to do; zero: never. pass queues what is due.
	next() time.Time
	pass(l *loop)
}

// looped is the loop of internal/reconcile around the Index of a package, as package clientgo runs it.
type looped[X purekube.Index[X, S, A], S any, A purekube.Action] struct {
	name  string
	kinds []schema.GroupVersionResource
	// fresh makes what a new process has: an empty Index, and options around what it remembers.
	fresh func(c *looped[X, S, A]) (X, reconcile.Options[X, S])
	as    func(now time.Time, o Object) S
	// gone is told of a deleted object before the Index is. Nil: nobody needs to know.
	gone   func(o Object) func(X) (X, []purekube.Key)
	answer func(live *View, n purekube.Need) purekube.Answer
	// confirm plans again what cannot be undone. Nil: the package has nothing such.
	confirm func(live *View, key purekube.Key) purekube.Result[A]

	// deciding and hearing are defects on purpose. They change what is carried out of a plan, and which keys an event
	// affects. Nil: there is none.
	deciding func(Decision) Decision
	hearing  func(oldObj, newObj Object, keys []purekube.Key) []purekube.Key

	loop  *reconcile.Loop[X, S, A]
	queue []purekube.Key
	// later are keys that are queued again, and ticks those whose lookups are late then.
	later, ticks map[purekube.Key]time.Time
	needs        []purekube.Need
	caches       map[schema.GroupVersionResource]map[types.NamespacedName]Object
	// pending are the changes that the handlers have not seen yet.
	pending map[schema.GroupVersionResource][]heard
}

func (c *looped[X, S, A]) called() string                         { return c.name }
func (c *looped[X, S, A]) watches() []schema.GroupVersionResource { return c.kinds }
func (c *looped[X, S, A]) behind(resource schema.GroupVersionResource) int {
	return len(c.pending[resource])
}
func (c *looped[X, S, A]) queued() int  { return len(c.queue) }
func (c *looped[X, S, A]) looking() int { return len(c.needs) }

func (c *looped[X, S, A]) oldest(resource schema.GroupVersionResource) time.Time {
	return c.pending[resource][0].at
}

func (c *looped[X, S, A]) hear(h heard) {
	resource := apiserver.ResourceOf(h.object)
	c.pending[resource] = append(c.pending[resource], h)
}

func (c *looped[X, S, A]) begin(l *loop) {
	c.queue, c.needs = nil, nil
	c.later, c.ticks = map[purekube.Key]time.Time{}, map[purekube.Key]time.Time{}
	c.caches = map[schema.GroupVersionResource]map[types.NamespacedName]Object{}
	c.pending = map[schema.GroupVersionResource][]heard{}
	index, options := c.fresh(c)
	options.Synced = func() bool { return true } // the list is shown below
	c.loop = reconcile.New(index, options)
	for _, k := range c.kinds {
		c.loop.Watches(k.GroupResource())
		c.caches[k] = map[types.NamespacedName]Object{}
	}
	for _, o := range l.objects {
		if slices.Contains(c.kinds, apiserver.ResourceOf(o)) {
			c.show(l, heard{object: o})
		}
	}
	keys, _, started := c.loop.Start(l.now)
	if !started {
		l.t.Fatalf("%s does not start", c.name)
	}
	c.enqueue(keys...)
}

// options edits the options of each process.
func (c *looped[X, S, A]) options(edit func(*reconcile.Options[X, S])) {
	fresh := c.fresh
	c.fresh = func(c *looped[X, S, A]) (X, reconcile.Options[X, S]) {
		index, o := fresh(c)
		edit(&o)
		return index, o
	}
}

func (c *looped[X, S, A]) enqueue(keys ...purekube.Key) {
	for _, k := range keys {
		if !slices.Contains(c.queue, k) {
			c.queue = append(c.queue, k)
		}
	}
}

func (c *looped[X, S, A]) deliver(l *loop, resource schema.GroupVersionResource) {
	h := c.pending[resource][0]
	c.pending[resource] = c.pending[resource][1:]
	c.show(l, h)
}

// show is what the handlers of clientgo do with a change.
func (c *looped[X, S, A]) show(l *loop, h heard) {
	resource := apiserver.ResourceOf(h.object)
	version := h.object.GetResourceVersion()
	name := types.NamespacedName{Namespace: h.object.GetNamespace(), Name: h.object.GetName()}
	event := func(of schema.GroupResource, version string, oldObj, newObj Object, change func(X) (X, []purekube.Key)) {
		c.enqueue(c.loop.Event(of, version, func(x X) (X, []purekube.Key) {
			x, keys := change(x)
			if c.hearing != nil {
				keys = c.hearing(oldObj, newObj, keys)
			}
			return x, keys
		})...)
	}
	before := c.caches[resource][name]
	if before != nil && (h.gone || before.GetUID() != h.object.GetUID()) {
		if c.gone != nil {
			if change := c.gone(before); change != nil {
				event(schema.GroupResource{}, "", before, nil, change)
			}
		}
		last := version
		if !h.gone {
			last = ""
		}
		event(resource.GroupResource(), last, before, nil, func(x X) (X, []purekube.Key) { return x.Without(c.as(l.now, before)) })
		delete(c.caches[resource], name)
		before = nil
	}
	if !h.gone {
		event(resource.GroupResource(), version, before, h.object, func(x X) (X, []purekube.Key) { return x.With(c.as(l.now, h.object)) })
		c.caches[resource][name] = h.object
	}
}

// work is the turn of a key. Users act between its requests, and handlers see what happens.
func (c *looped[X, S, A]) work(l *loop, at int) {
	key := c.queue[at]
	c.queue = slices.Delete(c.queue, at, at+1)
	t := c.loop.Begin(l.now, key)
	for t.Step == reconcile.Plan {
		result, problems := t.Index.Plan(key)
		c.loop.Planned(l.now, t, result, problems)
		c.ask(t.Ask...)
		if t.Tick > 0 {
			c.ticks[key] = l.now.Add(t.Tick)
		}
	}
	if t.Step == reconcile.Wait {
		c.follow(l, key, t.Next)
		return
	}
	if t.Step == reconcile.Confirm {
		c.loop.Confirmed(l.now, t, c.confirm(l.view(), key), nil)
	}
	actions := Actions(t.Result.Actions)
	if c.deciding != nil {
		d := c.deciding(Decision{Actions: actions, RecheckAt: t.Result.RecheckAt})
		actions, t.Result.RecheckAt = d.Actions, d.RecheckAt
	}
	_, failed := purekube.CarryOut(actions, func(r purekube.Request) (runtime.Object, error) {
		l.interrupt(c)
		returned, err := l.send(c.name, key.String(), r)
		c.loop.Sent(l.now, t, r, returned, err)
		return returned, err
	}, nil)
	c.follow(l, key, c.loop.End(l.now, t, failed, false))
}

func (c *looped[X, S, A]) follow(l *loop, key purekube.Key, next reconcile.Next) {
	if !next.Requeue {
		return
	}
	if due, waits := c.later[key]; !waits || l.now.Add(next.After).Before(due) {
		c.later[key] = l.now.Add(next.After)
	}
	c.pass(l)
}

func (c *looped[X, S, A]) ask(needs ...purekube.Need) {
	for _, n := range needs {
		if !slices.Contains(c.needs, n) {
			c.needs = append(c.needs, n)
		}
	}
}

// look makes a lookup, which fails now and then.
func (c *looped[X, S, A]) look(l *loop, at int) {
	n := c.needs[at]
	c.needs = slices.Delete(c.needs, at, at+1)
	if !c.loop.Look(l.now, n) {
		return
	}
	var answer purekube.Answer
	err := l.fault()
	if err == nil {
		answer = c.answer(l.view(), n)
	}
	keys, again, _ := c.loop.Found(n, answer, err)
	if again {
		c.ask(n)
	}
	c.enqueue(keys...)
}

func (c *looped[X, S, A]) next() (first time.Time) {
	for _, timers := range []map[purekube.Key]time.Time{c.later, c.ticks} {
		for _, at := range timers {
			if first.IsZero() || at.Before(first) {
				first = at
			}
		}
	}
	return first
}

func (c *looped[X, S, A]) pass(l *loop) {
	for _, key := range slices.SortedFunc(maps.Keys(c.later), purekube.Key.Compare) {
		if !c.later[key].After(l.now) {
			delete(c.later, key)
			c.enqueue(key)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(c.ticks), purekube.Key.Compare) {
		if !c.ticks[key].After(l.now) {
			delete(c.ticks, key)
			if c.loop.Tick(l.now, key) {
				c.enqueue(key)
			}
		}
	}
}

type (
	serviceCIDRLooped = looped[*servicecidr.Index, servicecidr.Snapshot, servicecidr.Action]
	claimLooped       = looped[*resourceclaim.Index, resourceclaim.Snapshot, resourceclaim.Action]
	budgetLooped      = looped[*disruption.Index, disruption.Snapshot, disruption.Action]
	clusterRoleLooped = looped[*rbacaggregate.Index, rbacaggregate.Snapshot, rbacaggregate.Action]
	nodeLooped        = looped[*ttl.Index, ttl.Snapshot, ttl.Action]
)

func serviceCIDRPlayer() *serviceCIDRLooped {
	type (
		X = *servicecidr.Index
		S = servicecidr.Snapshot
	)
	var m *cidrmemory.Memory
	return &serviceCIDRLooped{
		name: "servicecidr", kinds: []schema.GroupVersionResource{serviceCIDRs, ipAddresses},
		fresh: func(c *serviceCIDRLooped) (X, reconcile.Options[X, S]) {
			m = &cidrmemory.Memory{}
			return servicecidr.NewIndex(S{DeletionSeen: map[types.UID]time.Time{}}, servicecidr.Options{}),
				reconcile.Options[X, S]{
					At: func(now time.Time, _ X) S { return S{Now: now} }, Retries: 15,
				}
		},
		as: func(now time.Time, o Object) S {
			c, ok := o.(*networkingv1.ServiceCIDR)
			if !ok {
				return rangesOf(o)
			}
			return m.See(now.Add(time.Duration(len(m.Seen))), c) // no process sees two at the same moment
		},
		gone: func(o Object) func(X) (X, []purekube.Key) {
			if c, ok := o.(*networkingv1.ServiceCIDR); ok {
				m.Gone(c)
			}
			return nil
		},
		confirm: func(live *View, key purekube.Key) purekube.Result[servicecidr.Action] {
			var s S
			for _, o := range live.objects {
				part := rangesOf(o)
				s.ServiceCIDRs, s.IPAddresses = append(s.ServiceCIDRs, part.ServiceCIDRs...), append(s.IPAddresses, part.IPAddresses...)
			}
			result, _ := servicecidr.Plan(m.Confirm(live.Now, s), key, servicecidr.Options{})
			return result
		},
	}
}

func claimPlayer() *claimLooped {
	type (
		X = *resourceclaim.Index
		S = resourceclaim.Snapshot
	)
	var m *claimmemory.Memory
	return &claimLooped{
		name: "resourceclaim", kinds: []schema.GroupVersionResource{pods, apiserver.PodGroups, claims, templates},
		fresh: func(*claimLooped) (X, reconcile.Options[X, S]) {
			m = &claimmemory.Memory{}
			return resourceclaim.NewIndex(S{}, resourceclaim.Options{PodGroupOf: podGroupOf}),
				reconcile.Options[X, S]{
					At: m.At, Answers: claimmemory.Confirmed, Written: m.Wrote, RetryProblems: true,
				}
		},
		as: func(_ time.Time, o Object) S { return part(o) },
		gone: func(o Object) func(X) (X, []purekube.Key) {
			switch o := o.(type) {
			case *corev1.Pod:
				return m.PodGone(o)
			case *resourcev1.ResourceClaim:
				m.ClaimGone(o)
			case *apiserver.PodGroup:
				return m.Gone(o.UID)
			}
			return nil
		},
		answer: func(live *View, n purekube.Need) purekube.Answer {
			var s S
			confirm(&s, []purekube.Need{n}, live)
			return s.Answers[n]
		},
	}
}

func budgetPlayer() *budgetLooped {
	type (
		X = *disruption.Index
		S = disruption.Snapshot
	)
	return &budgetLooped{
		name: "disruption", kinds: []schema.GroupVersionResource{budgets, pods, deployments, replicaSets, statefulSets},
		fresh: func(*budgetLooped) (X, reconcile.Options[X, S]) {
			return disruption.NewIndex(S{}, disruption.Options{}), reconcile.Options[X, S]{
				At: func(now time.Time, _ X) S { return S{Now: now} },
				Answers: func(answers map[purekube.Need]purekube.Answer) S {
					return S{Answers: answers}
				},
				DecidesWithout: true,
			}
		},
		as:     func(_ time.Time, o Object) S { return budgetObject(o) },
		answer: answerOf,
	}
}

func clusterRolePlayer() *clusterRoleLooped {
	type (
		X = *rbacaggregate.Index
		S = rbacaggregate.Snapshot
	)
	return &clusterRoleLooped{
		name: "rbacaggregate", kinds: []schema.GroupVersionResource{clusterRoles},
		fresh: func(*clusterRoleLooped) (X, reconcile.Options[X, S]) {
			return rbacaggregate.NewIndex(S{}, rbacaggregate.Options{}), reconcile.Options[X, S]{}
		},
		as: func(_ time.Time, o Object) S {
			return S{ClusterRoles: []*rbacv1.ClusterRole{o.(*rbacv1.ClusterRole)}}
		},
	}
}

func nodePlayer() *nodeLooped {
	type (
		X = *ttl.Index
		S = ttl.Snapshot
	)
	return &nodeLooped{
		name: "ttl", kinds: []schema.GroupVersionResource{nodesResource},
		fresh: func(*nodeLooped) (X, reconcile.Options[X, S]) {
			return ttl.NewIndex(S{}, ttl.Options{}), reconcile.Options[X, S]{
				Prepare: func(x X) X {
					x, _ = x.Recover()
					return x
				},
			}
		},
		as: func(_ time.Time, o Object) S { return S{Nodes: []*corev1.Node{o.(*corev1.Node)}} },
	}
}
