package eviction

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/shop"
	"github.com/purekube/purekube/internal/test/upstream/parity"
)

// draw is a random cluster: pods to evict from one node, and nodes that may take them.
type draw struct {
	*rand.Rand
	evicted []*corev1.Pod
	nodes   []*corev1.Node
	there   []*corev1.Pod // on the nodes
	strict  strictness
}

// strictness is why drain.Node may refuse a node that all filters accept, by node; "" stands for all nodes. One
// reason at most is drawn for a cluster, so that each is known to matter.
type strictness map[string]string

const (
	otherField       = "a field that is not metadata.name"
	beyondInt64      = "an amount beyond int64"
	infeasiblePod    = "a pod as a whole that cannot be resized counts with what its spec asks for"
	onlyAllocated    = "allocatedResources without resources, which v1.36 does not count"
	podStatusAlone   = "the pod's status has resources and its spec has none, which v1.36 does not count"
	againstEachOther = "one container grows and another shrinks, which v1.37 adds up"
)

// strictIn are the releases in which drain.Node is stricter, by reason. The API server admits neither of the first two.
var strictIn = map[string][]purekube.Upstream{
	otherField: {purekube.V1_36, purekube.V1_37}, beyondInt64: {purekube.V1_36, purekube.V1_37},
	infeasiblePod: {purekube.V1_36, purekube.V1_37}, onlyAllocated: {purekube.V1_36}, podStatusAlone: {purekube.V1_36},
	againstEachOther: {purekube.V1_37},
}

func (s strictness) of(node string) string {
	if s[""] != "" {
		return s[""]
	}
	return s[node]
}

func newDraw(r *rand.Rand) *draw {
	d := &draw{Rand: r, strict: strictness{}}
	odd := ""
	if d.chance(6) {
		odd = oneOf(d, slices.Sorted(maps.Keys(strictIn))...)
	}
	for i := range 1 + r.IntN(6) {
		d.nodes = append(d.nodes, d.node(fmt.Sprint("n", i)))
	}
	for i := range 1 + r.IntN(3) {
		p := shop.Pod(fmt.Sprint("web-", i), shop.By("apps/v1", "ReplicaSet", "rs"))
		p.Spec = d.podSpec(12)
		p.Spec.NodeName = drainedNode
		if d.chance(10) {
			d.resize(p) // the new pod does not have it
		}
		d.evicted = append(d.evicted, p)
	}
	for _, n := range d.nodes {
		for i := range r.IntN(4) {
			p := shop.Pod(fmt.Sprint(n.Name, "-", i))
			p.Spec = d.podSpec(6)
			p.Spec.NodeName = n.Name
			d.state(p)
			if d.chance(4) {
				d.resize(p)
			}
			d.there = append(d.there, p)
		}
	}
	if node, made := d.makeOdd(odd); made && slices.Contains(strictIn[odd], parity.Release) {
		d.strict[node] = odd
	}
	return d
}

func (d *draw) chance(oneIn int) bool { return d.IntN(oneIn) == 0 }

func oneOf[T any](d *draw, all ...T) T { return all[d.IntN(len(all))] }

func readyNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
}

func (d *draw) node(name string) *corev1.Node {
	n := readyNode(name)
	n.Spec.Unschedulable = d.chance(8)
	if zone := oneOf(d, "a", "b", ""); zone != "" {
		n.Labels = map[string]string{"zone": zone, "cores": oneOf(d, "8", "16", "many", "-1", "")}
	}
	for d.chance(4) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: d.taintKey(), Value: d.taintValue(), Effect: d.taintEffect()})
	}
	n.Status.Allocatable = d.quantities(1, map[corev1.ResourceName][]string{
		"pods": {"0", "1", "2", "3", "110", "110", "110", "110"}, "cpu": {"1", "2", "2500m", "4"},
		"memory":            {"128Mi", "256Mi", "134217729", "1Gi"},
		"ephemeral-storage": {"1Gi", "2Gi"}, "example.com/gpu": {"1", "2", "3"}, "hugepages-2Mi": {"4Mi", "8Mi"},
	})
	if d.chance(20) {
		delete(n.Status.Allocatable, oneOf[corev1.ResourceName](d, "pods", "cpu", "memory", "ephemeral-storage"))
	}
	return n
}

