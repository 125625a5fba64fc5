package drain

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/disruption"
)

// planner forms waves, one after the other, by simulating drains. x is the cluster that the previous wave left.
type planner struct {
	x      *disruption.Index
	o      WaveOptions
	rounds int
	groups []*group
	// changed is how often a budget or a controller has lost pods. A budget repeats a refusal until its number changes.
	changed map[any]int
	// surplus says which controllers have more pods than they want.
	surplus map[owner]bool
	// refuses is what the budget lets a node do in one round, where it has refused a pod of another node.
	refuses map[queue]limit
	// failed is how many pods were drained in vain, in simulations of several rounds which showed that a node cannot join
	// a wave. drained is how many pods the waves drain. mayFail bounds failed.
	failed, drained, mayFail int
}

// group are nodes that can be in one wave. left are the nodes that are in no wave yet, sorted by name.
type group struct {
	name string
	left []*candidate
	// most is how many nodes a wave of one round may have, once room has limited a wave. 0: all.
	most int
}

// largerWave: once room has limited a wave, the next one has at most so many times as many nodes. Otherwise, the nodes
// that are left would be played as one wave each time.
const largerWave = 4

// candidate is a node that is in no wave yet.
type candidate struct {
	name string
	pods int
	// never: a pod needs a flag that is not set, or does not end, or fits on no other node.
	never bool
	// alone: a simulation has shown that it drains alone.
	alone bool
	// sharesRoom: its pods need room on other nodes, and its drain removes its own room.
	sharesRoom bool
	// budgets select its pods. With several rounds, they are only the budgets that may be in the way. controllers are the
	// controllers of its pods that have a surplus.
	budgets, controllers []any
	// asks is how many pods ask a budget that gives them all the same answer.
	asks map[queue]int
	// refused is how often the budgets that refused it, and its controllers, had changed then.
	refused map[any]int
}

// queue is pods of a budget that have the same readiness: see budgetQueues.
type queue struct {
	budget types.NamespacedName
	number int
}

// limit is how many pods of a node a budget lets go, since it changed the last time.
type limit struct{ pods, changed int }

func newPlanner(x *disruption.Index, names []string, o WaveOptions) *planner {
	p := &planner{x: x, o: o, rounds: o.rounds(), changed: map[any]int{}, surplus: map[owner]bool{},
		refuses: map[queue]limit{}, mayFail: mayFail}
	if o.Budgets == AsWritten {
		p.rounds = 1 // nothing is recreated, so no later round lets more pods go
	}
	byName := map[string]*group{}
	for _, name := range names {
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
		g.left = append(g.left, p.candidate(name))
	}
	slices.SortFunc(p.groups, func(a, b *group) int { return cmp.Compare(a.name, b.name) })
	if p.rounds != 1 {
		p.leaveOutWhatIsFree()
	}
	return p
}

// leaveOutWhatIsFree leaves out the budgets that let the pods of all nodes go at once: they are in nobody's way.
// Otherwise a budget over a pod of every node would make each simulation one of the whole wave.
func (p *planner) leaveOutWhatIsFree() {
	all := p.left()
	w := p.drainer(p.x, all)
	w.first()
	refuses := w.inTheWay()
	for _, c := range all {
		c.budgets = slices.DeleteFunc(c.budgets, func(b any) bool { return !refuses[b.(types.NamespacedName)] })
	}
}

func (p *planner) candidate(name string) *candidate {
	c := &candidate{name: name, sharesRoom: p.o.checksNodes(), asks: map[queue]int{}, refused: map[any]int{}}
	d, pods := sorted(p.x, name, p.o.Options)
	c.never = len(d.Refused) > 0
	c.pods = len(pods)
	budgets, controllers := map[types.NamespacedName]int{}, map[owner]bool{}
	for _, pod := range pods {
		covering := budgetsOf(p.x, pod)
		for _, b := range covering {
			budgets[b]++
		}
		if len(covering) == 1 && asks(pod) {
			if _, granted := p.x.Budget(covering[0]).Status.DisruptedPods[pod.Name]; !granted {
				c.asks[queue{covering[0], queueOf(pod)}]++
			}
		}
		if by := ownerOf(pod); by != nil && p.hasSurplus(*by) {
			controllers[*by] = true
		}
	}
	// Pods that go without asking, or ask in another queue, may change what the budget answers.
	maps.DeleteFunc(c.asks, func(q queue, pods int) bool { return pods < budgets[q.budget] })
	for b := range budgets {
		c.budgets = append(c.budgets, b)
	}
	for o := range controllers {
		c.controllers = append(c.controllers, o)
	}
	return c
}

