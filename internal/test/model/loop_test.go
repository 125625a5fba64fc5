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
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/internal/test/seed"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
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

// looped is a controller in the loop.
type looped struct {
	name  string
	kinds []schema.GroupVersionResource
	// restart makes everything new from the objects, and returns all keys.
	restart func(v *View) (keys []string)
	// changed puts a change into the Index, and returns the keys that it affects.
	changed func(oldObj, newObj Object) (keys []string)
	plan    func(key string, live *View) Decision
	// returned hears of what a write returned.
	returned func(o runtime.Object)

	queue  []string
	timers map[string]time.Time
	caches map[schema.GroupVersionResource]map[types.NamespacedName]Object
	// pending are the changes that a cache does not show yet.
	pending map[schema.GroupVersionResource][]heard
}

type heard struct {
	object Object
	gone   bool
	at     time.Time
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

// deliver shows the oldest pending change of a kind.
func (c *looped) deliver(resource schema.GroupVersionResource) {
	h := c.pending[resource][0]
	c.pending[resource] = c.pending[resource][1:]
	name := types.NamespacedName{Namespace: h.object.GetNamespace(), Name: h.object.GetName()}
	oldObj := c.caches[resource][name]
	var newObj Object
	if h.gone {
		delete(c.caches[resource], name)
	} else {
		newObj = h.object
		c.caches[resource][name] = newObj
	}
	if oldObj != nil || newObj != nil {
		c.enqueue(c.changed(oldObj, newObj)...)
	}
}

func (c *looped) enqueue(keys ...string) {
	for _, k := range keys {
		if !slices.Contains(c.queue, k) {
			c.queue = append(c.queue, k)
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
			require.Empty(l.t, noSecondClaim(s))
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
	for _, right := range []func(*View) string{serviceCIDRsAreRight, claimsServePods, budgetsAreExact, rulesHaveSources, nodesHaveOneTTL} {
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

func newLoop(t *testing.T, seed uint64) *loop {
	l := &loop{t: t, random: rand.New(rand.NewPCG(seed, 5)), server: apiserver.New(), now: Start, fresh: 1000}
	l.server.Now, l.server.Changed = l.now, l.heard
	var objects []Object
	uid := func() int { l.fresh++; return l.fresh }

	prefixes := [][]string{{"10.0.0.0/24"}, {"10.0.0.0/24"}, {"10.0.0.0/25"}, {"10.0.0.128/25"}, {"10.0.0.0/26"}, {"10.0.1.0/24"}, {"10.0.0.0/23"},
		{"10.0.1.0/25", "fd00::/112"}, {"fd00::/112"}, {"fd00::/120", "10.0.1.0/24"}}
	addresses := []string{}
	for i := range 25 {
		addresses = append(addresses, fmt.Sprintf("10.0.0.%d", 1+i*10), fmt.Sprintf("10.0.1.%d", 2+i*10), fmt.Sprintf("fd00::%x", 1+i*20))
	}
	addresses = append(addresses, "10.0.0.127", "10.0.0.128", "10.0.0.255", "10.0.1.0", "fd00::100")
	for i, cidrs := range prefixes {
		objects = append(objects, newServiceCIDR(string(rune('a'+i)), uid(), cidrs))
	}
	for i := range 40 {
		labels := []string{fmt.Sprintf("in-%d", l.random.IntN(6))}
		if i < 10 {
			objects = append(objects, aggregating(fmt.Sprintf("role-%d", i), uid(), fmt.Sprintf("in-%d", l.random.IntN(6)), labels...))
			continue
		}
		r := aggregating(fmt.Sprintf("role-%d", i), uid(), "", labels...)
		r.Rules = []rbacv1.PolicyRule{verbRule(fmt.Sprintf("verb-%d", i%25))}
		objects = append(objects, r)
	}
	for i := range 95 {
		n := newNode(fmt.Sprintf("node-%d", i), zero)
		n.UID = UID(uid())
		objects = append(objects, n)
	}
	for i := range 4 {
		s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("db%d", i), UID: UID(uid())}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To(int32(2 + i))}}
		b := newBudget(s.Name, uid())
		b.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(int32(1 + i%2)))
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("web%d", i), UID: UID(uid())}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(3 + 2*i))}}
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: d.Name + "-rs", UID: UID(uid()), OwnerReferences: controlledBy("Deployment", d.Name, uidNumber(d.UID))}, Spec: appsv1.ReplicaSetSpec{Replicas: d.Spec.Replicas}}
		w := newBudget(d.Name, uid())
		w.Spec.MinAvailable = ptr.To(intstr.FromString("50%"))
		objects = append(objects, s, b, d, rs, w)
	}
	objects = append(objects,
		&resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gpu", UID: UID(uid())}},
		&resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shared", UID: UID(uid())}})
	for _, o := range objects {
		l.server.Put(o)
	}

	var users, groups []string
	for i := range 5 {
		for _, kind := range []string{"one", "two", "both", "share", "team", "also"} {
			users = append(users, fmt.Sprintf("%s-%d", kind, i))
		}
		groups = append(groups, fmt.Sprintf("group-%d", i))
	}
	claimEvents := claimWorldOf(resourceclaim.Options{}, users...).without("terminated", "claim held by a driver", "pod bound by hand", "pod deleted").Events
	l.events = slices.Concat(
		serviceCIDRWorld("", servicecidr.Options{}, prefixes, addresses).Events,
		claimEvents,
		podGroupEvents(groups, "gpu"),
		budgetWorld(disruption.Options{}).without("scaled", "budget changed", "preempted").Events,
		[]Event{
			{Name: "pod deleted", Do: func(v *View, do func(string, ...Change)) {
				for _, p := range All[*corev1.Pod](v) {
					if p.DeletionTimestamp == nil && p.Labels["app"] == "" {
						if p.Spec.NodeName == "" {
							do("the user deletes pod "+p.Name+", which has no node", Remove(p))
						} else {
							do("the user deletes pod "+p.Name, deletePod(v, p))
						}
					}
				}
			}},
			{Name: "nodes", Do: func(v *View, do func(string, ...Change)) {
				nodes := All[*corev1.Node](v)
				n := newNode(fmt.Sprintf("node-%d", v.Fresh), bare)
				n.UID = UID(v.Fresh)
				switch {
				case len(nodes) < 103 && (v.Fresh/300)%2 == 0:
					do("node "+n.Name+" is added", Put(n))
				case len(nodes) > 88:
					n := nodes[v.Fresh%len(nodes)]
					do("node "+n.Name+" is deleted", Remove(n))
				}
			}},
			{Name: "role changed", Do: func(v *View, do func(string, ...Change)) {
				roles := All[*rbacv1.ClusterRole](v)
				r := roles[v.Fresh%len(roles)].DeepCopy()
				if r.AggregationRule == nil {
					r.Rules = []rbacv1.PolicyRule{verbRule(fmt.Sprintf("verb-%d", v.Fresh%25))}
					do("the user writes another rule into "+r.Name, Put(r))
				}
				r = r.DeepCopy()
				r.Labels = map[string]string{fmt.Sprintf("in-%d", v.Fresh/7%6): "true"}
				do("the user labels "+r.Name, Put(r))
			}},
		})
	l.all = []*looped{serviceCIDRLoop(), claimLoop(l), budgetLoop(), clusterRoleLoop(), nodeLoop()}
	for _, c := range l.all {
		l.start(c)
	}
	return l
}

