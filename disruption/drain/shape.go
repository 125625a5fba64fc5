package drain

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
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
	// checked is how many nodes of the inventory were checked. takers are those of them that take such a pod, and reasons
	// counts why the others do not.
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
	required := requiredAffinity(pod)
	s := &shape{requests: requestsOf(pod), ports: hostPorts(pod), tolerations: pod.Spec.Tolerations, reasons: map[string]int{}}
	var key string
	if v.fits == nil {
		key = string(snapshot.JSON([]any{s.requests, s.ports, s.tolerations, pod.Spec.NodeSelector, required}))
		if known := v.shapes[key]; known != nil {
			return known
		}
	}
	s.selector = labels.SelectorFromSet(pod.Spec.NodeSelector)
	if required != nil {
		s.affine = true
		for i := range required.NodeSelectorTerms {
			if t, usable := termOf(&required.NodeSelectorTerms[i]); usable {
				s.terms = append(s.terms, t)
			}
		}
	}
	if v.fits == nil {
		v.shapes[key] = s
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

// termOf reports whether the term can match a node: an empty term matches none, and neither does one that kube-scheduler
// cannot parse.
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
	for _, f := range t.MatchFields {
		if f.Key != "metadata.name" || len(f.Values) != 1 || f.Operator != corev1.NodeSelectorOpIn && f.Operator != corev1.NodeSelectorOpNotIn {
			return term{}, false
		}
	}
	parsed.names = t.MatchFields
	return parsed, true
}

// selects reports whether the node has the labels and the name that the pod asks for.
func (s *shape) selects(n *corev1.Node) bool {
	return s.selector.Matches(labels.Set(n.Labels)) && (!s.affine || slices.ContainsFunc(s.terms, func(t term) bool {
		return t.labels.Matches(labels.Set(n.Labels)) && !slices.ContainsFunc(t.names, func(f corev1.NodeSelectorRequirement) bool {
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

// requests are amounts as kube-scheduler counts them: thousandths of a processor, and whole units of everything else. An
// amount is never negative, and a sum beyond int64 is MaxInt64: it fits nowhere.
type requests map[corev1.ResourceName]int64

func amountsOf(list corev1.ResourceList) requests {
	amounts := make(requests, len(list))
	for name, quantity := range list {
		if name == corev1.ResourceCPU {
			amounts[name] = max(0, quantity.MilliValue())
		} else {
			amounts[name] = max(0, quantity.Value())
		}
	}
	return amounts
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

// requestsOf are the requests of the pod (upstream: PodRequests in k8s.io/component-helpers/resource): of the containers
// that run at the same time, or of an init container with the sidecars before it, whatever is more. Requests of the pod
// as a whole replace the requests of its containers. While a container is resized, it counts with the largest of its
// amounts.
func requestsOf(pod *corev1.Pod) requests {
	running, starting, sidecars := requests{}, requests{}, requests{}
	for i := range pod.Spec.Containers {
		running.add(requestsOfContainer(&pod.Spec.Containers[i], pod.Status.ContainerStatuses))
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		own := requestsOfContainer(c, pod.Status.InitContainerStatuses)
		if restarts(c) {
			running.add(own)
			sidecars.add(own)
			own = requests{}
		}
		own.add(sidecars)
		starting.atLeast(own)
	}
	running.atLeast(starting)
	if whole := pod.Spec.Resources; whole != nil {
		maps.Copy(running, amountsOf(whole.Requests))
	}
	running.add(amountsOf(pod.Spec.Overhead))
	return running
}

func requestsOfContainer(c *corev1.Container, statuses []corev1.ContainerStatus) requests {
	own := amountsOf(c.Resources.Requests)
	for i := range statuses {
		if st := &statuses[i]; st.Name == c.Name {
			own.atLeast(amountsOf(st.AllocatedResources))
			if st.Resources != nil {
				own.atLeast(amountsOf(st.Resources.Requests))
			}
		}
	}
	return own
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
