package model

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/internal/test/seed"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/ttl"
)

// TestAllFiveTogether plays all five controllers, each on its Index, in one cluster of a few hundred objects, in random
// order, with faults, stale caches and restarts. Now and then everything has to come to rest. PUREKUBE_MODEL_STEPS says how
// many steps there are.
func TestAllFiveTogether(t *testing.T) {
	steps, seed := 3_000, seed.First(t, 1)
	if text := os.Getenv("PUREKUBE_MODEL_STEPS"); text != "" {
		var err error
		steps, err = strconv.Atoi(text)
		require.NoError(t, err)
	} else if testing.Short() {
		steps = 1_000
	}
	l := newLoop(t, seed)
	defer func() {
		if t.Failed() {
			t.Logf("-seed %d; the last steps:\n%s", seed, strings.Join(l.story[max(0, len(l.story)-60):], "\n"))
		}
	}()
	next := 500
	for n := range steps {
		l.step()
		if n == next {
			l.rest()
			next += 1_000 + l.random.IntN(2_000)
		}
	}
	l.rest()
	t.Logf("seed %d: %d steps, %d objects at the end, %d writes, %d of them refused, %d restarts, %d times at rest, %s of the cluster's time", seed, steps, len(l.objects), l.writes, l.refused, l.restarts, l.rests, l.now.Sub(Start))
}

type loop struct {
	t        *testing.T
	random   *rand.Rand
	server   *apiserver.Server
	now      time.Time
	objects  []Object
	fresh    int
	evicted  string // what rememberEvictions keeps
	letGo    string // what rememberLetGo keeps
	events   []Event
	all      []*looped
	story    []string
	settling bool
	// twice, if set, hears of claims that were made twice for an entry, in place of a failure.
	twice func(broken string)
	// right say what is wrong with the objects at rest.
	right []func(*View) string

	writes, refused, restarts, rests int
}

// maxAge is how old a cache gets.
const maxAge = 5 * time.Second

func (l *loop) view() *View {
	return &View{Now: l.now, objects: l.objects, Fresh: l.fresh, Ghost: l.evicted}
}

func (l *loop) tell(format string, args ...any) {
	l.story = append(l.story, fmt.Sprintf(format, args...))
	if len(l.story) > 1000 {
		l.story = slices.Clone(l.story[500:])
	}
}

func (l *loop) heard(o Object, gone bool) {
	same := func(other Object) bool {
		return other.GetName() == o.GetName() && other.GetNamespace() == o.GetNamespace() && apiserver.ResourceOf(other) == apiserver.ResourceOf(o)
	}
	// Views share the slice.
	objects := slices.DeleteFunc(slices.Clone(l.objects), same)
	if !gone {
		objects = append(objects, o)
	}
	l.objects = objects
	resource := apiserver.ResourceOf(o)
	for _, c := range l.all {
		if slices.Contains(c.kinds, resource) {
			c.pending[resource] = append(c.pending[resource], heard{o, gone, l.now})
		}
	}
}

func (l *loop) start(c *looped) {
	c.timers, c.queue = map[string]time.Time{}, nil
	c.caches, c.pending = map[schema.GroupVersionResource]map[types.NamespacedName]Object{}, map[schema.GroupVersionResource][]heard{}
	for _, k := range c.kinds {
		c.caches[k] = map[types.NamespacedName]Object{}
	}
	for _, o := range l.objects {
		if r := apiserver.ResourceOf(o); slices.Contains(c.kinds, r) {
			c.caches[r][types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] = o
		}
	}
	c.enqueue(c.restart(l.view())...)
}

func (l *loop) step() {
	c := l.all[l.random.IntN(len(l.all))]
	switch n := l.random.IntN(100); {
	case n < 35:
		l.happen(l.events[l.random.IntN(len(l.events))])
	case n < 65:
		resource := c.kinds[l.random.IntN(len(c.kinds))]
		for range 1 + l.random.IntN(4) {
			if len(c.pending[resource]) > 0 {
				c.deliver(resource)
			}
		}
	case n < 94:
		if len(c.queue) > 0 {
			l.work(c, l.random.IntN(len(c.queue)))
		}
	case n < 99:
		l.pass(time.Duration(1+l.random.IntN(3)) * time.Second)
	case l.random.IntN(10) == 0:
		l.tell("%s stops, and starts again", c.name)
		l.restarts++
		l.start(c)
	}
}

// pass lets time pass. No cache gets older than maxAge.
func (l *loop) pass(d time.Duration) {
	l.now = l.now.Add(d)
	l.server.Now = l.now
	for _, c := range l.all {
		for _, k := range c.kinds {
			for len(c.pending[k]) > 0 && c.pending[k][0].at.Add(maxAge).Before(l.now) {
				c.deliver(k)
			}
		}
		for _, key := range sortedKeys(c.timers) {
			if !c.timers[key].After(l.now) {
				delete(c.timers, key)
				c.enqueue(key)
			}
		}
	}
	l.check(&Step{Before: l.view(), After: l.view()})
}

