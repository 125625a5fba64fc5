package drain

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/disruption"
)

// wave is a wave in the making.
type wave struct {
	number  int
	members []*candidate
	has     map[*candidate]bool
	// linked are the members, and pods being deleted, by what links them to others.
	linked map[int][]*candidate
	// rounds: it takes more than one. listed: a member waits for entries to expire, perhaps.
	rounds, listed bool
}

func (w *wave) link(c *candidate) {
	for _, l := range c.links {
		if at := w.linked[l]; len(at) == 0 || at[len(at)-1] != c {
			w.linked[l] = append(at, c)
		}
	}
}

// add makes the node a member, and counts what it takes from budgets.
func (w *wave) add(c *candidate) {
	if w.has == nil {
		w.has = map[*candidate]bool{}
	}
	w.has[c] = true
	w.members = append(w.members, c)
	w.listed = w.listed || c.listed
	w.link(c)
	for i := range c.demands {
		d := &c.demands[i]
		r := d.room
		r.enter(w.number)
		r.used += r.takes(d)
		r.order = r.order || d.order || r.inOrder(d)
	}
}

// linkedWith are the members that the node shares budgets or controllers with, directly or through others.
func (w *wave) linkedWith(c *candidate) []*candidate {
	var found []*candidate
	seen := map[*candidate]bool{c: true}
	passed := map[int]bool{}
	for next := []*candidate{c}; len(next) > 0; {
		at := next[len(next)-1]
		next = next[:len(next)-1]
		for _, l := range at.links {
			if passed[l] {
				continue
			}
			passed[l] = true
			for _, other := range w.linked[l] {
				if !seen[other] {
					seen[other] = true
					next = append(next, other)
					if w.has[other] {
						found = append(found, other)
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
	// listed: it has entries in status.disruptedPods.
	listed bool
	// known says for which readiness the answer is known. allowed is how many pods may go that the budget counts.
	known   [2]bool
	verdict [2]disruption.Verdict
	allowed int
	// What follows is about the wave of this number.
	wave, used int
	// order: the order of the evictions matters.
	order bool
	// written: the evictions count whatever the pods are, since the snapshot's status is used.
	written bool
}

func (p *planner) room(name types.NamespacedName) *room {
	r := p.rooms[name]
	if r == nil {
		r = &room{budget: name, number: len(p.rooms), written: p.o.Budgets == AsWritten}
		r.listed = len(p.x.Budget(name).Status.DisruptedPods) > 0
		p.rooms[name] = r
	}
	return r
}

// enter begins a wave for the budget.
func (r *room) enter(wave int) {
	if r.wave != wave {
		r.wave, r.used, r.order = wave, 0, false
	}
}

// takes is how many of the pods the budget counts.
func (r *room) takes(d *demand) int {
	taken := d.pods[0]
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

// fits reports whether the node drains together with the wave.
func (p *planner) fits(c *candidate) bool {
	inOneRound, order := true, false
	for i := range c.demands {
		d := &c.demands[i]
		r := d.room
		r.enter(p.wave.number)
		p.ask(r, d)
		if r.order || d.order || r.inOrder(d) || r.written && p.crowded(r) {
			order = true
			continue
		}
		if !r.lets(d) {
			inOneRound = false
			break
		}
	}
	switch {
	case p.exactly || p.rounds == 1 && inOneRound && order || p.rounds != 1 && (!inOneRound || order || p.wave.rounds):
		return p.drainsWith(c)
	}
	return inOneRound
}

// crowded reports whether the entries of the status, and not disruptionsAllowed, may limit the evictions.
func (p *planner) crowded(r *room) bool {
	return len(p.x.Budget(r.budget).Status.DisruptedPods)+r.allowed > disruption.MaxDisruptedPods
}

// lets reports whether the budget lets the pods of the node go together with the pods of the wave, in any order.
func (r *room) lets(d *demand) bool {
	if d.pods[0] > 0 && r.verdict[0] != disruption.AllowedWithinBudget || d.pods[1] > 0 && !r.verdict[1].Allowed() {
		return false
	}
	taken := r.takes(d)
	return taken == 0 || r.used+taken <= r.allowed
}

// drainsWith plays the drain of the node together with the members of the wave that it is linked with.
func (p *planner) drainsWith(c *candidate) bool {
	linked := p.wave.members
	if waits := p.rounds != 1 && (p.wave.listed || c.listed); !p.exactly && !waits {
		linked = p.wave.linkedWith(c)
		if c.rejected == len(linked)+1 {
			return false
		}
	}
	nodes := append(slices.Clone(linked), c)
	slices.SortFunc(nodes, func(a, b *candidate) int { return cmp.Compare(a.name, b.name) })
	w := p.drainer(nodes)
	if !w.drains() {
		c.rejected = len(linked) + 1
		return false
	}
	p.wave.rounds = p.wave.rounds || slices.ContainsFunc(w.nodes, func(n *nodeDrain) bool { return len(n.rounds) > 1 })
	return true
}
