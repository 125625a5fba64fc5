package drain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/snapshot"
)

// PendingPod is a recreated pod that finds no node.
type PendingPod struct {
	// Pod is the evicted pod.
	Pod types.NamespacedName `json:"pod"`
	// Message is the text of kube-scheduler: "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu."
	Message string `json:"message"`
}

// Why a node does not take a pod, in the words of kube-scheduler (upstream: pkg/scheduler/framework/plugins), except for
// the last ones: kube-scheduler sees the taints of a node that is not ready.
const (
	unschedulable = "node(s) were unschedulable"
	untolerated   = "node(s) had untolerated taint(s)"
	unmatched     = "node(s) didn't match Pod's node affinity/selector"
	portsTaken    = "node(s) didn't have free ports for the requested pod ports"
	tooManyPods   = "Too many pods"
	insufficient  = "Insufficient "

	notReady  = "node(s) were not ready"
	doubled   = "node(s) had the name of another node"
	unclear   = "node(s) had several pods of one name"
	unfitting = "node(s) were refused by Options.Fits"
)

// placement places the recreated pods of one drain on nodes, the first that fits by name.
type placement struct {
	inventory *inventory
	// cordoned are the nodes of the drain. All nodes here are their numbers in the inventory.
	cordoned map[int]bool
	// rooms are the nodes whose room the drain has changed: pods came, or went. emptier are the nodes that pods left,
	// sorted: they may take a pod that they refuse in the inventory.
	rooms   map[int]*room
	emptier []int
	search  map[*shape]*search
	// taken are the names of the nodes that took pods.
	taken map[string]bool
	// leaves are the pods that go at the end of this round.
	leaves map[types.NamespacedName]bool
}

// search is how far the nodes were searched for pods of a shape. The nodes before have no room, and no pod on them goes.
type search struct {
	// takers counts nodes of shape.takers, and emptier nodes of placement.emptier.
	takers, emptier int
	// message is why there is no node.
	message string
}

// newPlacement begins with the nodes as they are in the inventory. The nodes of the drain are cordoned.
func newPlacement(of *inventory, drains map[string]*nodeDrain) *placement {
	p := &placement{inventory: of, cordoned: map[int]bool{}, rooms: map[int]*room{}, search: map[*shape]*search{}, taken: map[string]bool{}}
	for name := range drains {
		if i, found := of.find(name); found {
			p.cordoned[i] = true
		}
	}
	return p
}

// roundEnds gives the room of the pods that go back to their nodes, before others take it.
func (p *placement) roundEnds(gone []*corev1.Pod) {
	p.leaves = make(map[types.NamespacedName]bool, len(gone))
	for _, pod := range gone {
		p.leaves[snapshot.KeyOf(pod)] = true
		i, found := p.inventory.find(pod.Spec.NodeName)
		if !found || p.cordoned[i] {
			continue
		}
		delete(p.rooms, i) // it is counted again when a pod asks
		if at, known := slices.BinarySearch(p.emptier, i); !known {
			p.emptier = slices.Insert(p.emptier, at, i)
		}
		for _, s := range p.search {
			s.emptier, s.message = 0, ""
		}
	}
}

// place returns the node that takes the pod, and counts the pod there. If there is none, it says why. x is the cluster
// before the round ends.
func (p *placement) place(x *disruption.Index, pod *corev1.Pod) (node, message string) {
	shape := p.inventory.shapeOf(pod)
	s := p.search[shape]
	if s == nil {
		s = &search{}
		p.search[shape] = s
	}
	for {
		i, found := p.next(shape, s, pod)
		if !found {
			break
		}
		if len(p.refuses(x, i, shape, pod)) == 0 {
			p.changed(x, i).take(shape.requests, shape.ports)
			name := p.inventory.nodes[i].Name
			p.taken[name] = true
			return name, ""
		}
		p.pass(shape, s, i)
	}
	if s.message == "" {
		s.message = p.unavailable(x, shape, pod)
	}
	return "", s.message
}

// next is the first node that may take the pod, of the nodes that were not passed.
func (p *placement) next(shape *shape, s *search, pod *corev1.Pod) (node int, found bool) {
	node, found = p.inventory.taker(shape, s.takers, pod)
	if s.emptier < len(p.emptier) && (!found || p.emptier[s.emptier] < node) {
		return p.emptier[s.emptier], true
	}
	return node, found
}

// pass goes on to the nodes after this one.
func (p *placement) pass(shape *shape, s *search, node int) {
	if s.takers < len(shape.takers) && shape.takers[s.takers] == node {
		s.takers++
	}
	if s.emptier < len(p.emptier) && p.emptier[s.emptier] == node {
		s.emptier++
	}
}

// refuses returns why the node does not take the pod in this drain.
func (p *placement) refuses(x *disruption.Index, i int, s *shape, pod *corev1.Pod) []string {
	if p.cordoned[i] {
		return []string{unschedulable}
	}
	return p.inventory.refuses(i, s, pod, func() *room { return p.room(x, i) })
}

// room returns what room the node has in this drain.
func (p *placement) room(x *disruption.Index, i int) *room {
	if known := p.rooms[i]; known != nil {
		return known
	}
	if _, left := slices.BinarySearch(p.emptier, i); left {
		p.rooms[i] = roomOf(x, p.inventory.nodes[i].Node, p.leaves)
		return p.rooms[i]
	}
	return p.inventory.room(i)
}

// changed returns the room of the node, for the drain to write to.
func (p *placement) changed(x *disruption.Index, i int) *room {
	if p.rooms[i] == nil {
		p.rooms[i] = p.room(x, i).clone()
	}
	return p.rooms[i]
}

// unavailable counts the reasons of all nodes, as kube-scheduler does (upstream: FitError): those of the inventory, with
// other ones for the nodes that the drain has changed.
func (p *placement) unavailable(x *disruption.Index, s *shape, pod *corev1.Pod) string {
	reasons := maps.Clone(p.inventory.reasons(s, pod))
	count := func(of []string, n int) {
		for _, reason := range of {
			reasons[reason] += n
		}
	}
	differ := maps.Clone(p.cordoned)
	for i := range p.rooms {
		differ[i] = true
	}
	for _, i := range p.emptier {
		differ[i] = true
	}
	for i := range differ {
		count(p.inventory.refuses(i, s, pod, func() *room { return p.inventory.room(i) }), -1)
		count(p.refuses(x, i, s, pod), 1)
	}
	var texts []string
	for reason, n := range reasons {
		if n > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", n, reason))
		}
	}
	slices.Sort(texts)
	message := fmt.Sprintf("0/%d nodes are available", len(p.inventory.nodes))
	if len(texts) > 0 {
		message += ": " + strings.Join(texts, ", ")
	}
	return message + "."
}
