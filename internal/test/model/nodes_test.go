package model

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/ttl"
)

// nodeWorld is about a hundred nodes at the border of two steps. Nodes that are alike are counted and not told
// apart: that is all that a state holds, so the world is a system of its own. The cache of each node is behind by
// itself.
type nodeWorld struct {
	scale scale
	// nodes are there at the start, converged; later between least and most of them.
	nodes, least, most int
	// edits are how many annotations users change by hand.
	edits int
	// lag is how many nodes the cache may show otherwise than the API server has them; 0: any number. Without a bound
	// there is no end of states: a node that comes and goes may leave one more behind in the cache each time.
	lag int
	// recover is what a new start takes the step from.
	recover func(nodes []*corev1.Node) int
	pool    [values][]*corev1.Node
	answers map[[2]int]int
}

func newNodeWorld(c scale, nodes, least, most int) *nodeWorld {
	w := &nodeWorld{scale: c, nodes: nodes, least: least, most: most, edits: 1, answers: map[[2]int]int{}}
	w.recover = func(nodes []*corev1.Node) int {
		x, _ := c.index(ttl.Snapshot{Nodes: nodes}).Recover()
		return x.Step()
	}
	for value := bare; value < values; value++ {
		w.fill(value, most+1)
	}
	return w
}

// room reports whether the cache may lag by one more change.
func (w *nodeWorld) room(s *nodeState) bool { return w.lag == 0 || s.behind() < w.lag }

func (w *nodeWorld) start() string {
	var s nodeState
	s.nodes[zero][zero][0] = uint8(w.nodes)
	return s.encode()
}

func (w *nodeWorld) next(text string, telling bool, visit func(step, state, broken string)) {
	s := decodeNodes(text)
	emit := func(after nodeState, broken, format string, args ...any) {
		step := ""
		if telling {
			step = fmt.Sprintf(format, args...)
		}
		w.drain(&after)
		visit(step, after.encode(), broken)
	}
	server, cached := s.count()
	room := w.room(&s)
	if server < w.most && room {
		after := s
		after.nodes[bare][absent][0]++
		emit(after, "", "a node is added, which makes %d", server+1)
	}
	s.each(func(n node, replace func(by node) nodeState) {
		if n.server != absent && server > w.least && room {
			emit(replace(node{absent, n.cached, n.queued}), "", "a node %s is deleted, which makes %d", valueNames[n.server], server-1)
		}
		if (n.server == zero || n.server == fifteen) && int(s.edits) < w.edits && room {
			after := replace(n.written(bare))
			after.edits++
			emit(after, "", "the user takes the annotation off a node %s", valueNames[n.server])
		}
		if n.server != n.cached {
			emit(w.show(n, replace), "", "the controller's cache shows that a node is %s", valueNames[n.server])
		}
	})
	if s.value == absent {
		w.plans(&s, func(n node, after nodeState) {
			emit(after, "", "with %d nodes in the cache, a plan at step %d for a node %s", cached, s.step, valueNames[n.cached])
		})
	} else {
		for lost := range w.outcomes(&s) {
			after, broken := w.carry(s, lost == 1)
			emit(after, broken, "patch of a node %s to %s: carried out%s", valueNames[s.flying.server], valueNames[s.value],
				[]string{"", ", and the answer is lost"}[lost])
		}
		emit(s.land(true), "", "the patch of a node is refused")
	}
	emit(w.restart(s), "", "the controller stops, and starts again")
}

// plans calls do with the states in which the plan of a queued node has begun.
func (w *nodeWorld) plans(s *nodeState, do func(n node, after nodeState)) {
	_, cached := s.count()
	for i := range values {
		for j := bare; j < values; j++ {
			if s.nodes[i][j][1] > 0 {
				after := *s
				after.nodes[i][j][1]--
				after.flying = node{uint8(i), uint8(j), 0}
				after.value, after.planned = uint8(w.answer(s.step, j)), uint8(cached)
				do(after.flying, after)
			}
		}
	}
}

// outcomes are in how many ways the write that is under way can be accepted: none while the cache would fall too far
// behind.
func (w *nodeWorld) outcomes(s *nodeState) int {
	if s.flying.server != absent && s.flying.server != s.value && !w.room(s) {
		return 0
	}
	return 2
}

// carry makes the write that is under way.
func (w *nodeWorld) carry(s nodeState, lost bool) (after nodeState, broken string) {
	if s.flying.server == absent {
		return s.land(false), "" // 404
	}
	after = s
	after.flying = s.flying.written(s.value)
	allowed := slices.ContainsFunc(ttl.Steps(), func(b ttl.Boundary) bool {
		return ttlOf(s.value) == b.TTL && w.scale.allows(b, int(s.planned))
	})
	if !allowed {
		broken = fmt.Sprintf("a node's TTL is one that its step allows: %s with %d nodes", valueNames[s.value], s.planned)
	}
	return after.land(lost), broken
}

func (w *nodeWorld) restart(s nodeState) nodeState {
	if s.value != absent {
		s = s.land(true)
	}
	after := nodeState{edits: s.edits}
	for i := bare; i < values; i++ {
		for j := range values {
			after.nodes[i][i][1] += s.nodes[i][j][0] + s.nodes[i][j][1]
		}
	}
	after.step = uint8(w.recover(w.cached(&after)))
	return after
}

func (w *nodeWorld) settle(text string, telling bool) (step, afterText string, ok bool, broken string) {
	s := decodeNodes(text)
	end := func(after nodeState, broken, format string, args ...any) {
		if !ok {
			if telling {
				step = fmt.Sprintf(format, args...)
			}
			w.drain(&after)
			afterText, ok = after.encode(), true
		}
	}
	if s.value != absent && w.outcomes(&s) > 0 {
		after, wrong := w.carry(s, false)
		broken = wrong
		end(after, broken, "patch of a node to %s: carried out", valueNames[s.value])
	}
	if !ok {
		s.each(func(n node, replace func(by node) nodeState) {
			if n.server != n.cached && !ok {
				end(w.show(n, replace), "", "the controller's cache shows that a node is %s", valueNames[n.server])
			}
		})
	}
	if !ok {
		w.plans(&s, func(n node, after nodeState) {
			end(after, "", "a plan at step %d for a node %s", s.step, valueNames[n.cached])
		})
	}
	if !ok {
		broken = w.atRest(s)
	}
	return step, afterText, ok, broken
}

// atRest: all nodes have the TTL of the step, the step allows their number, and a new start writes nothing.
func (w *nodeWorld) atRest(s nodeState) string {
	server, _ := s.count()
	b := ttl.Steps()[s.step]
	if !w.scale.allows(b, server) {
		return fmt.Sprintf("at rest, the step allows the number of nodes: step %d with %d", s.step, server)
	}
	right := zero
	if b.TTL == ttlOf(fifteen) {
		right = fifteen
	}
	if int(s.nodes[right][right][0]) != server {
		return fmt.Sprintf("at rest, every node is %s", valueNames[right])
	}
	fresh := w.restart(s)
	w.drain(&fresh)
	if fresh.nodes[right][right][1] > 0 || fresh.step != s.step {
		return fmt.Sprintf("at rest, a plan from scratch asks for nothing: a new start takes step %d for step %d", fresh.step, s.step)
	}
	return ""
}
