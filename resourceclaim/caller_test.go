package resourceclaim

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/resourceclaim/memory"
)

// caller does what the package comment asks of one: it keeps caches that lag behind the server,
// each on its own, plans from them, answers Needs, carries out actions in order, and remembers
// what it wrote and what it saw deleted. It may crash after any write.
type caller struct {
	server  *apiServer
	options Options
	// podsAt and claimsAt are the states that its caches show.
	podsAt, claimsAt int
	// groupsAt is the state that its cache of PodGroups shows: groupsLag behind the one of pods, or
	// the same.
	groupsAt, groupsLag int
	// fresh: its caches show each write at once.
	fresh bool
	// podsLead: its pods are never older than its claims (the ninth duty).
	podsLead bool // see TestPodCacheIsBehind
	assumed  *memory.AssumedClaims
	deleted  *memory.DeletedPods
	// crashAfter is the write after which it crashes, counted from 1; 0: it does not.
	crashAfter int
	crashed    int
	// index, if not nil, is what the caches show, and queue the keys that its changes affected: then
	// nothing else is planned.
	index *Index
	queue map[purekube.Key]bool
	// events are those of refused calls.
	events []purekube.Event
}

func newCaller(s *apiServer, o Options) *caller {
	return &caller{server: s, options: o, assumed: &memory.AssumedClaims{}, deleted: memory.NewDeletedPods(0), podsAt: s.latest(), claimsAt: s.latest(), groupsAt: s.latest()}
}

func (c *caller) snapshot() Snapshot {
	pods, claims := c.server.states[c.podsAt].pods, c.server.states[c.claimsAt].claims
	return Snapshot{
		Now:       now,
		Pods:      pods,
		Claims:    claims,
		PodGroups: c.server.states[c.groupsAt].groups,
		Templates: templates(c.server.template),
		Assumed:   c.assumed.List(now, claims),
		Deleted:   c.deleted.UIDs(),
	}
}

// watch moves the caches on to these states, with the events on the way.
func (c *caller) watch(podsAt, claimsAt int) {
	if c.podsLead {
		podsAt = max(podsAt, claimsAt)
	}
	for ; c.podsAt < podsAt; c.podsAt++ {
		next := c.server.states[c.podsAt+1].pods
		for _, p := range c.server.states[c.podsAt].pods {
			if !slices.ContainsFunc(next, func(n *corev1.Pod) bool { return n.UID == p.UID }) {
				c.deleted.Add(p.UID)
			}
		}
		c.handle(podsOnly(c.server.states[c.podsAt]), podsOnly(c.server.states[c.podsAt+1]))
	}
	groupsAt := c.podsAt - c.groupsLag
	if c.podsAt == c.server.latest() && podsAt == claimsAt {
		groupsAt = c.podsAt // it catches up in the end
	}
	c.watchGroups(groupsAt)
	for ; c.claimsAt < claimsAt; c.claimsAt++ {
		next := c.server.states[c.claimsAt+1].claims
		for _, cl := range c.server.states[c.claimsAt].claims {
			if !slices.ContainsFunc(next, func(n *resourcev1.ResourceClaim) bool { return n.UID == cl.UID }) {
				c.assumed.Forget(cl.UID)
			}
		}
		c.handle(claimsOnly(c.server.states[c.claimsAt]), claimsOnly(c.server.states[c.claimsAt+1]))
	}
}

// watchGroups moves the cache of PodGroups on to that state.
func (c *caller) watchGroups(groupsAt int) {
	for ; c.groupsAt < groupsAt; c.groupsAt++ {
		next := c.server.states[c.groupsAt+1].groups
		for _, g := range c.server.states[c.groupsAt].groups {
			if !slices.ContainsFunc(next, func(n PodGroup) bool { return n.UID == g.UID }) {
				c.deleted.Add(g.UID)
			}
		}
		c.handleGroups(c.server.states[c.groupsAt].groups, next)
	}
}

func podsOnly(st state) Snapshot   { return Snapshot{Pods: st.pods} }
func claimsOnly(st state) Snapshot { return Snapshot{Claims: st.claims} }

// handle is the handler of the events between two states of a cache.
func (c *caller) handle(before, after Snapshot) {
	if c.index == nil {
		return
	}
	changed := Snapshot{
		Pods: slices.DeleteFunc(slices.Clone(after.Pods), func(p *corev1.Pod) bool {
			return slices.ContainsFunc(before.Pods, func(q *corev1.Pod) bool { return q.Name == p.Name && q.ResourceVersion == p.ResourceVersion })
		}),
		Claims: slices.DeleteFunc(slices.Clone(after.Claims), func(p *resourcev1.ResourceClaim) bool {
			return slices.ContainsFunc(before.Claims, func(q *resourcev1.ResourceClaim) bool {
				return q.Name == p.Name && q.ResourceVersion == p.ResourceVersion
			})
		}),
	}
	gone := Snapshot{
		Pods: slices.DeleteFunc(slices.Clone(before.Pods), func(p *corev1.Pod) bool {
			return slices.ContainsFunc(after.Pods, func(q *corev1.Pod) bool { return q.Name == p.Name })
		}),
		Claims: slices.DeleteFunc(slices.Clone(before.Claims), func(p *resourcev1.ResourceClaim) bool {
			return slices.ContainsFunc(after.Claims, func(q *resourcev1.ResourceClaim) bool { return q.Name == p.Name })
		}),
	}
	var affected, more []purekube.Key
	c.index, affected = c.index.With(changed)
	c.index, more = c.index.Without(gone)
	for _, key := range slices.Concat(affected, more) {
		c.queue[key] = true
	}
}