func (d *draw) taintKey() string {
	return oneOf(d, "gpu", "spot", corev1.TaintNodeUnschedulable)
}

func (d *draw) taintValue() string { return oneOf(d, "", "yes", "1", "2") }

func (d *draw) taintEffect() corev1.TaintEffect {
	return oneOf(d, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute,
		corev1.TaintEffectPreferNoSchedule, "Other")
}

// quantities draws from the values of each resource, with a chance of one in so many.
func (d *draw) quantities(oneIn int, values map[corev1.ResourceName][]string) corev1.ResourceList {
	list := corev1.ResourceList{}
	names := []corev1.ResourceName{"pods", "cpu", "memory", "ephemeral-storage", "example.com/gpu", "hugepages-2Mi"}
	for _, name := range names {
		if v := values[name]; len(v) > 0 && d.chance(oneIn) {
			list[name] = resource.MustParse(oneOf(d, v...))
		}
	}
	return list
}

func (d *draw) requests() corev1.ResourceList {
	if d.chance(4) {
		return nil
	}
	return d.quantities(3, map[corev1.ResourceName][]string{
		"cpu":               {"0", "1m", "250m", "500m", "1", "1500m", "2"},
		"memory":            {"0", "100m", "500m", "64Mi", "128Mi", "134217728500m"},
		"ephemeral-storage": {"0", "512Mi", "1Gi"}, "example.com/gpu": {"0", "1", "2"}, "hugepages-2Mi": {"0", "2Mi", "4Mi"},
	})
}

// podSpec draws what a pod asks for. The higher oneIn, the fewer ports, overheads and requests of the pod as a whole.
func (d *draw) podSpec(oneIn int) corev1.PodSpec {
	spec := corev1.PodSpec{NodeSelector: d.nodeSelector(), Affinity: d.affinity()}
	for i := range 1 + d.IntN(2) {
		spec.Containers = append(spec.Containers, d.container(fmt.Sprint("app-", i), oneIn/4))
	}
	for i := range d.IntN(3) {
		c := d.container(fmt.Sprint("init-", i), oneIn/4)
		c.RestartPolicy = oneOf(d, nil, ptr.To(corev1.ContainerRestartPolicyAlways), ptr.To(corev1.ContainerRestartPolicyOnFailure))
		spec.InitContainers = append(spec.InitContainers, c)
	}
	if d.chance(oneIn) {
		spec.Resources = &corev1.ResourceRequirements{Requests: d.quantities(2, map[corev1.ResourceName][]string{
			"cpu": {"1", "2", "3"}, "memory": {"128Mi", "256Mi"}, "hugepages-2Mi": {"2Mi", "8Mi"}, "example.com/gpu": {"1"}})}
	}
	if d.chance(oneIn) {
		spec.Overhead = d.quantities(2, map[corev1.ResourceName][]string{"cpu": {"1m", "250m"}, "memory": {"500m", "64Mi"}})
	}
	for d.IntN(3) > 0 {
		spec.Tolerations = append(spec.Tolerations, d.toleration())
	}
	return spec
}

func (d *draw) container(name string, oneIn int) corev1.Container {
	c := corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: d.requests()}}
	for d.chance(2 + oneIn) {
		c.Ports = append(c.Ports, corev1.ContainerPort{
			HostPort: oneOf[int32](d, 0, 80, 80, 443), HostIP: oneOf(d, "", "", "0.0.0.0", "10.0.0.1", "10.0.0.2", "::"),
			Protocol: oneOf(d, "", corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP),
		})
	}
	return c
}

