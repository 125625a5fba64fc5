package model

import (
	"errors"
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

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/internal/test/seed"
	"github.com/purekube/purekube/ttl"
)

// TestAllFiveTogether plays all five controllers, each the loop that clientgo runs (internal/reconcile) on an Index, in one
// cluster of a few hundred objects, in random order, with faults, stale caches and restarts. Now and then everything has to come to rest. PUREKUBE_MODEL_STEPS says how
// many steps there are.
func TestAllFiveTogether(t *testing.T) {
	steps := 3_000
	if text := os.Getenv("PUREKUBE_MODEL_STEPS"); text != "" {
		var err error
		steps, err = strconv.Atoi(text)
		require.NoError(t, err)
	} else if seed.Short() {
		steps = 1_000
	}
	seed := seed.First(t, 1)
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

type heard struct {
	object Object
	gone   bool
	at     time.Time
}

type loop struct {
	t        testing.TB
	random   *rand.Rand
	server   *apiserver.Server
	now      time.Time
	objects  []Object
	fresh    int
	evicted  string // what rememberEvictions keeps
	letGo    string // what rememberLetGo keeps
	events   []Event
	all      []player
	story    []string
	settling bool
	// slow is a kind whose changes the handlers see only when they are as old as maxAge; empty: there is none.
	slow schema.GroupVersionResource
	// harm counts how often a guarantee was broken for which it has an entry. All others fail the test.
	harm map[string]int
	// right say what is wrong with the objects at rest.
	right []func(*View) string

	writes, refused, restarts, rests int
}

// maxAge is how old a cache gets: less than a fence holds.
const maxAge = 4 * time.Second

// seconds is the time as objects have it.
func (l *loop) seconds() time.Time { return l.now.Truncate(time.Second) }

func (l *loop) view() *View {
	return &View{Now: l.seconds(), objects: l.objects, Fresh: l.fresh, Ghost: l.evicted}
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
		if slices.Contains(c.watches(), resource) {
			c.hear(heard{o, gone, l.now})
		}
	}
}

func (l *loop) step() {
	c := l.all[l.random.IntN(len(l.all))]
	switch n := l.random.IntN(100); {
	case n < 35:
		l.happen(l.events[l.random.IntN(len(l.events))])
	case n < 65:
		l.show(c)
	case n < 90:
		if n := c.queued(); n > 0 {
			c.work(l, l.random.IntN(n))
		}
	case n < 94:
		if n := c.looking(); n > 0 {
			c.look(l, l.random.IntN(n))
		}
	case n < 99:
		l.pass(time.Duration(1+l.random.IntN(3)) * time.Second)
	case l.random.IntN(10) == 0:
		l.tell("%s stops, and starts again", c.called())
		l.restarts++
		c.begin(l)
	}
}

// show lets the handlers of a kind see a few changes.
func (l *loop) show(c player) {
	kinds := c.watches()
	resource := kinds[l.random.IntN(len(kinds))]
	if resource == l.slow {
		return
	}
	for range 1 + l.random.IntN(4) {
		if c.behind(resource) > 0 {
			c.deliver(l, resource)
		}
	}
}

// showAll lets all handlers of a controller see everything.
func (l *loop) showAll(c player) {
	for _, k := range c.watches() {
		for c.behind(k) > 0 {
			c.deliver(l, k)
		}
	}
}

// interrupt is what comes between two requests of a plan.
func (l *loop) interrupt(c player) {
	if l.settling {
		return
	}
	switch l.random.IntN(8) {
	case 0, 1:
		l.happen(l.events[l.random.IntN(len(l.events))])
	case 2:
		l.show(c)
	}
}