// index is what the packages' Indexes have in common.
type index[S, K, X any] interface {
	With(changed S) (X, []K)
	Without(gone S) (X, []K)
}

// changeIndex puts a change of an object into an Index, and returns the keys that it affects.
func changeIndex[S, K any, X index[S, K, X]](x *X, snapshot func(Object) S, oldObj, newObj Object) (keys []K) {
	if newObj == nil {
		*x, keys = (*x).Without(snapshot(oldObj))
	} else {
		*x, keys = (*x).With(snapshot(newObj))
	}
	return keys
}

func serviceCIDRLoop() *looped {
	var x *servicecidr.Index
	return &looped{
		name: "servicecidr", kinds: []schema.GroupVersionResource{serviceCIDRs, ipAddresses},
		restart: func(v *View) (keys []string) {
			x = servicecidr.NewIndex(servicecidr.Snapshot{Now: v.Now, ServiceCIDRs: All[*networkingv1.ServiceCIDR](v), IPAddresses: All[*networkingv1.IPAddress](v)}, servicecidr.Options{})
			for _, c := range All[*networkingv1.ServiceCIDR](v) {
				keys = append(keys, c.Name)
			}
			return keys
		},
		changed: func(oldObj, newObj Object) []string { return namesOf(changeIndex(&x, rangesOf, oldObj, newObj)) },
		plan: func(key string, live *View) Decision {
			now, _ := x.With(servicecidr.Snapshot{Now: live.Now})
			r, err := now.Plan(servicecidr.Key(key))
			return Decision{Actions(r.Actions), r.Needs, r.RecheckAt, err}
		},
	}
}

