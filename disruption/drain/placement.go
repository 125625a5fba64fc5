package drain

import (
	"cmp"
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

// Why a node does not take a pod, in the words of kube-scheduler (upstream: pkg/scheduler/framework/plugins), except
// for the last ones: kube-scheduler sees the taints of a node that is not ready.
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

// placement places the recreated pods of one drain. Of the nodes that take a pod, it chooses the node with the fewest
// pods.
type placement struct {
	inventory *inventory
	// cordoned are the nodes of the drain. Here, nodes are positions in the inventory.
	cordoned map[int]bool
	// rooms are the nodes whose room the drain has changed: pods came, or went. changed are the same nodes. The nodes
	// with the fewest pods come first.
	rooms   map[int]*room
	changed []int
	search  map[*shape]*search
}

// search is how far the nodes were searched for pods of a shape.
type search struct {
	// takers is how many of the first nodes in shape.takers are passed over, since the drain has changed or cordoned
	// them.
	takers int
	// refuse are changed nodes that take no such pod until pods leave them.
	refuse map[int]bool
	// none is why there is no node.
	none unplaced
}

// unplaced is why a pod finds no node. always: room on the nodes would not help.
type unplaced struct {
	message string
	always  bool
}

// newPlacement begins with the nodes as they are in the inventory. The nodes of the drain are cordoned.
func newPlacement(of *inventory, drains map[string]*nodeDrain) *placement {
	p := &placement{inventory: of, cordoned: map[int]bool{}, rooms: map[int]*room{}, search: map[*shape]*search{}}
	for name := range drains {
		if i, found := of.find(name); found {
			p.cordoned[i] = true
		}
	}
	return p
}

// roundEnds frees the room that the gone pods had on their nodes, before recreated pods take it. x is the cluster
// before the round ends.
func (p *placement) roundEnds(x *disruption.Index, gone []*corev1.Pod) {
	leaves := make(map[types.NamespacedName]bool, len(gone))
	emptier := map[int]bool{}
	for _, pod := range gone {
		leaves[snapshot.KeyOf(pod)] = true
		if i, found := p.inventory.find(pod.Spec.NodeName); found && !p.cordoned[i] {
			emptier[i] = true
		}
	}
	for i := range emptier {
		p.change(i, roomOf(x, p.inventory.nodes[i].Node, leaves))
		for _, s := range p.search {
			delete(s.refuse, i)
			s.none = unplaced{}
		}
	}
}

// place returns the node that takes the pod, and counts the pod there. If there is none, it says why.
func (p *placement) place(pod *corev1.Pod) (node string, none unplaced) {
	shape := p.inventory.shapeOf(pod)
	s := p.search[shape]
	if s == nil {
		s = &search{refuse: map[int]bool{}}
		p.search[shape] = s
	}
	i, found := p.next(shape, s, pod)
	if found {
		left := p.room(i).clone()
		left.take(shape.requests, shape.ports)
		p.change(i, left)
		return p.inventory.nodes[i].Name, unplaced{}
	}
	if s.none.message == "" {
		s.none = p.unavailable(shape, pod)
	}
	return "", s.none
}

// next is the node with the fewest pods, of the nodes that take the pod.
func (p *placement) next(shape *shape, s *search, pod *corev1.Pod) (node int, found bool) {
	for {
		node, found = p.inventory.taker(shape, s.takers, pod)
		if !found || p.rooms[node] == nil && !p.cordoned[node] {
			break
		}
		s.takers++ // it is among the changed ones
	}
	for _, i := range p.changed {
		if found && p.compare(node, i) < 0 {
			break
		}
		if s.refuse[i] {
			continue
		}
		if len(p.refuses(i, shape, pod)) == 0 {
			return i, true
		}
		s.refuse[i] = true
	}
	return node, found
}

// refuses returns why the node does not take the pod in this drain.
func (p *placement) refuses(i int, s *shape, pod *corev1.Pod) []string {
	if p.cordoned[i] {
		return []string{unschedulable}
	}
	return p.inventory.refuses(i, s, pod, p.room)
}

// room returns what room the node has in this drain.
func (p *placement) room(i int) *room {
	if known := p.rooms[i]; known != nil {
		return known
	}
	return p.inventory.room(i)
}

// change notes what room the node has from now on.
func (p *placement) change(i int, to *room) {
	if p.rooms[i] != nil {
		at, _ := slices.BinarySearchFunc(p.changed, i, p.compare)
		p.changed = slices.Delete(p.changed, at, at+1)
	}
	p.rooms[i] = to
	at, _ := slices.BinarySearchFunc(p.changed, i, p.compare)
	p.changed = slices.Insert(p.changed, at, i)
}

// compare sorts nodes by how many pods they have in this drain.
func (p *placement) compare(a, b int) int {
	running := func(i int) int {
		if left := p.rooms[i]; left != nil {
			return left.running
		}
		return p.inventory.running[i]
	}
	return cmp.Or(cmp.Compare(running(a), running(b)), cmp.Compare(a, b))
}

// unavailable counts the reasons of all nodes, as kube-scheduler does (upstream: FitError): the reasons of the
// inventory, with other ones for the nodes that the drain has changed.
func (p *placement) unavailable(s *shape, pod *corev1.Pod) unplaced {
	reasons := maps.Clone(s.reasons) // of all nodes: there is no other taker
	differ := maps.Clone(p.cordoned)
	for i := range p.rooms {
		differ[i] = true
	}
	for i := range differ {
		for _, reason := range p.inventory.refuses(i, s, pod, p.inventory.room) {
			reasons[reason]--
		}
		for _, reason := range p.refuses(i, s, pod) {
			reasons[reason]++
		}
	}
	var texts []string
	always := true
	for reason, n := range reasons {
		if n > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", n, reason))
			always = always && !isRoom(reason)
		}
	}
	slices.Sort(texts)
	message := fmt.Sprintf("0/%d nodes are available", len(p.inventory.nodes))
	if len(texts) > 0 {
		message += ": " + strings.Join(texts, ", ")
	}
	return unplaced{message + ".", always}
}

// isRoom reports whether a node that refuses a pod for this reason may take it after pods have left.
func isRoom(reason string) bool {
	return reason == portsTaken || reason == tooManyPods || reason == unclear || strings.HasPrefix(reason, insufficient)
}
