package drain

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// planner forms waves, one after the other.
type planner struct {
	x      *disruption.Index
	o      WaveOptions
	rounds int
	groups []*group
	// links are the budgets and controllers that pods share, by number.
	links map[any]int
	rooms map[types.NamespacedName]*room
	// deleting are pods that are being deleted, on whatever node: they go with any wave that waits for their budgets.
	deleting []*candidate
	// wave is the wave that is formed, and exactly says that drains are played for each of its nodes.
	wave    wave
	exactly bool
}

// group are nodes that can be in one wave. left are the nodes that are in no wave yet, sorted by name.
type group struct {
	name string
	left []*candidate
}

// candidate is a node that is in no wave yet.
type candidate struct {
	name string
	pods []*corev1.Pod
	// never: it does not drain, whatever the budgets allow.
	never   bool
	demands []demand
	links   []int
	// listed: a budget of its pods has entries in status.disruptedPods, which may expire while a wave waits.
	listed bool
	// rejected is with how many nodes of the wave it was linked when it was tried, plus one.
	rejected int
}

// demand is how many pods of a node a budget has to let go: by their readiness, as in budgetQueues.
type demand struct {
	room *room
	pods [2]int
	// samples are pods of each readiness.
	samples [2]types.NamespacedName
	// order: it matters for others when its pods go in a round.
	order bool
}

// newPlanner sorts the nodes by groups, and finds out what their pods ask of budgets.
func newPlanner(x *disruption.Index, names []string, o WaveOptions) *planner {
	p := &planner{x: x, o: o, rounds: o.rounds(), links: map[any]int{}, rooms: map[types.NamespacedName]*room{}}
	byName := map[string]*group{}
	namespaces := map[string]bool{}
	for _, name := range names {
		c := p.candidate(name)
		of := ""
		if o.GroupOf != nil {
			of = o.GroupOf(name)
		}
		g := byName[of]
		if g == nil {
			g = &group{name: of}
			byName[of] = g
			p.groups = append(p.groups, g)
		}
		g.left = append(g.left, c)
		for _, pod := range c.pods {
			namespaces[pod.Namespace] = true
		}
	}
	slices.SortFunc(p.groups, func(a, b *group) int { return cmp.Compare(a.name, b.name) })
	for namespace := range namespaces {
		for _, pod := range x.PodsBeingDeleted(namespace) {
			if c := (&candidate{}); !o.stuck(pod, x.Now()) {
				p.link(c, pod, budgetsOf(x, pod))
				p.deleting = append(p.deleting, c)
			}
		}
	}
	return p
}

// candidate is the node with that name.
func (p *planner) candidate(name string) *candidate {
	c := &candidate{name: name}
	d, pods := sorted(p.x, name, p.o.Options)
	if d.Outcome == NotStarted || len(d.Refused) > 0 {
		c.never = true
		return c
	}
	c.pods = pods
	demands := map[*room]*demand{}
	for _, pod := range pods {
		covering := budgetsOf(p.x, pod)
		p.link(c, pod, covering)
		// The error is about the objects that the verdict rests on, and the verdict says so.
		e, _ := p.x.CheckEviction(snapshot.KeyOf(pod), p.o.status())
		if e.Verdict == disruption.NoVerdict || e.Verdict == disruption.RefusedConflictingBudgets {
			c.never = true
			return c
		}
		for _, name := range covering {
			r := p.room(name)
			c.listed = c.listed || r.listed
			d := demands[r]
			if d == nil {
				d = &demand{room: r}
				demands[r] = d
			}
			if asks := e.Budget == name; asks {
				d.pods[queueOf(pod)]++
				d.samples[queueOf(pod)] = snapshot.KeyOf(pod)
			}
			d.order = d.order || p.takesTurns(pod, name, e)
		}
	}
	for _, d := range demands {
		c.demands = append(c.demands, *d)
	}
	slices.SortFunc(c.demands, func(a, b demand) int { return cmp.Compare(a.room.number, b.room.number) })
	return c
}

