package drain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/podstate"
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

// placement places the recreated pods of a drain on nodes, the first that fits by name.
type placement struct {
	nodes  []place // of all plays, and not written to
	drains map[string]*nodeDrain
	fits   func(*corev1.Pod, *corev1.Node) bool
	// rooms are what is known of the room of nodes, by their place in nodes, and shapes what is known of the pods.
	rooms  map[int]*room
	shapes map[string]*shape
	// taken are the nodes that took pods.
	taken map[string]bool
	// leaves are the pods that go at the end of this round.
	leaves map[types.NamespacedName]bool
}

// place is a node. never is why no pod is placed there, whatever pod it is.
type place struct {
	*corev1.Node
	never string
}

// room is what a node has left. unclear: it is not known.
type room struct {
	unclear bool
	free    requests
	pods    int64
	// ports are the taken ports of the host, with their addresses.
	ports map[hostPort][]string
}

// checked returns the options with the nodes by name, each name once, and what is wrong with them.
func (o Options) checked() (Options, error) {
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
	o.places = make([]place, 0, len(nodes)) // a caller may have options that were checked before
	for _, n := range nodes {
		if last := len(o.places) - 1; last >= 0 && o.places[last].Name == n.Name {
			// It is not known which of them is the node.
			o.places[last].never = doubled
			problems.Add(snapshot.DuplicateError("Node", types.NamespacedName{Name: n.Name}))
			continue
		}
		o.places = append(o.places, place{n, neverTakes(n)})
	}
	return o, problems.Err()
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

// newPlacement begins with the nodes as they are in the options. The nodes of the drain are cordoned.
func newPlacement(o Options, drains map[string]*nodeDrain) *placement {
	return &placement{nodes: o.places, drains: drains, fits: o.Fits, rooms: map[int]*room{}, shapes: map[string]*shape{}, taken: map[string]bool{}}
}

// roundEnds gives the room of the pods that go back to their nodes, before others take it.
func (p *placement) roundEnds(gone []*corev1.Pod) {
	p.leaves = make(map[types.NamespacedName]bool, len(gone))
	for _, pod := range gone {
		p.leaves[snapshot.KeyOf(pod)] = true
		if p.drains[pod.Spec.NodeName] != nil {
			continue
		}
		if i, found := slices.BinarySearchFunc(p.nodes, pod.Spec.NodeName, func(n place, name string) int { return cmp.Compare(n.Name, name) }); found {
			delete(p.rooms, i) // it is counted again when a pod asks
			clear(p.shapes)    // there may be room on it now
		}
	}
}

// place returns the node that takes the pod, and counts the pod there. If there is none, it says why. x is the cluster
// before the round ends.
func (p *placement) place(x *disruption.Index, pod *corev1.Pod) (node, message string) {
	s := p.shapeOf(pod)
	for ; s.from < len(p.nodes); s.from++ {
		if len(p.refuses(x, s.from, s, pod)) == 0 {
			p.rooms[s.from].take(s.requests, s.ports)
			name := p.nodes[s.from].Name
			p.taken[name] = true
			return name, ""
		}
	}
	if s.message == "" {
		s.message = p.unavailable(x, s, pod)
	}
	return "", s.message
}

// unavailable counts the reasons of all nodes, as kube-scheduler does (upstream: FitError).
func (p *placement) unavailable(x *disruption.Index, s *shape, pod *corev1.Pod) string {
	reasons := map[string]int{}
	for i := range p.nodes {
		for _, reason := range p.refuses(x, i, s, pod) {
			reasons[reason]++
		}
	}
	var texts []string
	for reason, n := range reasons {
		texts = append(texts, fmt.Sprintf("%d %s", n, reason))
	}
	slices.Sort(texts)
	message := fmt.Sprintf("0/%d nodes are available", len(p.nodes))
	if len(texts) > 0 {
		message += ": " + strings.Join(texts, ", ")
	}
	return message + "."
}

// refuses returns why the node does not take the pod: the reasons of the first of kube-scheduler's filters that refuses
// it, and nothing if all accept it.
func (p *placement) refuses(x *disruption.Index, i int, s *shape, pod *corev1.Pod) []string {
	n := p.nodes[i]
	switch {
	case p.drains[n.Name] != nil:
		return []string{unschedulable}
	case n.never != "":
		return []string{n.never}
	case p.fits != nil && n.Spec.Unschedulable:
		return []string{unschedulable}
	case p.fits != nil:
		if !p.fits(pod, n.Node) {
			return []string{unfitting}
		}
	case n.Spec.Unschedulable && !s.tolerates(corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}):
		return []string{unschedulable}
	case slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return (t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute) && !s.tolerates(t)
	}):
		return []string{untolerated}
	case !s.selects(n.Node):
		return []string{unmatched}
	}
	switch room := p.room(x, i); {
	case room.unclear:
		return []string{unclear}
	case slices.ContainsFunc(s.ports, room.hasPort):
		return []string{portsTaken}
	default:
		return room.lacks(s.requests)
	}
}

// room returns what room the node has. It is counted once, and again after pods of it went.
func (p *placement) room(x *disruption.Index, i int) *room {
	if known := p.rooms[i]; known != nil {
		return known
	}
	n := p.nodes[i]
	left := &room{free: amountsOf(n.Status.Allocatable), pods: n.Status.Allocatable.Pods().Value(), ports: map[hostPort][]string{}}
	p.rooms[i] = left
	pods, duplicates := x.PodsOnNode(n.Name)
	left.unclear = len(duplicates) > 0 // it is not known what they request
	for _, pod := range pods {
		// kube-scheduler does not count pods that have ended.
		if !podstate.Terminal(pod) && !p.leaves[snapshot.KeyOf(pod)] {
			left.take(requestsOf(pod), hostPorts(pod))
		}
	}
	return left
}

// take counts a pod.
func (r *room) take(wanted requests, ports []corev1.ContainerPort) {
	r.pods--
	for name, amount := range wanted {
		r.free[name] = max(0, r.free[name]-amount) // less than nothing is nothing
	}
	for _, p := range ports {
		r.ports[portOf(p)] = append(r.ports[portOf(p)], addressOf(p))
	}
}

// lacks returns what the node has not enough of.
func (r *room) lacks(wanted requests) []string {
	var lacks []string
	if r.pods < 1 {
		lacks = append(lacks, tooManyPods)
	}
	for name, amount := range wanted {
		if amount > 0 && amount > r.free[name] {
			lacks = append(lacks, insufficient+string(name))
		}
	}
	return lacks
}

// hostPort is a port of a node.
type hostPort struct {
	protocol corev1.Protocol
	number   int32
}

func portOf(p corev1.ContainerPort) hostPort {
	return hostPort{cmp.Or(p.Protocol, corev1.ProtocolTCP), p.HostPort}
}

// everyAddress is the address of a port that is taken on each address of the node.
const everyAddress = "0.0.0.0"

func addressOf(p corev1.ContainerPort) string { return cmp.Or(p.HostIP, everyAddress) }

// hasPort reports whether a pod on the node has the port of the host.
func (r *room) hasPort(p corev1.ContainerPort) bool {
	taken := r.ports[portOf(p)]
	return len(taken) > 0 && (addressOf(p) == everyAddress || slices.Contains(taken, everyAddress) || slices.Contains(taken, addressOf(p)))
}
