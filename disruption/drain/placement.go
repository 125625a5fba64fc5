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
	nodes  []place
	fits   func(*corev1.Pod, *corev1.Node) bool
	shapes map[string]*shape
	// leaves are the pods that go at the end of this round.
	leaves map[types.NamespacedName]bool
}

// place is a node, with the room that it has.
type place struct {
	*corev1.Node
	// never is why no pod is placed there, whatever pod it is.
	never string
	// counted: free, pods and ports are known.
	counted bool
	// taken: a recreated pod has been placed there.
	taken bool
	free  requests
	pods  int64
	// ports are the taken ports of the host, with their addresses.
	ports map[hostPort][]string
}

// checked returns the options with the nodes by name, each name once, and what is wrong with them.
func (o Options) checked() (Options, error) {
	var problems snapshot.Problems
	places := make([]place, 0, len(o.Nodes))
	for _, n := range o.Nodes {
		switch {
		case n == nil:
			problems.Add(&purekube.ObjectError{Kind: "Node", Err: purekube.ErrNil})
		case n.Name == "":
			problems.Add(snapshot.NamelessError("Node"))
		default:
			places = append(places, place{Node: n, never: neverTakes(n)})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.Name, b.Name) })
	o.places = nil // a caller may have options that were checked before
	for _, n := range places {
		if last := len(o.places) - 1; last >= 0 && o.places[last].Name == n.Name {
			// It is not known which of them is the node.
			o.places[last].never = doubled
			problems.Add(snapshot.DuplicateError("Node", types.NamespacedName{Name: n.Name}))
			continue
		}
		o.places = append(o.places, n)
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

// newPlacement begins with the nodes as they are in the options. The drained nodes are cordoned.
func newPlacement(o Options, drained map[string]*nodeDrain) *placement {
	p := &placement{nodes: slices.Clone(o.places), fits: o.Fits, shapes: map[string]*shape{}}
	for i := range p.nodes {
		if drained[p.nodes[i].Name] != nil {
			p.nodes[i].never = unschedulable
		}
	}
	return p
}

// roundEnds gives the room of the pods that go back to their nodes, before others take it.
func (p *placement) roundEnds(gone []*corev1.Pod) {
	p.leaves = make(map[types.NamespacedName]bool, len(gone))
	on := map[string][]*corev1.Pod{}
	for _, pod := range gone {
		p.leaves[snapshot.KeyOf(pod)] = true
		on[pod.Spec.NodeName] = append(on[pod.Spec.NodeName], pod)
	}
	for i := range p.nodes {
		if n := &p.nodes[i]; len(on[n.Name]) > 0 && n.never == "" {
			n.counted = false // and counted again when a pod asks
			clear(p.shapes)   // there may be room on it now
		}
	}
}

// place returns the node that takes the pod, and counts the pod there. If there is none, it says why. x is the cluster
// before the round ends.
func (p *placement) place(x *disruption.Index, pod *corev1.Pod) (node, message string) {
	s := p.shapeOf(pod)
	for ; s.from < len(p.nodes); s.from++ {
		n := &p.nodes[s.from]
		if len(p.refuses(x, n, s, pod)) == 0 {
			n.take(s)
			n.taken = true
			return n.Name, ""
		}
	}
	if s.message == "" {
		s.message = p.unavailable(x, s, pod)
	}
	return "", s.message
}

// taken are the nodes that took pods.
func (p *placement) taken() map[string]bool {
	taken := map[string]bool{}
	for i := range p.nodes {
		if n := &p.nodes[i]; n.taken {
			taken[n.Name] = true
		}
	}
	return taken
}

// unavailable counts the reasons of all nodes, as kube-scheduler does (upstream: FitError).
func (p *placement) unavailable(x *disruption.Index, s *shape, pod *corev1.Pod) string {
	reasons := map[string]int{}
	for i := range p.nodes {
		for _, reason := range p.refuses(x, &p.nodes[i], s, pod) {
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
func (p *placement) refuses(x *disruption.Index, n *place, s *shape, pod *corev1.Pod) []string {
	if n.never != "" {
		return []string{n.never}
	}
	switch {
	case p.fits != nil:
		switch {
		case n.Spec.Unschedulable:
			return []string{unschedulable}
		case !p.fits(pod, n.Node):
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
	if p.count(x, n); n.never != "" {
		return []string{n.never}
	}
	if slices.ContainsFunc(s.ports, n.hasPort) {
		return []string{portsTaken}
	}
	return n.lacks(s.requests)
}

// count finds out what room the node has.
func (p *placement) count(x *disruption.Index, n *place) {
	if n.counted {
		return
	}
	n.counted, n.ports = true, map[hostPort][]string{}
	n.free = amountsOf(n.Status.Allocatable)
	n.pods = n.Status.Allocatable.Pods().Value()
	pods, duplicates := x.PodsOnNode(n.Name)
	if len(duplicates) > 0 { // it is not known what they request
		n.never = unclear
	}
	for _, pod := range pods {
		// kube-scheduler does not count pods that have ended.
		if !podstate.Terminal(pod) && !p.leaves[snapshot.KeyOf(pod)] {
			n.take(&shape{requests: requestsOf(pod), ports: hostPorts(pod)})
		}
	}
}

// take counts a pod of a shape on the node.
func (n *place) take(s *shape) {
	n.pods--
	for name, amount := range s.requests {
		n.free[name] = max(0, n.free[name]-amount) // less than nothing is nothing
	}
	for _, p := range s.ports {
		n.ports[portOf(p)] = append(n.ports[portOf(p)], addressOf(p))
	}
}

// lacks returns what the node has not enough of.
func (n *place) lacks(wanted requests) []string {
	var lacks []string
	if n.pods < 1 {
		lacks = append(lacks, tooManyPods)
	}
	for name, amount := range wanted {
		if amount > 0 && amount > n.free[name] {
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
func (n *place) hasPort(p corev1.ContainerPort) bool {
	taken := n.ports[portOf(p)]
	return len(taken) > 0 && (addressOf(p) == everyAddress || slices.Contains(taken, everyAddress) || slices.Contains(taken, addressOf(p)))
}