// takesTurns reports whether it matters for others when the pod goes in a round: it changes how many pods of the budget
// are healthy without asking the budget, or asks and changes nothing.
func (p *planner) takesTurns(pod *corev1.Pod, budget types.NamespacedName, e disruption.Eviction) bool {
	if p.o.Budgets == AsWritten {
		return false
	}
	_, listed := p.x.Budget(budget).Status.DisruptedPods[pod.Name]
	return listed || e.Budget != budget && podstate.Ready(pod) && pod.DeletionTimestamp == nil
}

// link notes that pods which share a budget or a controller with the pod are not independent of it.
func (p *planner) link(c *candidate, pod *corev1.Pod, covering []types.NamespacedName) {
	note := func(key any) {
		n, known := p.links[key]
		if !known {
			n = len(p.links)
			p.links[key] = n
		}
		c.links = append(c.links, n)
	}
	for _, b := range covering {
		note(b)
	}
	if by := ownerOf(pod); by != nil && by.ref.Kind != statefulSetKind {
		// Only where there are more pods than replicas does it matter for others whether a pod goes.
		if of := p.x.WorkloadOf(by.namespace, &by.ref); of.Recreates && of.MaxPods > int(of.Replicas) {
			note(*by)
		}
	}
}

// left are the nodes in no wave, sorted by name.
func (p *planner) left() []*candidate {
	var left []*candidate
	for _, g := range p.groups {
		left = append(left, g.left...)
	}
	slices.SortFunc(left, func(a, b *candidate) int { return cmp.Compare(a.name, b.name) })
	return left
}

// next forms a wave of nodes of the group, and drains it. It reports whether there is one.
func (p *planner) next(g *group) (Wave, bool) {
	p.form(g)
	if len(p.wave.members) == 0 {
		return Wave{}, false
	}
	w := p.drainer(p.wave.members)
	if !w.drains() {
		// What makes nodes depend on each other has been missed: try each of them with all others.
		p.exactly = true
		p.form(g)
		p.exactly = false
		if len(p.wave.members) == 0 {
			return Wave{}, false
		}
		w = p.drainer(p.wave.members)
		w.play()
	}
	formed := Wave{Group: g.name}
	members := map[*candidate]bool{}
	drains := make([]Drain, len(p.wave.members))
	for i, c := range p.wave.members {
		drains[i], _ = sorted(p.x, c.name, p.o.Options)
		formed.Nodes = append(formed.Nodes, c.name)
		members[c] = true
	}
	w.settleOutcomes(drains, false)
	formed.Drains = drains
	g.left = slices.DeleteFunc(g.left, func(c *candidate) bool { return members[c] })
	p.x = w.x
	for name := range w.touched {
		if r := p.rooms[name]; r != nil {
			r.known = [2]bool{}
		}
	}
	return formed, true
}

// drainer begins the drain of these nodes.
func (p *planner) drainer(nodes []*candidate) *drainer {
	pods := make([][]*corev1.Pod, len(nodes))
	for i, c := range nodes {
		_, pods[i] = sorted(p.x, c.name, p.o.Options)
	}
	o := p.o.Options
	o.MaxRounds = p.rounds
	return newDrainer(p.x, pods, o)
}

// drains plays the drain, and reports whether all pods go.
func (w *drainer) drains() bool {
	w.play()
	return w.waiting == 0 && !slices.ContainsFunc(w.nodes, func(n *nodeDrain) bool { return len(n.refused)+len(n.unknown) > 0 })
}

// form chooses the nodes of a wave.
func (p *planner) form(g *group) {
	p.wave = wave{number: p.wave.number + 1, linked: map[int][]*candidate{}}
	for _, c := range p.deleting {
		p.wave.link(c)
	}
	for _, c := range g.left {
		c.rejected = 0
	}
	for more := true; more; {
		more = false
		for _, c := range g.left {
			if p.full() {
				break
			}
			if c.never || p.wave.has[c] || !p.fits(c) {
				continue
			}
			p.wave.add(c)
			// In one round a node takes from the budgets, and never gives. In more, it may make another one drain.
			more = p.rounds != 1
		}
	}
	slices.SortFunc(p.wave.members, func(a, b *candidate) int { return cmp.Compare(a.name, b.name) })
}

func (p *planner) full() bool { return p.o.MaxNodes > 0 && len(p.wave.members) >= p.o.MaxNodes }