// hasSurplus reports whether the controller has more pods than it wants. Then it depends on its other pods whether a
// pod that goes is recreated.
func (p *planner) hasSurplus(by owner) bool {
	surplus, known := p.surplus[by]
	if !known && by.ref.Kind != statefulSetKind { // which recreates pods by their ordinals
		o := stateOf(p.x, by, nil)
		surplus = !o.none && !o.all
		p.surplus[by] = surplus
	}
	return surplus
}

// allRoom is what all nodes share when recreated pods have to find one.
type allRoom struct{}

// shares is what its pods may have in common with pods of other nodes.
func (c *candidate) shares() []any {
	shared := slices.Concat(c.budgets, c.controllers)
	if c.sharesRoom {
		shared = append(shared, allRoom{})
	}
	return shared
}

// left are the nodes in no wave.
func (p *planner) left() []*candidate {
	var left []*candidate
	for _, g := range p.groups {
		left = append(left, g.left...)
	}
	return left
}

// waves forms waves until no node is left that drains.
func (p *planner) waves() (waves []Wave) {
	for more := true; more; {
		more = false
		for _, g := range p.groups {
			for {
				wave, formed := p.next(g)
				if !formed {
					break
				}
				waves = append(waves, wave)
				// A wave can make other groups' nodes drain that did not before.
				more = len(p.groups) > 1
			}
		}
	}
	return waves
}

// next forms a wave of nodes of the group, sorted by name, and drains it. It reports whether there is one.
func (p *planner) next(g *group) (Wave, bool) {
	form := p.severalRounds
	if p.rounds == 1 {
		form = func(row []*candidate) []*candidate { return p.oneRound(row, g.most) }
	}
	row, short := g.left, g.most > 0
	nodes := form(row)
	w := p.played(nodes)
	for !w.drained() {
		// What was refused together with nodes that do not end up in the wave may be allowed without them.
		p.forget()
		var together []*candidate
		if w.leavesPending() { // with nodes, what several rounds find has room together
			short = true
			together = p.severalRounds(nodes)
			row = without(row, nodes)
		} else {
			// The nodes were simulated one after the other, or only some of them together, and their order makes a
			// difference. It does for pods that go without asking a budget although the budget counts them as healthy: only
			// kubelets write such a status.
			n, _ := p.longest(nil, nodes)
			row = without(row, nodes[n:n+1])
		}
		if nodes = together; len(nodes) == 0 {
			nodes = form(row)
		}
		w = p.played(nodes)
	}
	if len(nodes) == 0 {
		return Wave{}, false
	}
	if short {
		g.most = largerWave * len(nodes)
	}
	formed := Wave{Group: g.name}
	drains := make([]Drain, len(nodes))
	for i, c := range nodes {
		drains[i], _ = sorted(p.x, c.name, p.o.Options)
		formed.Nodes = append(formed.Nodes, c.name)
		p.drained += c.pods
	}
	w.settleOutcomes(drains, false)
	formed.Drains = drains
	g.left = without(g.left, nodes)
	for budget := range w.touched {
		p.changed[budget]++
	}
	for controller := range w.owners {
		p.changed[controller]++
	}
	p.changed[allRoom{}]++
	if !w.x.Now().Equal(p.x.Now()) {
		p.forget() // any budget may have let go of an entry of its status
	}
	p.x = w.x
	if w.placement != nil {
		p.o.inventory = p.o.inventory.after(p.x, w.placement)
		for i := range w.placement.rooms {
			w.otherNodes[p.o.inventory.nodes[i].Name] = true
		}
	}
	p.lookAgain(w.otherNodes)
	return formed, true
}

// without is the row without some of its nodes.
func without(row, some []*candidate) []*candidate {
	in := map[*candidate]bool{}
	for _, c := range some {
		in[c] = true
	}
	return slices.DeleteFunc(slices.Clone(row), func(c *candidate) bool { return in[c] })
}

