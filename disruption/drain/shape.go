package drain

import (
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/internal/snapshot"
)

// shape is what decides on which nodes a pod fits. Pods of one controller have one shape.
type shape struct {
	requests    requests
	ports       []corev1.ContainerPort
	tolerations []corev1.Toleration
	// selector is spec.nodeSelector. affine: there is required node affinity, and a node has to match one of its terms.
	selector labels.Selector
	affine   bool
	terms    []term
	// checked is how many nodes of the inventory were checked. takers are the nodes of them that take such a pod, and
	// reasons counts why the others do not.
	checked int
	takers  []int
	reasons map[string]int
}

// term is a term of a node selector that can match.
type term struct {
	labels labels.Selector
	// names are requirements on metadata.name.
	names []corev1.NodeSelectorRequirement
}

// shapeOf returns the shape of the pod, each shape once. With Options.Fits, pods of one shape may fit differently.
func (v *inventory) shapeOf(pod *corev1.Pod) *shape {
	s := &shape{requests: requestsOf(pod), ports: hostPorts(pod), tolerations: pod.Spec.Tolerations,
		reasons: map[string]int{}}
	required := requiredAffinity(pod)
	if v.fits != nil {
		return s.selecting(pod.Spec.NodeSelector, required)
	}
	key := string(snapshot.JSON([]any{s.requests, s.ports, s.tolerations, pod.Spec.NodeSelector, required}))
	if known := v.shapes[key]; known != nil {
		return known
	}
	v.shapes[key] = s.selecting(pod.Spec.NodeSelector, required)
	return s
}

// selecting sets which nodes the shape selects.
func (s *shape) selecting(nodeSelector map[string]string, required *corev1.NodeSelector) *shape {
	s.selector = labels.SelectorFromSet(nodeSelector)
	if required != nil {
		s.affine = true
		for i := range required.NodeSelectorTerms {
			if t, usable := termOf(&required.NodeSelectorTerms[i]); usable {
				s.terms = append(s.terms, t)
			}
		}
	}
	return s
}

func requiredAffinity(pod *corev1.Pod) *corev1.NodeSelector {
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

var nodeOperators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
	corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
}

// termOf reports whether the term can match a node: an empty term matches none, and neither does one that
// kube-scheduler cannot parse.
func termOf(t *corev1.NodeSelectorTerm) (parsed term, usable bool) {
	if len(t.MatchExpressions)+len(t.MatchFields) == 0 {
		return term{}, false
	}
	parsed.labels = labels.NewSelector()
	for _, e := range t.MatchExpressions {
		r, err := labels.NewRequirement(e.Key, nodeOperators[e.Operator], e.Values)
		if err != nil {
			return term{}, false
		}
		parsed.labels = parsed.labels.Add(*r)
	}
	parsed.names = t.MatchFields
	return parsed, !slices.ContainsFunc(t.MatchFields, malformed)
}

// malformed reports whether a requirement on a field matches no node, because it is not a requirement on metadata.name
// that kube-scheduler can parse.
func malformed(f corev1.NodeSelectorRequirement) bool {
	switch f.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		return f.Key != "metadata.name" || len(f.Values) != 1
	}
	return true
}

// selects reports whether the node has the labels and the name that the pod asks for.
func (s *shape) selects(n *corev1.Node) bool {
	return s.selector.Matches(labels.Set(n.Labels)) && (!s.affine || slices.ContainsFunc(s.terms, func(t term) bool {
		return t.labels.Matches(labels.Set(n.Labels)) &&
			!slices.ContainsFunc(t.names, func(f corev1.NodeSelectorRequirement) bool {
				return (f.Operator == corev1.NodeSelectorOpIn) != (f.Values[0] == n.Name)
			})
	}))
}

// tolerates reports whether the pod tolerates the taint. An operator that is not enabled in every supported release
// tolerates nothing.
func (s *shape) tolerates(taint corev1.Taint) bool {
	return slices.ContainsFunc(s.tolerations, func(t corev1.Toleration) bool {
		if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
			return false
		}
		switch t.Operator {
		case "", corev1.TolerationOpEqual:
			return t.Value == taint.Value
		case corev1.TolerationOpExists:
			return true
		}
		return false
	})
}

// requests are amounts as kube-scheduler counts them: thousandths of a processor, and whole units of everything else.
// An amount is never negative, and one beyond int64 is MaxInt64: it fits nowhere.
type requests map[corev1.ResourceName]int64

// unitOf is the unit in which kube-scheduler counts the resource.
func unitOf(name corev1.ResourceName) resource.Scale {
	if name == corev1.ResourceCPU {
		return resource.Milli
	}
	return 0
}

// amountsOf are the quantities in kube-scheduler's units, rounded up as it rounds them. One beyond int64 is no room.
func amountsOf(list corev1.ResourceList) requests {
	amounts := make(requests, len(list))
	for name, quantity := range list {
		amounts[name] = scaled(quantity, unitOf(name), 0)
	}
	return amounts
}

// thousandthsOf are the quantities in thousandths of their units, the smallest part that the API server keeps: it
// rounds up what is less. kube-scheduler adds the requests of a pod before it rounds them.
func thousandthsOf(list corev1.ResourceList) requests {
	amounts := make(requests, len(list))
	for name, quantity := range list {
		amounts[name] = scaled(quantity, resource.Milli, math.MaxInt64)
	}
	return amounts
}