// handleGroups is handle for PodGroups, which have no resourceVersion.
func (c *caller) handleGroups(before, after []PodGroup) {
	if c.index == nil {
		return
	}
	changed := Snapshot{PodGroups: after}
	gone := Snapshot{PodGroups: slices.DeleteFunc(slices.Clone(before), func(g PodGroup) bool {
		return slices.ContainsFunc(after, func(h PodGroup) bool { return h.Name == g.Name })
	})}
	var affected, more []purekube.Key
	c.index, affected = c.index.With(changed)
	c.index, more = c.index.Without(gone)
	for _, key := range slices.Concat(affected, more) {
		c.queue[key] = true
	}
}

// relist makes the Index of what the caches show, and queues everything.
func (c *caller) relist() {
	c.index = NewIndex(Snapshot{Templates: templates(c.server.template), Deleted: c.deleted.UIDs()}, c.options)
	c.queue = map[purekube.Key]bool{}
	c.handle(Snapshot{}, podsOnly(c.server.states[c.podsAt]))
	c.handle(Snapshot{}, claimsOnly(c.server.states[c.claimsAt]))
	c.handleGroups(nil, c.server.states[c.groupsAt].groups)
}

// crash loses what is only in memory. The new process begins with a list of claims that is not
// older than the last write; the pods may be, unless they lead.
func (c *caller) crash() {
	c.crashed++
	c.assumed, c.deleted = &memory.AssumedClaims{}, memory.NewDeletedPods(0)
	c.claimsAt = c.server.latest()
	if c.podsLead {
		c.podsAt = c.claimsAt
	}
	if c.index != nil {
		c.relist()
	}
}

// wrote counts a write, and reports whether the caller crashed after it.
func (c *caller) wrote() bool {
	if c.crashAfter == 0 {
		return false
	}
	if c.crashAfter--; c.crashAfter == 0 {
		c.crash()
		return true
	}
	return false
}

// work plans one key and carries it out as far as it goes.
func (c *caller) work(key purekube.Key) {
	delete(c.queue, key)
	r := c.answered(key)
	var done []runtime.Object
	for _, action := range r.Actions {
		request := action.Request(done)
		returned, err := c.server.do(request)
		if request.Err != nil && c.queue != nil {
			c.queue[key] = true // with back-off
		}
		if err != nil {
			returned = nil
			if reporter, ok := action.(purekube.FailureReporter); ok {
				if event, ok := reporter.FailureEvent(err); ok {
					c.events = append(c.events, event)
				}
			}
		}
		if err != nil && c.queue != nil {
			c.queue[key] = true // with back-off
		}
		if c.wrote() || err != nil && !request.ContinueOnError {
			return
		}
		c.assumed.Add(returned, now)
		done = append(done, returned)
	}
}

// answered plans one key, with the answers to what it needs.
func (c *caller) answered(key purekube.Key) Result {
	r := c.plan(key, Snapshot{})
	answers := Snapshot{Answers: replies{}}
	for range 3 { // a pod's group is asked for before its claims
		if len(r.Needs) == 0 {
			break
		}
		for _, n := range r.Needs {
			answers.Answers[n] = c.server.lookUp(n)
		}
		r = c.plan(key, answers)
	}
	return r
}

// plan plans one key with what is assumed, and with answers.
func (c *caller) plan(key purekube.Key, answers Snapshot) Result {
	if c.index != nil {
		answers.Assumed = c.assumed.ListFor(now, c.index)
		x, _ := c.index.With(answers)
		r, _ := x.Plan(key)
		return r
	}
	s := c.snapshot()
	s.Answers = answers.Answers
	r, _ := Plan(s, key, c.options)
	return r
}

// keys are those to work on.
func (c *caller) keys() []purekube.Key {
	if c.index != nil {
		return slices.SortedFunc(maps.Keys(c.queue), purekube.Key.Compare)
	}
	return c.unsettled()
}

// unsettled are the keys that have something to do.
func (c *caller) unsettled() []purekube.Key {
	var out []purekube.Key
	outcomes, _ := PlanAll(c.snapshot(), c.options)
	for _, o := range outcomes {
		// A group that nobody has is asked for again and again.
		if len(o.Result.Actions) > 0 || len(o.Result.Needs) > 0 && len(c.answered(o.Key).Actions) > 0 {
			out = append(out, o.Key)
		}
	}
	return out
}

// settle works until the caches show the last state and there is nothing to do. It reports
// whether it got there.
func (c *caller) settle() bool {
	for range 500 {
		for _, key := range c.keys() {
			c.work(key)
			if c.fresh {
				c.watch(c.server.latest(), c.server.latest())
			}
		}
		if c.podsAt == c.server.latest() && c.claimsAt == c.server.latest() && c.groupsAt == c.server.latest() && len(c.keys()) == 0 {
			return len(c.unsettled()) == 0
		}
		// The caches advance by one write each at a time.
		c.watch(min(c.podsAt+1, c.server.latest()), min(c.claimsAt+1, c.server.latest()))
	}
	return false
}