// happen makes an event happen in one of the ways in which it can. It reports whether there was one.
func (l *loop) happen(e Event) bool {
	var how string
	var changes []Change
	n := 0
	l.fresh++
	e.Do(l.view(), func(text string, c ...Change) {
		if n++; l.random.IntN(n) == 0 {
			how, changes = text, c
		}
	})
	if n == 0 {
		return false
	}
	l.tell("%s", how)
	before := l.view()
	for _, c := range changes {
		if c.gone {
			l.server.Remove(c.object)
		} else {
			l.server.Put(c.object)
		}
	}
	l.check(&Step{Before: before, After: l.view(), Event: e.Name})
	return true
}

// check asks the promises of all worlds about a step.
func (l *loop) check(s *Step) {
	s.Ghost = l.letGo
	l.letGo = rememberLetGo(s)
	s.Ghost = l.letGo
	require.Empty(l.t, addressesHaveRanges(s))
	s.Ghost = l.evicted
	l.evicted = rememberEvictions(s)
	s.Ghost = l.evicted
	require.Empty(l.t, evictionsLeaveEnough(s))
	if s.Request == nil {
		return
	}
	switch s.Request.Resource {
	case serviceCIDRs:
		require.Empty(l.t, serviceCIDRsKeepWhatIsTheirs(s))
	case clusterRoles:
		require.Empty(l.t, clusterRolesKeepWhatIsTheirs(s))
	case claims, pods, apiserver.PodGroups:
		if s.Request.FieldManager == resourceclaim.FieldManager || s.Request.Resource == claims {
			require.Empty(l.t, nothingTakenFromLivePods(s))
			if broken := noSecondClaim(s); l.twice != nil && broken != "" {
				l.twice(broken)
			} else {
				require.Empty(l.t, broken)
			}
			require.Empty(l.t, claimsKeepWhatIsTheirs(s))
		}
	}
}

// work plans one key and carries the plan out.
func (l *loop) work(c *looped, at int) {
	key := c.queue[at]
	c.queue = slices.Delete(c.queue, at, at+1)
	d := c.plan(key, l.view())
	delete(c.timers, key)
	if !d.RecheckAt.IsZero() {
		require.True(l.t, d.RecheckAt.After(l.now))
		c.timers[key] = d.RecheckAt
	}
	var done []runtime.Object
	for _, a := range d.Actions {
		if !l.settling && l.random.IntN(4) == 0 {
			l.happen(l.events[l.random.IntN(len(l.events))])
		}
		r := a.Request(done)
		fault := 0
		if !l.settling {
			fault = l.random.IntN(50)
		}
		l.writes++
		before := l.view()
		var returned runtime.Object
		var err error
		if fault != 1 {
			returned, err = l.server.Do(r)
			l.check(&Step{Before: before, After: l.view(), Request: &r})
		}
		l.tell("%s, for %s: %s (fault %d, %v)", c.name, key, a, fault, err)
		if fault == 2 && r.Verb == "create" {
			// Its answer is lost: a new list, before another claim is made.
			for len(c.pending[r.Resource]) > 0 {
				c.deliver(r.Resource)
			}
		}
		if fault == 1 || fault == 2 || err != nil {
			l.refused++
			returned = nil
			c.enqueue(key)
			if !r.ContinueOnError {
				return
			}
		} else if c.returned != nil {
			c.returned(returned)
		}
		done = append(done, returned)
	}
}

// rest lets everybody go on without users until nothing is left to do, and looks at what came of it.
func (l *loop) rest() {
	l.settling = true
	defer func() { l.settling = false }()
	l.tell("from here on users do nothing, and nothing fails")
	for round := 0; ; round++ {
		require.Less(l.t, round, 3000, "it comes to rest")
		busy := false
		for _, c := range l.all {
			for _, k := range c.kinds {
				for len(c.pending[k]) > 0 {
					c.deliver(k)
				}
			}
			for tries := 0; len(c.queue) > 0; tries++ {
				require.Less(l.t, tries, 5000, "%s comes to rest", c.name)
				writes := l.writes
				l.work(c, 0)
				busy = busy || l.writes > writes
				for _, k := range c.kinds {
					for len(c.pending[k]) > 0 {
						c.deliver(k)
					}
				}
			}
		}
		for _, e := range l.events {
			busy = e.Settles && l.happen(e) || busy
		}
		if busy {
			continue
		}
		var first time.Time
		for _, c := range l.all {
			for _, at := range c.timers {
				if first.IsZero() || at.Before(first) {
					first = at
				}
			}
		}
		if first.IsZero() {
			break
		}
		l.pass(first.Sub(l.now))
	}
	for _, c := range l.all {
		l.start(c)
		for _, key := range c.queue {
			require.Empty(l.t, c.plan(key, l.view()).Actions, "at rest, a plan from scratch asks for nothing: %s, %s", c.name, key)
		}
		c.queue = nil
	}
	for _, right := range l.right {
		require.Empty(l.t, right(l.view()))
	}
	l.rests++
}

func nodesHaveOneTTL(v *View) string {
	nodes := All[*corev1.Node](v)
	allowed := map[string]bool{"0": len(nodes) <= 100, "15": len(nodes) >= 90}
	for _, n := range nodes {
		if text := n.Annotations[ttl.Annotation]; !allowed[text] || text != nodes[0].Annotations[ttl.Annotation] {
			return fmt.Sprintf("at rest, every node has the TTL of the step: %s has %q, with %d nodes", n.Name, text, len(nodes))
		}
	}
	return ""
}