// rounded are thousandths in kube-scheduler's units, rounded up.
func (r requests) rounded() requests {
	for name, n := range r {
		if unitOf(name) != resource.Milli && n < math.MaxInt64 {
			r[name] = n/1000 + min(n%1000, 1)
		}
	}
	return r
}

// largest are the largest quantities that fit into int64 in these units. The methods of Quantity return wrong numbers
// for larger ones.
var largest = map[resource.Scale]resource.Quantity{
	resource.Milli: *resource.NewMilliQuantity(math.MaxInt64, resource.DecimalSI),
	0:              *resource.NewQuantity(math.MaxInt64, resource.DecimalSI),
}

func scaled(quantity resource.Quantity, scale resource.Scale, beyond int64) int64 {
	if quantity.Cmp(largest[scale]) >= 0 {
		return beyond
	}
	return max(0, quantity.ScaledValue(scale))
}

// add adds the amounts.
func (r requests) add(other requests) {
	for name, n := range other {
		if r[name] > math.MaxInt64-n {
			n = math.MaxInt64 - r[name]
		}
		r[name] += n
	}
}

// atLeast raises the amounts to these.
func (r requests) atLeast(than requests) {
	for name, n := range than {
		r[name] = max(r[name], n)
	}
}

// requestsOf are the requests of the pod (upstream: PodRequests in k8s.io/component-helpers/resource): of the
// containers that run at the same time, or of an init container with the sidecars before it, whatever is more. Requests
// of the pod as a whole replace the requests of its containers. While a pod is resized, each container, and the pod as
// a whole, counts with the largest of its amounts.
func requestsOf(pod *corev1.Pod) requests {
	running, starting, sidecars := requests{}, requests{}, requests{}
	statuses := byContainer(pod.Status.ContainerStatuses)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		running.add(requestsOfContainer(pod, c, statuses[c.Name]))
	}
	statuses = byContainer(pod.Status.InitContainerStatuses)
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		own := requestsOfContainer(pod, c, statuses[c.Name])
		if restarts(c) {
			running.add(own)
			sidecars.add(own)
			own = requests{}
		} else {
			own.atLeast(requested(&c.Resources)) // not resized
		}
		own.add(sidecars)
		starting.atLeast(own)
	}
	running.atLeast(starting)
	running.replace(pod)
	running.add(thousandthsOf(pod.Spec.Overhead))
	return running.rounded()
}

// replace puts the requests of the pod as a whole in the place of its containers' requests. The kubelet says in the
// status what the pod has, also if the spec asks for nothing: v1.37 counts that.
func (r requests) replace(pod *corev1.Pod) {
	has := thousandthsOf(pod.Status.AllocatedResources)
	if pod.Status.Resources != nil {
		has.atLeast(thousandthsOf(pod.Status.Resources.Requests))
	}
	if of := pod.Spec.Resources; of != nil {
		for name, n := range requested(of) {
			_, set := of.Requests[name]
			// a limit counts if no container has a request
			if _, container := r[name]; ofWholePods(name) && (set || !container) {
				r[name] = n
			}
		}
	}
	r.atLeast(has)
}

// ofWholePods reports whether a pod as a whole can request the resource.
func ofWholePods(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory ||
		strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// byContainer are the statuses by the names of their containers.
func byContainer(statuses []corev1.ContainerStatus) map[string][]*corev1.ContainerStatus {
	named := make(map[string][]*corev1.ContainerStatus, len(statuses))
	for i := range statuses {
		named[statuses[i].Name] = append(named[statuses[i].Name], &statuses[i])
	}
	return named
}

// requestsOfContainer are the requests of the container: of its spec, and what the kubelet says that it has. What the
// spec asks for in vain does not count.
func requestsOfContainer(pod *corev1.Pod, c *corev1.Container, statuses []*corev1.ContainerStatus) requests {
	own, known := requests{}, false
	for _, st := range statuses {
		own.atLeast(thousandthsOf(st.AllocatedResources))
		if st.Resources != nil {
			own.atLeast(thousandthsOf(st.Resources.Requests))
			known = true
		}
	}
	if !known || !infeasible(pod) {
		own.atLeast(requested(&c.Resources))
	}
	return own
}

// requested are the requests, and the limits of what has no request: the API server makes them requests where it
// creates a pod (upstream: SetDefaults_Pod in pkg/apis/core/v1), so only a pod of a manifest has such limits.
func requested(r *corev1.ResourceRequirements) requests {
	all := thousandthsOf(r.Requests)
	for name, limit := range thousandthsOf(r.Limits) {
		if _, has := all[name]; !has {
			all[name] = limit
		}
	}
	return all
}

// infeasible reports whether the node can never give the pod what its spec asks for since it was resized.
func infeasible(pod *corev1.Pod) bool {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodResizePending
	})
	return i >= 0 && pod.Status.Conditions[i].Reason == corev1.PodReasonInfeasible
}

// restarts reports whether an init container is a sidecar, which runs as long as the pod.
func restarts(c *corev1.Container) bool {
	return ptr.Deref(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
}

// hostPorts are the ports of the host that the pod takes.
func hostPorts(pod *corev1.Pod) []corev1.ContainerPort {
	var ports []corev1.ContainerPort
	add := func(c *corev1.Container) {
		for _, p := range c.Ports {
			if pod.Spec.HostNetwork && p.HostPort == 0 {
				p.HostPort = p.ContainerPort // as the API server fills in
			}
			if p.HostPort > 0 {
				ports = append(ports, p)
			}
		}
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; restarts(c) {
			add(c)
		}
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	return ports
}
