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
	r, err := ttl.Plan(ttl.Snapshot{Step: int(step), Nodes: []*corev1.Node{n}}, ttl.KeyOf(n), ttl.Options{})
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
	x := w.scale.index(ttl.Snapshot{Step: int(after.step), Nodes: nodes})
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

func ttlOf(value uint8) time.Duration {
	if value == fifteen {
		return 15 * time.Second
	}
	return 0
}
