package model

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/ttl"
)

type nodeLoopWorld = LoopWorld[manyNodes, ttl.Snapshot, ttl.Action]

// What a node has.
const (
	bare    = iota // no annotation
	zero           // "0"
	fifteen        // "15"
)

var valueNames = []string{"without a TTL", "with TTL 0", "with TTL 15"}

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

// nodesLoop is the controller of clientgo.NewTTL: from one to three nodes and back, which count as 85, 95 and 105. Two are
// allowed in both of the first two steps.
func nodesLoop() nodeLoopWorld {
	counts := scale{others: 75, each: 10}
	node := func(number, value int) *corev1.Node {
		n := newNode(fmt.Sprintf("node-%d", number), value)
		n.UID = UID(number)
		return n
	}
	return nodeLoopWorld{
		Scenario: Scenario{
			Name:    "Nodes",
			Kinds:   []schema.GroupVersionResource{nodesResource},
			Objects: []Object{node(1, zero), node(2, zero)},
			Events: []Event{
				{Name: "node added", Max: 1, Do: func(v *View, do func(string, ...Change)) {
					if Get[*corev1.Node](v, "", "node-3") == nil {
						n := node(3, bare)
						n.UID = UID(v.Fresh)
						do("node-3 is added", Put(n))
					}
				}},
				{Name: "node deleted", Max: 1, Do: func(v *View, do func(string, ...Change)) {
					for _, name := range []string{"node-1", "node-3"} {
						if n := Get[*corev1.Node](v, "", name); n != nil {
							do(name+" is deleted", Remove(n))
						}
					}
				}},
				{Name: "annotation taken", Max: 1, Do: func(v *View, do func(string, ...Change)) {
					if n := Get[*corev1.Node](v, "", "node-2"); n != nil {
						n = n.DeepCopy()
						n.Annotations = nil
						do("the user takes the annotation off node-2", Put(n))
					}
				}},
			},
			Controller: Controller{
				Keys: func(v *View) (keys []string) {
					for _, n := range All[*corev1.Node](v) {
						keys = append(keys, ttl.KeyOf(n).String())
					}
					return keys
				},
				Plan: func(v *View, key string, _ *View) Decision {
					k, err := purekube.ParseKey(key)
					if err != nil {
						panic(err)
					}
					x, _ := counts.index(ttl.Snapshot{Nodes: All[*corev1.Node](v)}).Recover()
					r, err := x.Plan(k)
					return Decision{Actions(r.Actions), r.Needs, r.RecheckAt, err}
				},
			},
			Faults:     Faults{Refuse: true, LoseAnswer: true, Crash: true},
			Guarantees: []Guarantee{{"nothing the user did is undone", nodesKeepWhatIsTheirs}},
			Rest: func(v *View) string {
				nodes := All[*corev1.Node](v)
				for _, n := range nodes {
					value := valueOf(n)
					if value != valueOf(nodes[0]) || value == bare || value == zero && len(nodes) > 2 || value == fifteen && len(nodes) < 2 {
						return fmt.Sprintf("at rest, every node has the TTL of the step: %s is %s, of %d nodes", n.Name, valueNames[value], len(nodes))
					}
				}
				return ""
			},
			Describe: func(o Object) string { return o.GetName() + " " + valueNames[valueOf(o.(*corev1.Node))] },
		},
		Empty: func() manyNodes { return counts.index(ttl.Snapshot{}) },
		Text:  func(x manyNodes) string { return fmt.Sprintf("step %d", x.Step()) },
		Prepare: func(x manyNodes) manyNodes {
			x, _ = x.Recover()
			return x
		},
		Workers: 2, MaxFaults: 1, Replicas: true, Overlap: 5,
		As: func(o Object, _ time.Time, _ memo) (ttl.Snapshot, map[string]string) {
			return ttl.Snapshot{Nodes: []*corev1.Node{o.(*corev1.Node)}}, nil
		},
		Planned: func(facts map[string]string, a ttl.Action) string {
			nodes := 0
			for name := range facts {
				if strings.HasPrefix(name, "nodes/") {
					nodes++
				}
			}
			for _, b := range ttl.Steps() {
				if a.(ttl.SetTTL).TTL == b.TTL && counts.allows(b, nodes) {
					return ""
				}
			}
			return fmt.Sprintf("a node's TTL is one that its step allows: %s with %d nodes", a, nodes)
		},
	}
}

// nodesKeepWhatIsTheirs: the controller writes nothing but a node's TTL.
func nodesKeepWhatIsTheirs(s *Step) string {
	if s.Request == nil {
		return ""
	}
	return writtenBeyond(s, "Node", "its TTL", func(n *corev1.Node) { delete(n.Annotations, ttl.Annotation) })
}
