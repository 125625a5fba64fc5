package model

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/ttl"
)

// nodeWorld is about a hundred nodes at the border of two steps. Nodes that are alike are counted and not told
// apart: that is all that a state holds, so the world is a system of its own. The cache of each node is behind by
// itself.
type nodeWorld struct {
	options ttl.Options
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

// What the API server or the cache has of a node.
const (
	absent = iota
	bare   // without the annotation
	zero   // "0"
	fifteen
	values
)

var valueNames = [values]string{"gone", "without a TTL", "with TTL 0", "with TTL 15"}

// nodeState counts nodes by what the API server has, what the cache has, and whether the node is queued.
type nodeState struct {
	nodes [values][values][2]uint8
	step  uint8
	// flying is the node whose write is under way, which is not counted in nodes, and value what it is to
	// get; absent: no write is.
	flying node
	value  uint8
	// planned is how many nodes the cache had when the write was planned.
	planned uint8
	edits   uint8
}

// node is one node: what the API server and the cache have of it, and whether it is queued.
type node struct{ server, cached, queued uint8 }

func (s *nodeState) encode() string {
	b := make([]byte, 0, 2*values*values+7)
	for i := range s.nodes {
		for j := range s.nodes[i] {
			b = append(b, s.nodes[i][j][:]...)
		}
	}
	return string(append(b, s.step, s.flying.server, s.flying.cached, s.flying.queued, s.value, s.planned, s.edits))
}

func decodeNodes(text string) nodeState {
	var s nodeState
	at := 0
	for i := range s.nodes {
		for j := range s.nodes[i] {
			s.nodes[i][j] = [2]uint8{text[at], text[at+1]}
			at += 2
		}
	}
	s.step = text[at]
	s.flying = node{text[at+1], text[at+2], text[at+3]}
	s.value, s.planned, s.edits = text[at+4], text[at+5], text[at+6]
	return s
}

// each calls do for one node of each kind, and for the one whose write is under way. replace makes another node
// of it.
func (s *nodeState) each(do func(n node, replace func(by node) nodeState)) {
	for i := range s.nodes {
		for j := range s.nodes[i] {
			for q := range 2 {
				if s.nodes[i][j][q] > 0 {
					do(node{uint8(i), uint8(j), uint8(q)}, func(by node) nodeState {
						after := *s
						after.nodes[i][j][q]--
						after.nodes[by.server][by.cached][by.queued]++
						return after
					})
				}
			}
		}
	}
	if s.value != absent {
		do(s.flying, func(by node) nodeState {
			after := *s
			after.flying = by
			return after
		})
	}
}

// cachedAs is how many nodes the cache has that are so.
func (s *nodeState) cachedAs(j int) int {
	n := 0
	for i := range s.nodes {
		n += int(s.nodes[i][j][0]) + int(s.nodes[i][j][1])
	}
	if s.value != absent && int(s.flying.cached) == j {
		n++
	}
	return n
}

// count is how many nodes there are at the API server, and in the cache.
func (s *nodeState) count() (server, cached int) {
	for i := bare; i < values; i++ {
		for j := range values {
			server += int(s.nodes[i][j][0]) + int(s.nodes[i][j][1])
		}
		cached += s.cachedAs(i)
	}
	if s.value != absent && s.flying.server != absent {
		server++
	}
	return server, cached
}

// behind is how many nodes the cache shows otherwise than the API server has them.
func (s *nodeState) behind() (n int) {
	for i := range s.nodes {
		for j := range s.nodes[i] {
			if i != j {
				n += int(s.nodes[i][j][0]) + int(s.nodes[i][j][1])
			}
		}
	}
	if s.value != absent && s.flying.server != s.flying.cached {
		n++
	}
	return n
}

// room reports whether the cache may lag by one more change.
func (w *nodeWorld) room(s *nodeState) bool { return w.lag == 0 || s.behind() < w.lag }

func newNodeWorld(o ttl.Options, nodes, least, most int) *nodeWorld {
	w := &nodeWorld{options: o, nodes: nodes, least: least, most: most, edits: 1, recover: o.Table.Recover, answers: map[[2]int]int{}}
	for value := bare; value < values; value++ {
		w.fill(value, most+1)
	}
	return w
}

// fill makes nodes of a value until there are n. The cache may have more than there are at the API server: those that are gone.
func (w *nodeWorld) fill(value, n int) {
	for i := len(w.pool[value]); i < n; i++ {
		w.pool[value] = append(w.pool[value], newNode(fmt.Sprintf("node-%d-%d", value, i), value))
	}
}

func newNode(name string, value int) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: UID(1)}}
	switch value {
	case zero:
		n.Annotations = map[string]string{ttl.Annotation: "0"}
	case fifteen:
		n.Annotations = map[string]string{ttl.Annotation: "15"}
	}
	return n
}

func valueOf(n *corev1.Node) int {
	switch text, there := n.Annotations[ttl.Annotation]; {
	case !there:
		return bare
	case text == "0":
		return zero
	case text == "15":
		return fifteen
	default:
		panic("a node gets the TTL " + text)
	}
}