func clusterRoleLoop() *looped {
	var x *rbacaggregate.Index
	snapshot := func(o Object) rbacaggregate.Snapshot {
		return rbacaggregate.Snapshot{ClusterRoles: []*rbacv1.ClusterRole{o.(*rbacv1.ClusterRole)}}
	}
	return &looped{
		name: "rbacaggregate", kinds: []schema.GroupVersionResource{clusterRoles},
		restart: func(v *View) (keys []string) {
			x = rbacaggregate.NewIndex(rbacaggregate.Snapshot{ClusterRoles: All[*rbacv1.ClusterRole](v)}, rbacaggregate.Options{})
			for _, r := range All[*rbacv1.ClusterRole](v) {
				keys = append(keys, r.Name)
			}
			return keys
		},
		changed: func(oldObj, newObj Object) []string { return namesOf(changeIndex(&x, snapshot, oldObj, newObj)) },
		plan: func(key string, _ *View) Decision {
			r, err := x.Plan(rbacaggregate.Key(key))
			return Decision{Actions(r.Actions), r.Needs, r.RecheckAt, err}
		},
	}
}

func nodeLoop() *looped {
	var x *ttl.Index
	snapshot := func(o Object) ttl.Snapshot { return ttl.Snapshot{Nodes: []*corev1.Node{o.(*corev1.Node)}} }
	return &looped{
		name: "ttl", kinds: []schema.GroupVersionResource{nodesResource},
		restart: func(v *View) (keys []string) {
			nodes := All[*corev1.Node](v)
			x = ttl.NewIndex(ttl.Snapshot{Step: ttl.Table{}.Recover(nodes), Nodes: nodes}, ttl.Options{})
			for _, n := range nodes {
				keys = append(keys, ttl.KeyOf(n).String())
			}
			return keys
		},
		changed: func(oldObj, newObj Object) []string { return texts(changeIndex(&x, snapshot, oldObj, newObj)) },
		plan: func(key string, _ *View) Decision {
			k, err := purekube.ParseKey(key)
			if err != nil {
				panic(err)
			}
			r, err := x.Plan(k)
			return Decision{Actions(r.Actions), r.Needs, r.RecheckAt, err}
		},
	}
}