func (d *draw) toleration() corev1.Toleration {
	t := corev1.Toleration{
		Key: oneOf(d, "", d.taintKey()), Value: oneOf(d, "", d.taintValue()), Effect: oneOf(d, "", d.taintEffect()),
		Operator: oneOf(d, "", corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpExists, "Gt", "Lt", "Like"),
	}
	if d.chance(4) {
		t.TolerationSeconds = ptr.To(int64(d.IntN(3) - 1))
	}
	return t
}

func (d *draw) nodeSelector() map[string]string {
	if !d.chance(6) {
		return oneOf(d, nil, map[string]string{})
	}
	return oneOf(d, map[string]string{"zone": "a"}, map[string]string{"zone": "b", "cores": "8"}, map[string]string{"cores": ""},
		map[string]string{"no": "node"}, map[string]string{"bad key!": "bad value!"})
}

func (d *draw) affinity() *corev1.Affinity {
	if !d.chance(5) {
		return oneOf(d, nil, &corev1.Affinity{}, &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}})
	}
	selector := &corev1.NodeSelector{}
	for range d.IntN(4) {
		var term corev1.NodeSelectorTerm
		for range d.IntN(3) {
			term.MatchExpressions = append(term.MatchExpressions, d.expression())
		}
		if d.chance(3) {
			for range 1 + d.IntN(2) {
				term.MatchFields = append(term.MatchFields, d.field())
			}
		}
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, term)
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: selector}}
}

func (d *draw) expression() corev1.NodeSelectorRequirement {
	e := corev1.NodeSelectorRequirement{Key: oneOf(d, "zone", "zone", "cores", "cores", "missing", "bad key!"), Operator: d.operator()}
	values := 1
	switch {
	case d.chance(6):
		values = d.IntN(3)
	case e.Operator == corev1.NodeSelectorOpExists || e.Operator == corev1.NodeSelectorOpDoesNotExist:
		values = 0
	case e.Operator == corev1.NodeSelectorOpIn || e.Operator == corev1.NodeSelectorOpNotIn:
		values = 1 + d.IntN(2)
	}
	for range values {
		e.Values = append(e.Values, oneOf(d, "a", "b", "8", "7", "15", "-2", "7.5", "many", "", "bad value!"))
	}
	return e
}

func (d *draw) operator() corev1.NodeSelectorOperator {
	return oneOf(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist,
		corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, "Near", "")
}

func (d *draw) field() corev1.NodeSelectorRequirement {
	f := corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: oneOf(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn)}
	if d.chance(6) {
		f.Operator = d.operator()
	}
	values := 1
	if d.chance(6) {
		values = d.IntN(3)
	}
	for range values {
		f.Values = append(f.Values, oneOf(d, "n0", "n0", "n1", "n2", "gone"))
	}
	return f
}

// state draws whether the pod on a node runs, has ended or is being deleted.
func (d *draw) state(p *corev1.Pod) {
	p.Status.Phase = oneOf(d, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodSucceeded,
		corev1.PodFailed, corev1.PodUnknown, "")
	if d.chance(6) {
		shop.Deleting(p)
		p.DeletionGracePeriodSeconds = ptr.To(int64(30))
	}
}

// resize gives the pod the status that its kubelet writes while one of its containers, or the pod as a whole, is resized.
func (d *draw) resize(p *corev1.Pod) {
	containers(p, func(c *corev1.Container, statuses *[]corev1.ContainerStatus) {
		*statuses = append(*statuses, statusOf(c.Name, c.Resources.Requests, c.Resources.Requests))
	})
	if whole := p.Spec.Resources; whole != nil && len(whole.Requests) > 0 {
		p.Status.AllocatedResources = resized(d, whole.Requests)
		p.Status.Resources = &corev1.ResourceRequirements{Requests: resized(d, whole.Requests)}
		// A pod as a whole has none: no API server admits the request.
		delete(p.Status.AllocatedResources, "example.com/gpu")
		delete(p.Status.Resources.Requests, "example.com/gpu")
		return
	}
	if d.chance(3) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue,
			Reason: oneOf(d, corev1.PodReasonInfeasible, corev1.PodReasonDeferred)})
	}
	i := d.IntN(len(p.Spec.Containers))
	c := &p.Spec.Containers[i]
	p.Status.ContainerStatuses[i] = statusOf(c.Name, resized(d, c.Resources.Requests), resized(d, c.Resources.Requests))
}

