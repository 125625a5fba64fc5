package drain

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// inventory is the nodes of a cluster, and what was found out about their room. Drains that begin with the same cluster
// share it.
type inventory struct {
	x     *disruption.Index
	nodes []place // by name, each name once
	fits  func(*corev1.Pod, *corev1.Node) bool
	// running is how many pods each node has. order has the positions of the nodes in nodes. The nodes with the fewest
	// pods come first.
	running, order []int
	// rooms are what room nodes have, and shapes what is known of pods.
	rooms  map[int]*room
	shapes map[string]*shape
}

// place is a node. never is why no pod is placed there, whatever pod it is.
type place struct {
	*corev1.Node
	never string
}

// newInventory returns the nodes of the options, and what is wrong with them.
func newInventory(x *disruption.Index, o Options) (*inventory, error) {
	var problems snapshot.Problems
	nodes := make([]*corev1.Node, 0, len(o.Nodes))
	for _, n := range o.Nodes {
		switch {
		case n == nil:
			problems.Add(&purekube.ObjectError{Kind: "Node", Err: purekube.ErrNil})
		case n.Name == "":
			problems.Add(snapshot.NamelessError("Node"))
		default:
			nodes = append(nodes, n)
		}
	}
	slices.SortFunc(nodes, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	of := &inventory{x: x, fits: o.Fits, nodes: make([]place, 0, len(nodes)), rooms: map[int]*room{}}
	for _, n := range nodes {
		if last := len(of.nodes) - 1; last >= 0 && of.nodes[last].Name == n.Name {
			// It is not known which of them is the node.
			of.nodes[last].never = doubled
			problems.Add(snapshot.DuplicateError("Node", types.NamespacedName{Name: n.Name}))
			continue
		}
		of.nodes = append(of.nodes, place{n, neverTakes(n)})
	}
	of.running = make([]int, len(of.nodes))
	for i := range of.nodes {
		of.count(i)
	}
	of.sort()
	return of, problems.Err()
}

// count counts the pods of a node.
func (v *inventory) count(i int) {
	v.running[i] = 0
	pods, _ := v.x.PodsOnNode(v.nodes[i].Name)
	for _, pod := range pods {
		if !podstate.Terminal(pod) {
			v.running[i]++
		}
	}
}

// sort sorts the nodes, and forgets what was found out in another order.
func (v *inventory) sort() {
	v.order = make([]int, len(v.nodes))
	for i := range v.order {
		v.order[i] = i
	}
	slices.SortFunc(v.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(v.running[a], v.running[b]), cmp.Compare(a, b))
	})
	v.shapes = map[string]*shape{}
}

// after returns the nodes in the cluster that a drain left.
func (v *inventory) after(x *disruption.Index, p *placement) *inventory {
	next := *v
	next.x, next.running, next.rooms = x, slices.Clone(v.running), maps.Clone(v.rooms)
	changed := maps.Clone(p.cordoned)
	for i := range p.rooms {
		changed[i] = true
	}
	for i := range changed {
		delete(next.rooms, i)
		next.count(i)
	}
	next.sort()
	return &next
}

// neverTakes is why the node takes no pod, whatever pod it is: its kubelet does not run.
func neverTakes(n *corev1.Node) string {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return ""
		}
	}
	return notReady
}

// find returns the number of the node of this name.
func (v *inventory) find(name string) (i int, found bool) {
	return slices.BinarySearchFunc(v.nodes, name, func(n place, name string) int { return cmp.Compare(n.Name, name) })
}

// taker returns the node at this position among the nodes that take pods of the shape. It checks no more nodes than it
// needs.
func (v *inventory) taker(s *shape, position int, pod *corev1.Pod) (node int, found bool) {
	for position >= len(s.takers) && s.checked < len(v.nodes) {
		v.check(s, pod)
	}
	if position < len(s.takers) {
		return s.takers[position], true
	}
	return 0, false
}

// check checks one more node.
func (v *inventory) check(s *shape, pod *corev1.Pod) {
	i := v.order[s.checked]
	s.checked++
	reasons := v.refuses(i, s, pod, v.room)
	if len(reasons) == 0 {
		s.takers = append(s.takers, i)
	}
	for _, reason := range reasons {
		s.reasons[reason]++
	}
}