// cached are the nodes in the cache.
func (w *nodeWorld) cached(s *nodeState) []*corev1.Node {
	var nodes []*corev1.Node
	for j := bare; j < values; j++ {
		n := s.cachedAs(j)
		w.fill(j, n)
		nodes = append(nodes, w.pool[j][:n]...)
	}
	return nodes
}

// plan is the value that a node in the cache is to get; absent: it has it.
func (w *nodeWorld) plan(step uint8, cached int) int {
	n := w.pool[cached][0]
	r, err := ttl.Plan(ttl.Snapshot{Step: int(step), Nodes: []*corev1.Node{n}}, ttl.KeyOf(n), w.options)
	if err != nil {
		panic(err)
	}
	if r.Empty() {
		return absent
	}
	return w.apply(n, r.Actions[0])
}

// apply is what the API server makes of the node.
func (w *nodeWorld) apply(n *corev1.Node, a ttl.Action) int {
	after, err := apiserver.New(n).Do(a.Request(nil))
	if err != nil {
		panic(err)
	}
	return valueOf(after.(*corev1.Node))
}

func (w *nodeWorld) start() string {
	var s nodeState
	s.nodes[zero][zero][0] = uint8(w.nodes)
	return s.encode()
}

// drain takes nodes off the queue whose plan asks for nothing, and those that the cache does not have.
func (w *nodeWorld) drain(s *nodeState) {
	for j := range values {
		if j != absent && w.answer(s.step, j) != absent {
			continue
		}
		for i := range values {
			s.nodes[i][j][0] += s.nodes[i][j][1]
			s.nodes[i][j][1] = 0
		}
	}
	if s.flying.cached == absent {
		s.flying.queued = 0
	}
	// A node that nobody has is none.
	s.nodes[absent][absent] = [2]uint8{}
}

// answer is plan, each asked once.
func (w *nodeWorld) answer(step uint8, cached int) int {
	key := [2]int{int(step), cached}
	a, known := w.answers[key]
	if !known {
		a = w.plan(step, cached)
		w.answers[key] = a
	}
	return a
}

// show makes the cache show what the API server has of a node.
func (w *nodeWorld) show(n node, replace func(by node) nodeState) nodeState {
	by := node{n.server, n.server, n.queued}
	after := replace(by)
	var oldObj, newObj *corev1.Node
	if n.cached != absent {
		oldObj = newNode("changed", int(n.cached))
	}
	nodes := w.cached(&after)
	if n.server != absent {
		newObj = newNode("changed", int(n.server))
		// One of the nodes of that kind is the changed one.
		at := slices.Index(nodes, w.pool[n.server][0])
		nodes = slices.Delete(nodes, at, at+1)
	}
	if oldObj != nil {
		nodes = append(nodes, oldObj)
	}
	x := ttl.NewIndex(ttl.Snapshot{Step: int(after.step), Nodes: nodes}, w.options)
	var affected []purekube.Key
	if newObj != nil {
		x, affected = x.With(ttl.Snapshot{Nodes: []*corev1.Node{newObj}})
	} else {
		x, affected = x.Without(ttl.Snapshot{Nodes: []*corev1.Node{oldObj}})
	}
	if slices.Contains(affected, ttl.Key("changed")) {
		by.queued = 1
		after = replace(by)
	}
	after.step = uint8(x.Step())
	if len(affected) > 1 { // all of them
		for i := range values {
			for j := range values {
				after.nodes[i][j] = [2]uint8{0, after.nodes[i][j][0] + after.nodes[i][j][1]}
			}
		}
		after.flying.queued = 1
	}
	return after
}

// written is a node with another value at the API server. Where the cache has that value already, from before,
// it is queued, as the changes that the cache has yet to show would see to.
func (n node) written(value uint8) node {
	n.server = value
	if n.server == n.cached {
		n.queued = 1
	}
	return n
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

// land ends the write that is under way.
func (s nodeState) land(again bool) nodeState {
	n := s.flying
	if again {
		n.queued = 1
	}
	s.nodes[n.server][n.cached][n.queued]++
	s.flying, s.value, s.planned = node{}, absent, 0
	return s
}

// carry makes the write that is under way.
func (w *nodeWorld) carry(s nodeState, lost bool) (after nodeState, broken string) {
	if s.flying.server == absent {
		return s.land(false), "" // 404
	}
	after = s
	after.flying = s.flying.written(s.value)
	allowed := slices.ContainsFunc(w.options.Table.Boundaries(), func(b ttl.Boundary) bool {
		return ttlOf(s.value) == b.TTL && b.SizeMin <= int(s.planned) && int(s.planned) <= b.SizeMax
	})
	if !allowed {
		broken = fmt.Sprintf("a node's TTL is one that its step allows: %s with %d nodes", valueNames[s.value], s.planned)
	}
	return after.land(lost), broken
}

func ttlOf(value uint8) time.Duration {
	if value == fifteen {
		return 15 * time.Second
	}
	return 0
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
	b := w.options.Table.Boundaries()[s.step]
	if server < b.SizeMin || server > b.SizeMax {
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
