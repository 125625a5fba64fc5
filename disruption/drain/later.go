package drain

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/disruption"
)

// How many pods of a budget go in how many rounds, without a play. The budget allows first pods in round 1 and again pods
// in each round after it, because pods that were being deleted are back by then. A pod that is lost, for example a Job's,
// takes one from every later round:
//
//	first 2, again 3, of 6 pods in turn order  a b c d e f
//	none is lost                round 1: a b   round 2: c d e   round 3: f
//	a and b are lost            round 1: a b   round 2: c       round 3: d   round 4: e   round 5: f
//
// Which pods are lost when depends on the order. All lost ones first is the slowest order, and none lost is faster than
// any: between the two numbers it takes a play.

// later is what a budget answers from the second round on.
type later struct {
	// clear: it does not depend on which pods go in the first round.
	clear   bool
	x       *disruption.Index
	known   [2]bool
	verdict [2]disruption.Verdict
	allowed int
}

// hasRoomLater is hasRoom for pods that do not all go in the first round.
func (p *planner) hasRoomLater(r *room, d *demand) (fits, known bool) {
	for i, n := range d.pods {
		if v := r.verdict[i]; n > 0 && !v.Allowed() && v != disruption.RefusedNow {
			return false, true // kubectl drain gives the pods up
		}
	}
	if d.loses || r.loses {
		return false, false
	}
	again := p.later(r, d)
	if !again.clear {
		return false, false
	}
	// Entries of status.disruptedPods may expire while a wave waits, which gives back one pod each.
	expire := 0
	if r.listed {
		expire = len(p.x.Budget(r.budget).Status.DisruptedPods)
	}
	if d.pods[1] > 0 && r.verdict[1] == disruption.RefusedNow && again.verdict[1] != disruption.AllowedUnhealthy {
		return false, expire == 0 && again.verdict[1] == disruption.RefusedNow
	}
	taken, lost, surely := r.used+r.takes(d), r.lost+d.lost, r.surely+d.surely
	if taken <= r.allowed || within(taken, r.allowed, again.allowed-lost, p.rounds) {
		return true, true
	}
	most := max(r.allowed, again.allowed) + expire
	return false, surely > most || !within(taken, r.allowed+expire, again.allowed+expire, p.rounds)
}

// within reports whether so many pods go in so many rounds, 0 for any number, if first go in the first round and again
// in each later one.
func within(pods, first, again, rounds int) bool {
	return again > 0 && (rounds == 0 || pods <= first+(rounds-1)*again)
}

// later finds out what the budget answers in the second round.
func (p *planner) later(r *room, d *demand) *later {
	if r.again == nil {
		r.again = p.afterDeletions(r, d)
	}
	l := r.again
	for i, n := range d.pods {
		if n == 0 || l.known[i] || !l.clear {
			continue
		}
		l.known[i] = true
		// The error is about the objects that the verdict rests on, and the verdict says so.
		e, _ := l.x.CheckEviction(d.samples[i], disruption.Recomputed)
		l.verdict[i] = e.Verdict
		if e.Update != nil {
			l.allowed = int(e.Update.Status.DisruptionsAllowed) + 1
		}
	}
	return l
}

// afterDeletions lets the pods of the budget go that are being deleted. It is not clear what follows if it depends on
// other pods of their controllers how many of them are recreated, or if entries of status.disruptedPods are about them.
func (p *planner) afterDeletions(r *room, d *demand) *later {
	if !p.returns(r) {
		return &later{clear: true, x: p.x}
	}
	if len(p.x.Budget(r.budget).Status.DisruptedPods) > 0 {
		return &later{}
	}
	for _, pod := range p.x.SelectedPodsBeingDeleted(r.budget) {
		if by := ownerOf(pod); by != nil {
			if o := p.owner(*by); o.need != nil || !o.none && !o.numbered && !o.all && o.missing > 0 {
				return &later{}
			}
		}
	}
	sample := d.samples[0]
	if d.pods[0] == 0 {
		sample = d.samples[1]
	}
	w := p.waitsFor(r.budget, sample)
	w.finish()
	return &later{clear: !w.budget(r.budget).unknown, x: w.x}
}

// waitsFor is the drain of a pod that the budget has refused in the first round.
func (p *planner) waitsFor(budget, pod types.NamespacedName) *drainer {
	w := newDrainer(p.x, [][]*corev1.Pod{{p.x.Pod(pod)}}, p.o.Options)
	w.budget(budget).queues[0].pods = []waitingPod{{}}
	return w
}