// refuses returns why the node does not take the pod with that room: the reasons of the first of kube-scheduler's
// filters that refuses it, and nothing if all accept it.
func (v *inventory) refuses(i int, s *shape, pod *corev1.Pod, room func(i int) *room) []string {
	n := v.nodes[i]
	switch {
	case n.never != "":
		return []string{n.never}
	case v.fits != nil && n.Spec.Unschedulable:
		return []string{unschedulable}
	case v.fits != nil:
		if !v.fits(pod, n.Node) {
			return []string{unfitting}
		}
	case n.Spec.Unschedulable &&
		!s.tolerates(corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}):
		return []string{unschedulable}
	case slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return (t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute) && !s.tolerates(t)
	}):
		return []string{untolerated}
	case !s.selects(n.Node):
		return []string{unmatched}
	}
	switch left := room(i); {
	case left.unclear:
		return []string{unclear}
	case slices.ContainsFunc(s.ports, left.hasPort):
		return []string{portsTaken}
	default:
		return left.lacks(s.requests)
	}
}

// room returns what room the node has. It is counted once.
func (v *inventory) room(i int) *room {
	known := v.rooms[i]
	if known == nil {
		known = roomOf(v.x, v.nodes[i].Node, nil)
		v.rooms[i] = known
	}
	return known
}

// room is what a node has left, and how many pods run there. unclear: it is not known.
type room struct {
	unclear bool
	free    requests
	pods    int64
	running int
	// ports are the taken ports of the host, with their addresses.
	ports map[hostPort]bool
}

// roomOf is the room of a node without the pods that leave it.
func roomOf(x *disruption.Index, n *corev1.Node, leaves map[types.NamespacedName]bool) *room {
	left := &room{free: amountsOf(n.Status.Allocatable), pods: n.Status.Allocatable.Pods().Value(),
		ports: map[hostPort]bool{}}
	pods, duplicates := x.PodsOnNode(n.Name)
	left.unclear = len(duplicates) > 0 // it is not known what they request
	for _, pod := range pods {
		// kube-scheduler does not count pods that have ended.
		if !podstate.Terminal(pod) && !leaves[snapshot.KeyOf(pod)] {
			left.take(requestsOf(pod), hostPorts(pod))
		}
	}
	return left
}

// clone is a copy to write to.
func (r *room) clone() *room {
	own := *r
	own.free = maps.Clone(r.free)
	own.ports = maps.Clone(r.ports)
	return &own
}

// take counts a pod.
func (r *room) take(wanted requests, ports []corev1.ContainerPort) {
	r.pods--
	r.running++
	for name, amount := range wanted {
		r.free[name] = max(0, r.free[name]-amount) // an overcommitted node has no room
	}
	for _, p := range ports {
		taken := portOf(p)
		r.ports[taken], r.ports[taken.at(anyAddress)] = true, true
	}
}

// lacks returns the reasons why the node has too little room.
func (r *room) lacks(wanted requests) []string {
	var lacks []string
	if r.pods < 1 {
		lacks = append(lacks, tooManyPods)
	}
	for name, amount := range wanted {
		if amount > r.free[name] { // which is never negative
			lacks = append(lacks, insufficient+string(name))
		}
	}
	return lacks
}

// hostPort is a port of a node at one of its addresses.
type hostPort struct {
	protocol corev1.Protocol
	number   int32
	address  string
}

// everyAddress is the address of a port that is taken on each address of the node. A port that is taken on any address
// is noted with anyAddress, too.
const (
	everyAddress = "0.0.0.0"
	anyAddress   = ""
)

func portOf(p corev1.ContainerPort) hostPort {
	return hostPort{cmp.Or(p.Protocol, corev1.ProtocolTCP), p.HostPort, cmp.Or(p.HostIP, everyAddress)}
}

// at is the same port at another address.
func (p hostPort) at(address string) hostPort {
	p.address = address
	return p
}

// hasPort reports whether a pod on the node has the port of the host.
func (r *room) hasPort(p corev1.ContainerPort) bool {
	wanted := portOf(p)
	if wanted.address == everyAddress {
		return r.ports[wanted.at(anyAddress)]
	}
	return r.ports[wanted] || r.ports[wanted.at(everyAddress)]
}
