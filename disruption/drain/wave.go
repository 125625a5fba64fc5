package drain

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/purekube/purekube/disruption"
)

// wave is a wave in the making.
type wave struct {
	number  int
	members []*candidate
	has     map[*candidate]bool
	// linked are the members by what links them to others.
	linked map[int][]*candidate
	// listed: a member waits for entries to expire, perhaps.
	listed bool
	// pods are the pods of the members.
	pods int
}

// add makes the node a member, and counts what it takes from budgets. It reports whether the node may give: after a
// round budgets may allow more than before.
func (p *planner) add(c *candidate) (gives bool) {
	w := &p.wave
	if w.has == nil {
		w.has = map[*candidate]bool{}
	}
	w.has[c] = true
	w.members = append(w.members, c)
	w.pods += len(c.pods)
	for _, l := range c.links {
		if at := w.linked[l]; len(at) == 0 || at[len(at)-1] != c {
			w.linked[l] = append(at, c)
		}
		gives = gives || p.linkedRooms[l] == nil
	}
	for i := range c.demands {
		d := &c.demands[i]
		r := d.room
		r.enter(w.number)
		r.used += r.takes(d)
		r.order = r.order || d.order || r.inOrder(d)
		r.loses = r.loses || d.loses
		r.lost += d.lost
		r.surely += d.surely
		gives = gives || p.plays(r)
	}
	return gives
}

// plays reports whether what the budget allows the members of the wave depends on more than how many pods it allows.
func (p *planner) plays(r *room) bool {
	r.enter(p.wave.number)
	return r.order || r.written && p.crowded(r) || p.rounds != 1 && p.changes(r)
}

// changes reports whether the budget may allow something else after a round.
func (p *planner) changes(r *room) bool { return r.loses || r.lost > 0 || r.listed || p.returns(r) }

// returns reports whether pods of the budget are being deleted: they may be recreated when a round is over.
func (p *planner) returns(r *room) bool {
	for ; len(r.deleting) > 0; r.deleting = r.deleting[1:] {
		if pod := p.x.Pod(r.deleting[0]); pod != nil && pod.DeletionTimestamp != nil {
			return true
		}
	}
	return false
}

// linkedWith are the members that the node shares controllers with, or budgets that have to be played, directly or
// through others.
func (p *planner) linkedWith(c *candidate) []*candidate {
	var found []*candidate
	seen := map[*candidate]bool{c: true}
	passed := map[int]bool{}
	own := map[*room]bool{}
	for i := range c.demands {
		d := &c.demands[i]
		own[d.room] = d.order || d.loses || d.lost > 0 || d.room.inOrder(d)
	}
	for next := []*candidate{c}; len(next) > 0; {
		at := next[len(next)-1]
		next = next[:len(next)-1]
		for _, l := range at.links {
			if passed[l] {
				continue
			}
			passed[l] = true
			if r := p.linkedRooms[l]; r != nil && !own[r] && !p.plays(r) {
				continue
			}
			for _, list := range [][]*candidate{p.wave.linked[l], p.deleting[l]} {
				for _, other := range list {
					if !seen[other] {
						seen[other] = true
						next = append(next, other)
						if p.wave.has[other] {
							found = append(found, other)
						}
					}
				}
			}
		}
	}
	return found
}

// room is what a budget allows before a wave begins, and what the wave takes of it.
type room struct {
	budget types.NamespacedName
	number int
	// listed: it has entries in status.disruptedPods that may expire while a wave waits.
	listed bool
	// constant: the budget wants the same number of healthy pods, whatever pods there are.
	constant bool
	// deleting are pods of the budget that were being deleted before the first wave, and may still be.
	deleting []types.NamespacedName
	// known says for which readiness the answer is known. allowed is how many pods may go that the budget counts.
	known   [2]bool
	verdict [2]disruption.Verdict
	allowed int
	// again is what the budget answers from the second round on, once it is known.
	again *later
	// What follows is about the wave of this number, and adds up the demands of its members.
	wave, used, lost, surely int
	order, loses             bool
	// written: the evictions count whatever the pods are, since the snapshot's status is used.
	written bool
}

func (p *planner) room(name types.NamespacedName) *room {
	r := p.rooms[name]
	if r == nil {
		r = &room{budget: name, number: len(p.rooms), written: p.o.Budgets == AsWritten}
		r.listed = p.lists(name)
		if least := p.x.Budget(name).Spec.MinAvailable; least != nil && least.Type == intstr.Int {
			r.constant = true
		}
		p.rooms[name] = r
	}
	return r
}

// enter begins a wave for the budget.
func (r *room) enter(wave int) {
	if r.wave != wave {
		r.wave, r.used, r.lost, r.surely, r.order, r.loses = wave, 0, 0, 0, false, false
	}
}