// lookAgain looks again at the nodes that have other pods than before.
func (p *planner) lookAgain(nodes map[string]bool) {
	for _, g := range p.groups {
		for i, c := range g.left {
			if nodes[c.name] {
				g.left[i] = p.candidate(c.name)
			}
		}
	}
}

// forget lets every node be asked again.
func (p *planner) forget() {
	clear(p.refuses)
	for _, c := range p.left() {
		clear(c.refused)
	}
}

// played is the drain of these nodes, in the order of their names.
func (p *planner) played(nodes []*candidate) *drainer {
	byName := func(a, b *candidate) int { return cmp.Compare(a.name, b.name) }
	w := p.drainer(p.x, slices.SortedFunc(slices.Values(nodes), byName))
	w.play()
	return w
}

// drainer begins the drain of these nodes.
func (p *planner) drainer(x *disruption.Index, nodes []*candidate) *drainer {
	pods := make([][]*corev1.Pod, len(nodes))
	names := make([]string, len(nodes))
	never := false
	for i, c := range nodes {
		names[i] = c.name
		d, of := sorted(x, c.name, p.o.Options)
		pods[i], never = of, never || len(d.Refused) > 0
	}
	o := p.o.Options
	o.MaxRounds = p.rounds
	w := newDrainer(x, names, pods, o)
	w.never = never
	return w
}

// oneRound simulates one round. A node is in the wave if all of its pods go after the pods of the nodes that the wave
// has. A refused node is not asked again: pods that go make no room for others in the same round. If most is not 0,
// the wave has no more nodes.
func (p *planner) oneRound(row []*candidate, most int) (wave []*candidate) {
	x := p.x
	for _, c := range row {
		if p.full(wave) || most > 0 && len(wave) >= most {
			break
		}
		// A node whose pods find no other node would take from the budgets what other nodes need.
		if p.refusesAgain(c) || p.o.checksNodes() && !p.drainsAlone(c) {
			continue
		}
		w := p.drainer(x, []*candidate{c})
		if w.first(); w.drained() {
			x = w.shown()
			wave = append(wave, c)
		} else {
			p.noteRefusal(c, w)
		}
	}
	return wave
}

func (p *planner) full(wave []*candidate) bool { return p.o.MaxNodes > 0 && len(wave) >= p.o.MaxNodes }

// refusesAgain reports whether nothing has changed since the node was refused, or since a budget refused as many pods
// of another one.
func (p *planner) refusesAgain(c *candidate) bool {
	again := len(c.refused) > 0
	for what, changed := range c.refused {
		again = again && p.changed[what] == changed
	}
	if again || c.never {
		return true
	}
	for q, pods := range c.asks {
		if l, known := p.refuses[q]; known && l.changed == p.changed[q.budget] && pods > l.pods {
			return true
		}
	}
	return false
}

// noteRefusal remembers which budgets were in the way of the node. With several rounds, it is called for a drain of the
// node alone: together with others, the node may only need one more round, since time passes in a round that evicts
// nothing.
func (p *planner) noteRefusal(c *candidate, w *drainer) {
	clear(c.refused)
	for _, o := range c.controllers {
		c.refused[o] = p.changed[o]
	}
	if w.leavesPending() {
		c.refused[allRoom{}] = p.changed[allRoom{}]
	}
	if p.rounds > 1 { // budgets that let all pods go in the end may have taken a round
		for _, b := range c.budgets {
			c.refused[b] = p.changed[b]
		}
	}
	for name := range w.inTheWay() {
		c.refused[name] = p.changed[name]
		for i, q := range w.budget(name).queues {
			key := queue{name, i}
			if asked := c.asks[key]; p.rounds == 1 && asked > 0 && len(q.pods) > 0 {
				p.refuses[key] = limit{asked - len(q.pods), p.changed[name]}
			}
		}
	}
}

// mayFail bounds the simulations that add no node to a wave of several rounds: they may drain this many times as many
// pods as all waves do. A wave that would need more stays smaller than it could be.
const mayFail = 20