// pass lets time pass. No cache gets older than maxAge.
func (l *loop) pass(d time.Duration) {
	l.now = l.now.Add(d)
	l.server.Now = l.seconds()
	for _, c := range l.all {
		for _, k := range c.watches() {
			for c.behind(k) > 0 && c.oldest(k).Add(maxAge).Before(l.now) {
				c.deliver(l, k)
			}
		}
		c.pass(l)
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

// Guarantees that some runs do without.
const ranges, evictions, oneClaim = "every address has a range", "evictions leave enough", "no claim made twice"

func (l *loop) holds(guarantee, broken string) {
	if _, spared := l.harm[guarantee]; spared && broken != "" {
		l.harm[guarantee]++
		return
	}
	require.Empty(l.t, broken)
}

// check asks the promises of all worlds about a step.
func (l *loop) check(s *Step) {
	s.Ghost = l.letGo
	l.letGo = rememberLetGo(s)
	s.Ghost = l.letGo
	l.holds(ranges, addressesHaveRanges(s))
	s.Ghost = l.evicted
	l.evicted = rememberEvictions(s)
	s.Ghost = l.evicted
	l.holds(evictions, evictionsLeaveEnough(s))
	if s.Request == nil {
		return
	}
	switch s.Request.Resource {
	case serviceCIDRs:
		require.Empty(l.t, serviceCIDRsKeepWhatIsTheirs(s))
	case clusterRoles:
		require.Empty(l.t, clusterRolesKeepWhatIsTheirs(s))
	case claims, pods, apiserver.PodGroups:
		if s.Request.FieldManager == "ResourceClaimController" || s.Request.Resource == claims {
			require.Empty(l.t, nothingTakenFromLivePods(s))
			l.holds(oneClaim, noSecondClaim(s))
			require.Empty(l.t, claimsKeepWhatIsTheirs(s))
		} else {
			require.Empty(l.t, workloadsKeepWhatIsTheirs(s))
		}
	case budgets:
		require.Empty(l.t, workloadsKeepWhatIsTheirs(s))
	case nodesResource:
		require.Empty(l.t, nodesKeepWhatIsTheirs(s))
	}
}

// errLost is the answer that does not come.
var errLost = errors.New("the connection was lost")

// fault is what goes wrong with a call, now and then.
func (l *loop) fault() error {
	if l.settling || l.random.IntN(50) > 0 {
		return nil
	}
	return errLost
}

// send sends a request. It may get lost before it is carried out, or its answer after that.
func (l *loop) send(controller, key string, r purekube.Request) (returned runtime.Object, err error) {
	l.writes++
	before := l.view()
	if err = l.fault(); err == nil {
		returned, err = l.server.Do(r)
		l.check(&Step{Before: before, After: l.view(), Request: &r})
		if err == nil {
			err = l.fault()
		}
	}
	l.tell("%s, for %s: %s %s %s/%s %s: %v", controller, key, r.Verb, r.Resource.Resource, r.Namespace, r.Name, r.Subresource, err)
	if err != nil {
		l.refused++
		return nil, err
	}
	return returned, nil
}

// rest lets everybody go on without users until nothing is left to do, and looks at what came of it.
func (l *loop) rest() {
	l.settling = true
	defer func() { l.settling = false }()
	l.tell("from here on users do nothing, and nothing fails")
	// A key whose plan has a problem is planned again for ever. So it is rest, too, where nothing is written for longer than any
	// pause.
	quiet := l.now
	for round := 0; l.now.Sub(quiet) < time.Hour; round++ {
		require.Less(l.t, round, 3000, "it comes to rest")
		writes := l.writes
		for _, c := range l.all {
			l.drain(c)
		}
		busy := l.writes > writes
		for _, e := range l.events {
			busy = e.Settles && l.happen(e) || busy
		}
		if busy {
			quiet = l.now
			continue
		}
		var first time.Time
		for _, c := range l.all {
			if at := c.next(); !at.IsZero() && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
		if first.IsZero() {
			break
		}
		l.pass(first.Sub(l.now))
	}
	writes := l.writes
	for _, c := range l.all {
		c.begin(l)
		l.drain(c)
	}
	require.Equal(l.t, writes, l.writes, "at rest, a controller that starts again asks for nothing")
	for _, right := range l.right {
		require.Empty(l.t, right(l.view()))
	}
	l.rests++
}

// drain lets a controller do all that it can do at this moment.
func (l *loop) drain(c player) {
	l.showAll(c)
	for tries := 0; c.queued()+c.looking() > 0; tries++ {
		require.Less(l.t, tries, 5000, "%s comes to rest", c.called())
		if c.looking() > 0 {
			c.look(l, 0)
		} else {
			c.work(l, 0)
		}
		l.showAll(c)
	}
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