// takes is how many of the pods the budget counts.
func (r *room) takes(d *demand) int {
	taken := d.pods[0]
	if !r.written {
		taken += d.free
	}
	if r.written && r.verdict[1] == disruption.AllowedWithinBudget {
		taken += d.pods[1]
	}
	return taken
}

// inOrder reports whether it matters when pods of the node go: one that is not ready and needs the budget to allow a
// disruption takes none.
func (r *room) inOrder(d *demand) bool {
	return !r.written && d.pods[1] > 0 && r.verdict[1] == disruption.AllowedWithinBudget
}

// ask finds out what the budget answers before the wave begins.
func (p *planner) ask(r *room, d *demand) {
	for i, n := range d.pods {
		if n == 0 || r.known[i] {
			continue
		}
		r.known[i] = true
		// The error is about the objects that the verdict rests on, and the verdict says so.
		e, _ := p.x.CheckEviction(d.samples[i], p.o.status())
		r.verdict[i] = e.Verdict
		if e.Update != nil {
			// The update counts the sample already.
			r.allowed = int(e.Update.Status.DisruptionsAllowed) + 1
		}
	}
}

// fits reports whether the node drains together with the wave. Budgets do not depend on one another: a pod that waits has
// one. For most budgets it is enough to count pods, and the drain is played only for others.
func (p *planner) fits(c *candidate) bool {
	if p.exactly {
		return p.drainsWith(c)
	}
	play := p.wave.listed
	for i := range c.demands {
		// In a plan of many small waves most nodes meet the same full budget again.
		at := (c.full + i) % len(c.demands)
		fits, known := p.hasRoom(&c.demands[at])
		if known && !fits {
			c.full = at
			return false
		}
		play = play || !known
	}
	return !play || p.drainsWith(c)
}

// hasRoom reports whether the budget lets the pods of the node go together with the pods of the wave. It is not known if
// it takes a play.
func (p *planner) hasRoom(d *demand) (fits, known bool) {
	r := d.room
	r.enter(p.wave.number)
	p.ask(r, d)
	switch {
	case r.written && p.crowded(r):
		return false, false
	case r.order || d.order || r.inOrder(d):
		// While the budget allows one more than they all take, each of them goes in the first round, in any order.
		fits = r.lets(d) && r.used+r.takes(d) < r.allowed
		return fits, fits
	case r.lets(d):
		return true, true
	case p.rounds == 1 || r.written:
		return false, true
	}
	return p.hasRoomLater(r, d)
}

// lets reports whether the budget lets the pods of the node go together with the pods of the wave, in any order, in the
// first round.
func (r *room) lets(d *demand) bool {
	if d.pods[0] > 0 && r.verdict[0] != disruption.AllowedWithinBudget || d.pods[1] > 0 && !r.verdict[1].Allowed() {
		return false
	}
	taken := r.takes(d)
	return taken == 0 || r.used+taken <= r.allowed
}

// crowded reports whether the entries of the status, and not disruptionsAllowed, may limit the evictions.
func (p *planner) crowded(r *room) bool {
	return len(p.x.Budget(r.budget).Status.DisruptedPods)+r.allowed > disruption.MaxDisruptedPods
}

// playedAtLeast is how many pods a plan may play to find out which nodes fit, in addition to one for each pod that it
// drains. So plays cost no more than the drains themselves, whatever the budgets are.
const playedAtLeast = 3000

// drainsWith plays the drain of the node together with the members of the wave that it is linked with.
func (p *planner) drainsWith(c *candidate) bool {
	linked := p.wave.members
	if waits := p.rounds != 1 && (p.wave.listed || c.listed()); !p.exactly && !waits {
		linked = p.linkedWith(c)
		if c.rejected == len(linked)+1 {
			return false
		}
	}
	nodes := append(slices.Clone(linked), c)
	cost := 0
	for _, n := range nodes {
		cost += len(n.pods)
	}
	if !p.exactly && len(p.wave.members) > 0 {
		if p.played+cost > playedAtLeast+p.drained+p.wave.pods {
			return false
		}
		p.played += cost
	}
	slices.SortFunc(nodes, func(a, b *candidate) int { return cmp.Compare(a.name, b.name) })
	w := p.drainer(nodes)
	if !w.drains() {
		c.rejected = len(linked) + 1
		return false
	}
	if slices.ContainsFunc(w.nodes, func(n *nodeDrain) bool { return len(n.rounds) > 1 }) &&
		slices.ContainsFunc(nodes, (*candidate).listed) {
		p.wave.listed = true
	}
	return true
}

// listed reports whether a budget of its pods has entries in status.disruptedPods that may expire while a wave waits.
func (c *candidate) listed() bool {
	return slices.ContainsFunc(c.demands, func(d demand) bool { return d.room.listed })
}