// containers calls the function for each container, with the statuses among which its own is.
func containers(p *corev1.Pod, f func(*corev1.Container, *[]corev1.ContainerStatus)) {
	for i := range p.Spec.InitContainers {
		f(&p.Spec.InitContainers[i], &p.Status.InitContainerStatuses)
	}
	for i := range p.Spec.Containers {
		f(&p.Spec.Containers[i], &p.Status.ContainerStatuses)
	}
}

func statusOf(name string, allocated, has corev1.ResourceList) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, AllocatedResources: allocated, Resources: &corev1.ResourceRequirements{Requests: has}}
}

// resized are the quantities, half of them, or twice them.
func resized(d *draw, list corev1.ResourceList) corev1.ResourceList {
	return times(list, oneOf[int64](d, 1, 2, 4))
}

// times are so many halves of the quantities.
func times(list corev1.ResourceList, halves int64) corev1.ResourceList {
	if list == nil {
		return nil
	}
	scaled := corev1.ResourceList{}
	for name, q := range list {
		scaled[name] = *resource.NewMilliQuantity(q.MilliValue()*halves/2, q.Format)
	}
	return scaled
}

// makeOdd makes what the reason is about, and says on which node; "" stands for all nodes.
func (d *draw) makeOdd(why string) (node string, made bool) {
	switch why {
	case "":
		return "", false
	case otherField:
		d.evicted[0].Spec.NodeSelector = nil
		d.evicted[0].Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.uid", Operator: d.operator(), Values: []string{"x"}}}}}}}}
		return "", true
	case beyondInt64:
		pod := d.evicted[0]
		if d.chance(2) && len(d.there) > 0 {
			pod = oneOf(d, d.there...)
		}
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
			"cpu": resource.MustParse("1e17"), "memory": resource.MustParse("1e19")}
		return "", true
	}
	if len(d.there) == 0 {
		return "", false
	}
	p := oneOf(d, d.there...)
	d.makeOddlyResized(p, why)
	return p.Spec.NodeName, true
}

// makeOddlyResized gives the pod two containers, and a status that kubelets do not write.
func (d *draw) makeOddlyResized(p *corev1.Pod, why string) {
	few := d.quantities(1, map[corev1.ResourceName][]string{"cpu": {"100m"}, "memory": {"32Mi"}})
	many := d.quantities(1, map[corev1.ResourceName][]string{"cpu": {"1", "2"}, "memory": {"128Mi"}})
	p.Spec.InitContainers, p.Spec.Containers = nil, []corev1.Container{{Name: "app-0"}, {Name: "app-1"}}
	p.Spec.Resources, p.Status = nil, corev1.PodStatus{Phase: corev1.PodRunning}
	switch why {
	case onlyAllocated:
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app-0", AllocatedResources: many}}
	case againstEachOther:
		p.Spec.Containers[0].Resources.Requests, p.Spec.Containers[1].Resources.Requests = few, many
		p.Status.ContainerStatuses = []corev1.ContainerStatus{statusOf("app-0", many, many), statusOf("app-1", few, few)}
	case podStatusAlone:
		p.Status.AllocatedResources, p.Status.Resources = many, &corev1.ResourceRequirements{Requests: many}
	case infeasiblePod:
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: many}
		p.Status.AllocatedResources, p.Status.Resources = few, &corev1.ResourceRequirements{Requests: few}
		p.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible}}
	}
}