// severalRounds finds the longest row of nodes that drain together with the nodes that the wave has, again and again.
// The node at which the row ends is not in the wave, nor are the nodes that need the budgets that refused it.
func (p *planner) severalRounds(row []*candidate) (wave []*candidate) {
	row = slices.DeleteFunc(slices.Clone(row), func(c *candidate) bool { return p.refusesAgain(c) || !p.drainsAlone(c) })
	has, pods := members{}, 0
	for len(row) > 0 && !p.full(wave) {
		some := row
		if room := p.o.MaxNodes - len(wave); p.o.MaxNodes > 0 && room < len(row) {
			some = row[:room]
		}
		n, failed := p.longest(has, some)
		for _, c := range row[:n] {
			wave = append(wave, c)
			has.add(c)
			pods += c.pods
		}
		row = row[n:]
		if failed == nil {
			continue
		}
		left := row[0]
		row = row[1:]
		if len(wave) > 0 && p.failed > p.mayFail*(p.drained+pods) {
			break
		}
		// It drained alone before an earlier wave. If it does not any more, that says nothing about its budgets.
		if left.alone = false; !p.drainsAlone(left) {
			continue
		}
		by := failed.inTheWay()
		row = slices.DeleteFunc(row, func(c *candidate) bool {
			return slices.ContainsFunc(c.budgets, func(b any) bool { return by[b.(types.NamespacedName)] })
		})
	}
	return wave
}

// drainsAlone finds out once whether the node drains alone. Otherwise, many nodes that do not would be simulated with a
// whole wave.
func (p *planner) drainsAlone(c *candidate) bool {
	if !c.alone {
		w := p.played([]*candidate{c})
		if c.alone = w.drained(); !c.alone {
			p.noteRefusal(c, w)
			// Each wave would ask again, since it changes the room, and search all nodes for the pod.
			c.never = w.nodes[0].homeless && len(c.controllers) == 0
		}
	}
	return c.alone
}

// longest is how many of the first nodes of a row drain together with the members of a wave, and the drain that shows
// that the next one does not, nil if all do. It doubles the number of nodes that it tries until they do not drain
// together, and then halves the interval.
func (p *planner) longest(wave members, row []*candidate) (n int, failed *drainer) {
	fails := len(row) + 1
	for n+1 < fails {
		try := min(max(1, 2*n), fails-1)
		if failed != nil {
			try = (n + fails) / 2
		}
		w := p.played(wave.beside(row[:try]))
		if w.drained() {
			n = try
			continue
		}
		fails, failed = try, w
		if len(wave) > 0 {
			p.failed += len(w.turns)
		}
	}
	return n, failed
}

// members are the nodes of a wave by the budgets and controllers of their pods.
type members map[any][]*candidate

func (m members) add(c *candidate) {
	for _, what := range c.shares() {
		m[what] = append(m[what], c)
	}
}

// beside are the nodes, and the members that share a budget or a controller with one of them. Budgets do not depend on
// each other, so the nodes change nothing for the budgets of other members.
func (m members) beside(nodes []*candidate) []*candidate {
	all := slices.Clone(nodes)
	in := map[*candidate]bool{}
	for _, c := range nodes {
		for _, what := range c.shares() {
			for _, member := range m[what] {
				if !in[member] {
					in[member] = true
					all = append(all, member)
				}
			}
		}
	}
	return all
}

// drained reports whether all pods went.
func (w *drainer) drained() bool {
	return !w.never && w.waiting == 0 && !slices.ContainsFunc(w.nodes, func(n *nodeDrain) bool {
		return len(n.refused)+len(n.unknown)+len(n.pending) > 0
	})
}

// leavesPending reports whether a recreated pod found no node.
func (w *drainer) leavesPending() bool {
	return slices.ContainsFunc(w.nodes, func(n *nodeDrain) bool { return len(n.pending) > 0 })
}

// inTheWay are the budgets that keep pods, or may.
func (w *drainer) inTheWay() map[types.NamespacedName]bool {
	by := map[types.NamespacedName]bool{}
	for name, b := range w.budgets {
		if b.unknown || len(b.queues[0].pods)+len(b.queues[1].pods) > 0 {
			by[name] = true
		}
	}
	for _, n := range w.nodes {
		for _, r := range n.refused {
			for _, name := range w.covering[r.Pod] {
				by[name] = true
			}
		}
	}
	return by
}