func budgetLoop() *looped {
	var x *disruption.Index
	return &looped{
		name: "disruption", kinds: []schema.GroupVersionResource{budgets, pods, deployments, replicaSets, statefulSets},
		restart: func(v *View) (keys []string) {
			x = disruption.NewIndex(disruption.Snapshot{Now: v.Now, Budgets: All[*policyv1.PodDisruptionBudget](v), Pods: All[*corev1.Pod](v),
				Deployments: All[*appsv1.Deployment](v), ReplicaSets: All[*appsv1.ReplicaSet](v), StatefulSets: All[*appsv1.StatefulSet](v)}, disruption.Options{})
			return budgetController(disruption.Options{}).Keys(v)
		},
		changed: func(oldObj, newObj Object) []string { return texts(changeIndex(&x, budgetObject, oldObj, newObj)) },
		plan: func(key string, live *View) Decision {
			k, err := purekube.ParseKey(key)
			if err != nil {
				panic(err)
			}
			answered, _ := x.With(disruption.Snapshot{Now: live.Now})
			r, err := answered.Plan(k)
			for rounds := 0; len(r.Needs) > 0 && rounds < 5; rounds++ {
				s := disruption.Snapshot{Answers: map[purekube.Need]purekube.Answer{}}
				for _, n := range r.Needs {
					s.Answers[n] = answerOf(live, n)
				}
				answered, _ = answered.With(s)
				r, err = answered.Plan(k)
			}
			return Decision{Actions(r.Actions), r.Needs, r.RecheckAt, err}
		},
	}
}

func claimLoop(l *loop) *looped {
	var x *resourceclaim.Index
	var assumed *resourceclaim.AssumedClaims
	var deleted *resourceclaim.DeletedPods
	snapshot := func(o Object) (s resourceclaim.Snapshot) {
		switch o := o.(type) {
		case *corev1.Pod:
			s.Pods = append(s.Pods, o)
		case *apiserver.PodGroup:
			s.PodGroups = append(s.PodGroups, *groupFor(o))
		case *resourcev1.ResourceClaim:
			s.Claims = append(s.Claims, o)
		case *resourcev1.ResourceClaimTemplate:
			s.Templates = append(s.Templates, o)
		}
		return s
	}
	return &looped{
		name: "resourceclaim", kinds: []schema.GroupVersionResource{pods, apiserver.PodGroups, claims, templates},
		restart: func(v *View) (keys []string) {
			assumed, deleted = &resourceclaim.AssumedClaims{}, &resourceclaim.DeletedPods{}
			x = resourceclaim.NewIndex(resourceclaim.Snapshot{Now: v.Now, Pods: All[*corev1.Pod](v), PodGroups: podGroupsOf(v), Claims: All[*resourcev1.ResourceClaim](v),
				Templates: All[*resourcev1.ResourceClaimTemplate](v), Deleted: deleted.Has}, resourceclaim.Options{PodGroupOf: podGroupOf})
			return claimController(resourceclaim.Options{}).Keys(v)
		},
		changed: func(oldObj, newObj Object) []string {
			if oldObj != nil && (newObj == nil || oldObj.GetUID() != newObj.GetUID()) {
				switch oldObj.(type) {
				case *corev1.Pod:
					deleted.Add(oldObj.GetUID())
				case *resourcev1.ResourceClaim:
					assumed.Forget(oldObj.GetUID())
				}
			}
			return texts(changeIndex(&x, snapshot, oldObj, newObj))
		},
		plan: func(key string, live *View) Decision {
			k, err := resourceclaim.ParseKey(key)
			if err != nil {
				panic(err)
			}
			answered, _ := x.With(resourceclaim.Snapshot{Assumed: assumed.ListFor(l.now, x)})
			r, err := answered.Plan(k)
			for rounds := 0; len(r.Needs) > 0 && rounds < 5; rounds++ {
				var s resourceclaim.Snapshot
				confirm(&s, r.Needs, live)
				answered, _ = answered.With(s)
				r, err = answered.Plan(k)
			}
			return Decision{Actions(r.Actions), r.Needs, r.RecheckAt, err}
		},
		returned: func(o runtime.Object) { assumed.Add(o, l.now) },
	}
}

// nodesResource is the resource of nodes.
var nodesResource = corev1.SchemeGroupVersion.WithResource("nodes")
