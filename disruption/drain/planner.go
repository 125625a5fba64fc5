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
	// links are the budgets and controllers that pods share, by number, and linkedRooms the budgets among them.
	links       map[any]int
	linkedRooms map[int]*room
	rooms       map[types.NamespacedName]*room
	// deleting are pods that are being deleted, on whatever node, by what links them to others: they go with any wave
	// that waits for their budgets.
	deleting map[int][]*candidate
	owners   map[owner]*ownerState
	// wave is the wave that is formed, and exactly says that drains are played for each of its nodes.
	wave    wave
	exactly bool
	// drained are the pods of all waves before, and played how many pods have been played to find out which nodes fit.
	drained, played int
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
	// rejected is with how many nodes of the wave it was linked when it was tried, plus one. full is the budget that
	// refused its pods last, asked first the next time.
	rejected int
	full     int
}

// demand is how many pods of a node a budget has to let go: by their readiness, as in budgetQueues.
type demand struct {
	room *room
	pods [2]int
	// samples are pods of each readiness.
	samples [2]types.NamespacedName
	// order: it matters for others when its pods go in a round. free are its ready pods that go without asking.
	order bool
	free  int
	// lost are the pods that ask, are ready, and may not be so when they are recreated; surely counts the pods among them that
	// are not, whatever others go. loses: the budget may want another number of healthy pods after a round, since pods that go
	// are not recreated as they were.
	lost, surely int
	loses        bool
}

// newPlanner sorts the nodes by groups, and finds out what their pods ask of budgets.
func newPlanner(x *disruption.Index, names []string, o WaveOptions) *planner {
	p := &planner{
		x: x, o: o, rounds: o.rounds(), links: map[any]int{}, linkedRooms: map[int]*room{}, rooms: map[types.NamespacedName]*room{},
		deleting: map[int][]*candidate{}, owners: map[owner]*ownerState{},
	}
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
			if o.stuck(pod, x.Now()) {
				continue
			}
			c, covering := &candidate{}, budgetsOf(x, pod)
			p.link(c, pod, covering)
			for _, l := range c.links {
				p.deleting[l] = append(p.deleting[l], c)
			}
			for _, name := range covering {
				r := p.room(name)
				r.deleting = append(r.deleting, snapshot.KeyOf(pod))
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
			d := demands[r]
			if d == nil {
				d = &demand{room: r}
				demands[r] = d
			}
			asks := e.Budget == name
			if asks {
				d.pods[queueOf(pod)]++
				d.samples[queueOf(pod)] = snapshot.KeyOf(pod)
			} else if podstate.Ready(pod) && pod.DeletionTimestamp == nil {
				d.free++
			}
			d.order = d.order || p.takesTurns(pod, name, e)
			switch p.fateOf(pod, r.constant) {
			case isLost:
				d.surely++
				d.lost++
			case mayBeLost:
				d.lost++
			case mayChange:
				d.loses = true
			case noChange:
			}
		}
	}
	for _, d := range demands {
		c.demands = append(c.demands, *d)
	}
	slices.SortFunc(c.demands, func(a, b demand) int { return cmp.Compare(a.room.number, b.room.number) })
	return c
}

// fate is what a budget sees of a pod that goes, when the round is over.
type fate int

const (
	// noChange: the pod is recreated as it was, or the budget does not count it.
	noChange fate = iota
	// isLost: one ready pod less. mayBeLost: perhaps, it depends on other pods of the controller.
	isLost
	mayBeLost
	// mayChange: the budget may want another number of healthy pods.
	mayChange
)

// fateOf says what becomes of a pod of a budget. constant: the budget wants the same number of healthy pods, whatever
// pods there are. Pods that are being deleted are not healthy when they go; see planner.later for how they return.
func (p *planner) fateOf(pod *corev1.Pod, constant bool) fate {
	ready := podstate.Ready(pod)
	whether := func(f fate) fate {
		if ready {
			return f
		}
		return noChange
	}
	if pod.DeletionTimestamp != nil {
		return noChange
	}
	by := ownerOf(pod)
	if by == nil {
		// No budget expects it.
		return whether(isLost)
	}
	o := p.owner(*by)
	as := active(pod) && (!ready || runs(pod))
	switch {
	case o.need != nil:
		return mayChange
	case as && !o.none && o.all:
		return noChange
	case as && !o.none && o.numbered:
		if n, found := o.ordinal(pod); found && o.first <= n && n <= o.last {
			return noChange
		}
	case as && !o.none && o.missing >= 0:
		return noChange
	case as && !o.none && o.replicas > 0:
		// The controller keeps some of its pods, so budgets expect as many pods as before.
		return whether(mayBeLost)
	case active(pod) && o.perhaps:
		return whether(isLost)
	}
	if constant {
		return whether(mayBeLost)
	}
	return mayChange
}

// owner is how the controller recreates pods when none is going.
func (p *planner) owner(by owner) *ownerState {
	o := p.owners[by]
	if o == nil {
		o = stateOf(p.x, by, nil)
		p.owners[by] = o
	}
	return o
}

// lists reports whether the budget has entries in status.disruptedPods that expire while a wave waits.
func (p *planner) lists(budget types.NamespacedName) bool {
	// The error is about the status, which allows nothing then.
	r, _ := p.x.Plan(disruption.BudgetKey(budget.Namespace, budget.Name))
	return !r.RecheckAt.IsZero()
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
	note := func(key any) int {
		n, known := p.links[key]
		if !known {
			n = len(p.links)
			p.links[key] = n
		}
		c.links = append(c.links, n)
		return n
	}
	for _, b := range covering {
		p.linkedRooms[note(b)] = p.room(b)
	}
	if by := ownerOf(pod); by != nil && by.ref.Kind != statefulSetKind {
		// Only where there are more pods than replicas does it matter for others whether a pod goes.
		if o := p.owner(*by); !o.none && !o.all {
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
	p.drained += p.wave.pods
	for name := range w.touched {
		if r := p.rooms[name]; r != nil {
			r.known, r.allowed, r.again = [2]bool{}, 0, nil
			r.listed = p.lists(name)
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
			// A node takes from the budgets. Only in more than one round, and if its pods are not recreated as they were,
			// it may give and make another one drain.
			if gives := p.add(c); gives && p.rounds != 1 {
				more = true
			}
		}
	}
	slices.SortFunc(p.wave.members, func(a, b *candidate) int { return cmp.Compare(a.name, b.name) })
}

func (p *planner) full() bool { return p.o.MaxNodes > 0 && len(p.wave.members) >= p.o.MaxNodes }
