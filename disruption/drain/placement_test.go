package drain

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
)

func resources(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// node has room for ten pods and two processors.
func node(name string, edit ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Allocatable: resources("pods", "10", "cpu", "2"),
		Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
	}}
	for _, e := range edit {
		e(n)
	}
	return n
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func allocatable(pairs ...string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Allocatable = resources(pairs...) }
}

func wants(pairs ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers = []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{Requests: resources(pairs...)}}}
	}
}

// threeNodes is a ReplicaSet with a pod of one processor on each of three nodes, which another pod fills.
func threeNodes(spec ...func(*policyv1.PodDisruptionBudget)) disruption.Snapshot {
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(3)))},
		Budgets: []*policyv1.PodDisruptionBudget{budget(spec...)}}
	for i := range 3 {
		on := on(fmt.Sprint("n", i))
		s.Pods = append(s.Pods, pod(fmt.Sprint("web-", i), by("apps/v1", "ReplicaSet", "rs"), on, wants("cpu", "1")))
	}
	return s
}

func nodes(n int, edit ...func(*corev1.Node)) []*corev1.Node {
	var all []*corev1.Node
	for i := range n {
		all = append(all, node(fmt.Sprint("n", i), edit...))
	}
	return all
}

const full = "0/3 nodes are available: 1 node(s) were unschedulable, 2 Insufficient cpu."

// Three nodes that are full, and maxUnavailable: 1. The first pod that goes finds no node, so no other one may go, whoever asks:
// the drains of all nodes together, one after the other, and a rolling upgrade.
func TestReplacementNeedsANode(t *testing.T) {
	x := disruption.NewIndex(threeNodes(maxUnavailable("1")), disruption.Options{})
	small := nodes(3, allocatable("pods", "10", "cpu", "1"))
	three := []string{"n0", "n1", "n2"}

	unchecked, _, err := Nodes(x, three, Options{})
	require.NoError(t, err)
	for i, d := range unchecked {
		require.False(t, d.NodesChecked)
		require.Equal(t, []Outcome{Now, InRounds, InRounds}[i], d.Outcome, "somewhere a node is assumed for each pod")
	}
	drains, _, err := Nodes(x, three, Options{Nodes: small})
	require.NoError(t, err)
	require.Equal(t, LeavesPending, drains[0].Outcome)
	require.Equal(t, []PendingPod{{nn("web-0"), "0/3 nodes are available: 3 node(s) were unschedulable."}}, drains[0].Pending)
	require.Equal(t, Never, drains[1].Outcome)
	require.Equal(t, Never, drains[2].Outcome)

	d, after, err := Node(x, "n0", Options{Nodes: small})
	require.NoError(t, err)
	require.True(t, d.NodesChecked)
	require.Equal(t, LeavesPending, d.Outcome)
	require.Equal(t, []PendingPod{{nn("web-0"), full}}, d.Pending)
	require.Equal(t, corev1.PodPending, after.Pod(nn("web-0")).Status.Phase)
	next, _, err := Node(after, "n1", Options{Nodes: small})
	require.NoError(t, err)
	require.Equal(t, Never, next.Outcome, "as it is said of the cluster that the first drain leaves")

	plan, _, err := Waves(x, three, WaveOptions{Options: Options{Nodes: small}, Rounds: -1})
	require.NoError(t, err)
	require.Empty(t, plan.Waves)
	for _, d := range plan.Blocked {
		require.Equal(t, LeavesPending, d.Outcome, d.Node)
	}

	// With room for one more pod on each, a node drains after the other.
	plan, _, err = Waves(x, three, WaveOptions{Options: Options{Nodes: nodes(3)}, Rounds: -1})
	require.NoError(t, err)
	require.Empty(t, plan.Blocked)
	require.NotContains(t, waveNodes(plan), three, "there would be no node left")
}

// All other nodes are cordoned.
func TestReplacementOfACordonedCluster(t *testing.T) {
	x := disruption.NewIndex(threeNodes(maxUnavailable("1")), disruption.Options{})
	d, after, err := Node(x, "n1", Options{Nodes: nodes(3, cordoned)})
	require.NoError(t, err)
	require.Equal(t, LeavesPending, d.Outcome)
	require.Equal(t, "0/3 nodes are available: 3 node(s) were unschedulable.", d.Pending[0].Message)
	// The budget says the same: the pod is expected, and is not healthy.
	require.EqualValues(t, 2, after.Budget(nn("web")).Status.CurrentHealthy)
	require.Zero(t, after.Budget(nn("web")).Status.DisruptionsAllowed)
}

// One place is left, and each of the pods wants it. A StatefulSet recreates its pod last, and of the others it is the pod that
// was not ready that takes room from the one that was.
func TestWhoTakesTheLastRoom(t *testing.T) {
	ofRS, ofSet := by("apps/v1", "ReplicaSet", "rs"), by("apps/v1", "StatefulSet", "a")
	for _, tc := range []struct {
		name  string
		evict []*corev1.Pod
		want  string
	}{
		{"a StatefulSet waits until its pod is gone", []*corev1.Pod{pod("a-0", ofSet), pod("web-1", ofRS)}, "web-1"},
		{"a pod that is not ready takes room", []*corev1.Pod{pod("web-1", ofRS), pod("web-2", ofRS, unready)}, "web-2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := disruption.Snapshot{Now: now, StatefulSets: []*appsv1.StatefulSet{statefulSet("a", ptr.To(int32(1)))},
				ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(2)))}}
			for _, p := range tc.evict {
				p.Spec.NodeName = "n0"
				s.Pods = append(s.Pods, p)
			}
			x := disruption.NewIndex(s, disruption.Options{})
			_, after, err := Node(x, "n0", Options{Nodes: []*corev1.Node{node("n0"), node("n1", allocatable("pods", "1"))}})
			require.NoError(t, err)
			require.Equal(t, "n1", after.Pod(nn(tc.want)).Spec.NodeName)
		})
	}
}

// Pods without a node are sorted by name, and not by who looked first.
func TestPendingPodsAreSorted(t *testing.T) {
	of := by("apps/v1", "ReplicaSet", "rs")
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(2)))},
		Pods: []*corev1.Pod{pod("web-1", of, on("n0")), pod("web-2", of, on("n0"), unready)}}
	d, _, err := Node(disruption.NewIndex(s, disruption.Options{}), "n0", Options{Nodes: []*corev1.Node{node("n0")}})
	require.NoError(t, err)
	require.Len(t, d.Pending, 2)
	require.Equal(t, nn("web-1"), d.Pending[0].Pod)
}

// Room for some of the pods. With OrderedReady, the second pod of a StatefulSet looks for a node after the first ones of the
// others, and with Parallel, all of them look when they are gone.
func TestOrderOfStatefulSets(t *testing.T) {
	parallel := statefulSet("p", ptr.To(int32(2)))
	parallel.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	sets := []*appsv1.StatefulSet{statefulSet("a", ptr.To(int32(2))), statefulSet("z", ptr.To(int32(2))), parallel}
	for _, tc := range []struct {
		evict, placed []string
	}{
		{[]string{"a-0", "a-1", "z-0"}, []string{"a-0", "z-0"}},
		{[]string{"a-0", "p-0"}, []string{"a-0"}},
		{[]string{"p-0", "z-0"}, []string{"p-0"}},
		{[]string{"a-0", "a-1", "p-0", "p-1"}, []string{"a-0", "p-0", "p-1"}},
		{[]string{"p-0", "web-longer"}, []string{"web-longer"}},
	} {
		s := disruption.Snapshot{Now: now, StatefulSets: sets, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(1)))}}
		for _, name := range tc.evict {
			of := by("apps/v1", "StatefulSet", name[:1])
			if name[0] == 'w' {
				of = by("apps/v1", "ReplicaSet", "rs")
			}
			s.Pods = append(s.Pods, pod(name, of, on("n0")))
		}
		room := allocatable("pods", fmt.Sprint(len(tc.placed)))
		_, after, err := Node(disruption.NewIndex(s, disruption.Options{}), "n0", Options{Nodes: []*corev1.Node{node("n0"), node("n1", room)}})
		require.NoError(t, err)
		var placed []string
		for _, p := range podsOn(after, "n1") {
			placed = append(placed, p.Name)
		}
		require.Equal(t, tc.placed, placed, "%v", tc.evict)
	}
}

// Two pods of a node want the only place that there is. The first by name gets it, and the second finds it taken.
func TestReplacementsTakeRoom(t *testing.T) {
	ofRS := by("apps/v1", "ReplicaSet", "rs")
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(2)))}, Pods: []*corev1.Pod{
		pod("a", ofRS, on("n0"), wants("cpu", "1")), pod("b", ofRS, on("n0"), wants("cpu", "1")),
		pod("other", on("n1"), wants("cpu", "1")), pod("ended", on("n1"), wants("cpu", "1"), phase(corev1.PodSucceeded)),
	}}
	x := disruption.NewIndex(s, disruption.Options{})
	d, after, err := Node(x, "n0", Options{Nodes: nodes(2)})
	require.NoError(t, err)
	require.Equal(t, "n1", after.Pod(nn("a")).Spec.NodeName)
	require.Empty(t, after.Pod(nn("b")).Spec.NodeName)
	require.Equal(t, []PendingPod{{nn("b"), "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."}}, d.Pending)

	s.Pods[3].Status.Phase = corev1.PodRunning
	x = disruption.NewIndex(s, disruption.Options{})
	d, _, err = Node(x, "n0", Options{Nodes: nodes(2)})
	require.NoError(t, err)
	require.Len(t, d.Pending, 2, "a pod that has not ended takes room")
	d, _, err = Node(x, "n0", Options{Nodes: nodes(2), Budgets: AsWritten})
	require.NoError(t, err)
	require.Equal(t, Now, d.Outcome)
	require.False(t, d.NodesChecked, "with AsWritten nothing is recreated")
}

// What keeps a pod from a node, each in the words of kube-scheduler.
func TestFilters(t *testing.T) {
	taint := func(key, value string, effect corev1.TaintEffect) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: effect})
		}
	}
	labels := func(n *corev1.Node) { n.Labels = map[string]string{"zone": "a", "cores": "8"} }
	tolerates := func(ts ...corev1.Toleration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Tolerations = ts }
	}
	selects := func(key, value string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} }
	}
	affine := func(terms ...corev1.NodeSelectorTerm) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
		}
	}
	label := func(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
	}
	field := func(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
	}
	port := func(ip string, protocol corev1.Protocol, number int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{HostPort: number, HostIP: ip, Protocol: protocol}}}}
		}
	}
	container := func(cpu string) corev1.Container {
		return corev1.Container{Name: cpu, Resources: corev1.ResourceRequirements{Requests: resources("cpu", cpu)}}
	}
	sidecar := func(cpu string) corev1.Container {
		c := container(cpu)
		c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		return c
	}
	spec := func(inits []corev1.Container, containers ...corev1.Container) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.InitContainers, p.Spec.Containers = inits, containers }
	}
	memory := func(amount string) corev1.Container {
		return corev1.Container{Name: amount, Resources: corev1.ResourceRequirements{Requests: resources("memory", amount)}}
	}
	status := func(p *corev1.Pod) *corev1.ContainerStatus {
		if len(p.Status.ContainerStatuses) == 0 {
			p.Status.ContainerStatuses = make([]corev1.ContainerStatus, 1)
		}
		return &p.Status.ContainerStatuses[0]
	}
	allocated := func(name, cpu string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { status(p).Name, status(p).AllocatedResources = name, resources("cpu", cpu) }
	}
	actual := func(name, cpu string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			status(p).Name, status(p).Resources = name, &corev1.ResourceRequirements{Requests: resources("cpu", cpu)}
		}
	}
	initStatus := func(name, cpu string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			actual(name, cpu)(p)
			p.Status.ContainerStatuses, p.Status.InitContainerStatuses = nil, p.Status.ContainerStatuses
		}
	}
	notResized := func(reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = append([]corev1.PodCondition{{Type: corev1.PodResizePending, Reason: reason}}, p.Status.Conditions...)
		}
	}
	infeasible := notResized(corev1.PodReasonInfeasible)
	has := func(edit ...func(*corev1.Pod)) *corev1.Pod { return pod("there", append(edit, on("to"))...) }
	for _, tc := range []struct {
		name  string
		pod   func(*corev1.Pod)
		node  func(*corev1.Node)
		there *corev1.Pod
		want  string
	}{
		{name: "room for it"},
		{name: "cordoned", node: cordoned, want: unschedulable},
		{name: "cordoned, and tolerated", node: cordoned, pod: tolerates(corev1.Toleration{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists})},
		{name: "not ready", node: func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }, want: notReady},
		{name: "not ready, and short of disk", node: func(n *corev1.Node) {
			n.Status.Conditions[0].Status = corev1.ConditionFalse
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue})
		}, want: notReady},
		{name: "without a condition", node: func(n *corev1.Node) { n.Status.Conditions = nil }, want: notReady},

		{name: "a taint", node: taint("gpu", "yes", corev1.TaintEffectNoSchedule), want: untolerated},
		{name: "a taint that also evicts", node: taint("gpu", "yes", corev1.TaintEffectNoExecute), want: untolerated},
		{name: "a taint that only prefers", node: taint("gpu", "yes", corev1.TaintEffectPreferNoSchedule)},
		{name: "a taint with this value", node: taint("gpu", "yes", corev1.TaintEffectNoSchedule), pod: tolerates(corev1.Toleration{Key: "gpu", Value: "yes"})},
		{name: "a taint with another value", node: taint("gpu", "yes", corev1.TaintEffectNoSchedule), pod: tolerates(corev1.Toleration{Key: "gpu", Value: "no"}), want: untolerated},
		{name: "a taint with another effect", node: taint("gpu", "yes", corev1.TaintEffectNoSchedule),
			pod: tolerates(corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}), want: untolerated},
		{name: "a taint with this effect", node: taint("gpu", "yes", corev1.TaintEffectNoSchedule),
			pod: tolerates(corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})},
		{name: "everything tolerated", node: taint("gpu", "yes", corev1.TaintEffectNoExecute), pod: tolerates(corev1.Toleration{Operator: corev1.TolerationOpExists})},
		{name: "one of two taints", node: func(n *corev1.Node) {
			taint("gpu", "yes", corev1.TaintEffectNoSchedule)(n)
			taint("spot", "", corev1.TaintEffectNoSchedule)(n)
		}, pod: tolerates(corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists}), want: untolerated},
		{name: "an operator of a newer release", node: taint("gpu", "1", corev1.TaintEffectNoSchedule), pod: tolerates(corev1.Toleration{Key: "gpu", Operator: "Gt", Value: "0"}), want: untolerated},

		{name: "nodeSelector", node: labels, pod: selects("zone", "a")},
		{name: "nodeSelector, another value", node: labels, pod: selects("zone", "b"), want: unmatched},
		{name: "no affinity to nodes", pod: func(p *corev1.Pod) { p.Spec.Affinity = &corev1.Affinity{} }},
		{name: "no affinity terms", pod: affine(), want: unmatched},
		{name: "an empty term", pod: affine(corev1.NodeSelectorTerm{}), want: unmatched},
		{name: "In", node: labels, pod: affine(label("zone", corev1.NodeSelectorOpIn, "b", "a"))},
		{name: "NotIn", node: labels, pod: affine(label("zone", corev1.NodeSelectorOpNotIn, "b", "a")), want: unmatched},
		{name: "Gt", node: labels, pod: affine(label("cores", corev1.NodeSelectorOpGt, "7"))},
		{name: "Lt", node: labels, pod: affine(label("cores", corev1.NodeSelectorOpLt, "8")), want: unmatched},
		{name: "Exists", node: labels, pod: affine(label("cores", corev1.NodeSelectorOpExists))},
		{name: "DoesNotExist", node: labels, pod: affine(label("cores", corev1.NodeSelectorOpDoesNotExist)), want: unmatched},
		{name: "the second term", node: labels, pod: affine(label("zone", corev1.NodeSelectorOpIn, "b"), label("zone", corev1.NodeSelectorOpIn, "a"))},
		{name: "an unknown operator", node: labels, pod: affine(label("zone", "Near", "a")), want: unmatched},
		{name: "the name", pod: affine(field("metadata.name", corev1.NodeSelectorOpIn, "to"))},
		{name: "another name", pod: affine(field("metadata.name", corev1.NodeSelectorOpIn, "from")), want: unmatched},
		{name: "not the name", pod: affine(field("metadata.name", corev1.NodeSelectorOpNotIn, "to")), want: unmatched},
		{name: "another field", pod: affine(field("metadata.uid", corev1.NodeSelectorOpNotIn, "from")), want: unmatched},
		{name: "an unknown operator of a field", pod: affine(field("metadata.name", corev1.NodeSelectorOpExists, "from")), want: unmatched},
		{name: "several names", pod: affine(field("metadata.name", corev1.NodeSelectorOpIn, "to", "from")), want: unmatched},
		{name: "no name", pod: affine(field("metadata.name", corev1.NodeSelectorOpNotIn)), want: unmatched},
		{name: "Exists with a value", node: labels, pod: affine(label("cores", corev1.NodeSelectorOpExists, "8")), want: unmatched},
		{name: "Gt of what is no number", node: labels, pod: affine(label("zone", corev1.NodeSelectorOpGt, "-9")), want: unmatched},
		{name: "a label and the name", node: labels, pod: affine(corev1.NodeSelectorTerm{
			MatchExpressions: label("zone", corev1.NodeSelectorOpIn, "a").MatchExpressions,
			MatchFields:      field("metadata.name", corev1.NodeSelectorOpIn, "to").MatchFields})},
		{name: "a label and another name", node: labels, pod: affine(corev1.NodeSelectorTerm{
			MatchExpressions: label("zone", corev1.NodeSelectorOpIn, "a").MatchExpressions,
			MatchFields:      field("metadata.name", corev1.NodeSelectorOpIn, "from").MatchFields}), want: unmatched},
		{name: "nodeSelector and affinity", node: labels, pod: func(p *corev1.Pod) {
			selects("zone", "b")(p)
			affine(label("zone", corev1.NodeSelectorOpIn, "a"))(p)
		}, want: unmatched},

		{name: "the port is taken", pod: port("", "", 80), there: has(port("", corev1.ProtocolTCP, 80)), want: portsTaken},
		{name: "of another protocol", pod: port("", "", 80), there: has(port("", corev1.ProtocolUDP, 80))},
		{name: "another port", pod: port("", "", 80), there: has(port("", "", 81))},
		{name: "of one address", pod: port("", "", 80), there: has(port("10.0.0.1", "", 80)), want: portsTaken},
		{name: "of every address", pod: port("10.0.0.1", "", 80), there: has(port("0.0.0.0", "", 80)), want: portsTaken},
		{name: "of another address", pod: port("10.0.0.1", "", 80), there: has(port("10.0.0.2", "", 80))},
		{name: "of the same address", pod: port("10.0.0.1", "", 80), there: has(port("10.0.0.1", "", 80)), want: portsTaken},
		{name: "the first port", pod: port("", "", 1), there: has(port("", "", 1)), want: portsTaken},
		{name: "ports of the pod alone", pod: port("", "", 0), there: has(port("", "", 0))},
		{name: "the port of an init container", pod: port("", "", 80), there: has(func(p *corev1.Pod) {
			c := container("0")
			c.Ports = []corev1.ContainerPort{{HostPort: 80}}
			p.Spec.InitContainers = []corev1.Container{c}
		})},
		{name: "the port of a sidecar", pod: port("", "", 80), there: has(func(p *corev1.Pod) {
			c := sidecar("0")
			c.Ports = []corev1.ContainerPort{{HostPort: 80}}
			p.Spec.InitContainers = []corev1.Container{c}
		}), want: portsTaken},

		{name: "all of it", pod: wants("cpu", "2")},
		{name: "too much", pod: wants("cpu", "2001m"), want: "Insufficient cpu"},
		{name: "what is left", pod: wants("cpu", "500m"), there: has(wants("cpu", "1500m"))},
		{name: "more than what is left", pod: wants("cpu", "501m"), there: has(wants("cpu", "1500m")), want: "Insufficient cpu"},
		{name: "the least of what is taken", pod: wants("cpu", "1m"), there: has(wants("cpu", "2")), want: "Insufficient cpu"},
		{name: "the least of what is taken twice", pod: wants("cpu", "1m"), there: has(wants("cpu", "4")), want: "Insufficient cpu"},
		{name: "no room for a pod", node: allocatable("pods", "1", "cpu", "2"), there: has(), want: tooManyPods},
		{name: "a device that the node lacks", pod: wants("example.com/gpu", "1"), want: "Insufficient example.com/gpu"},
		{name: "no device at all", pod: wants("example.com/gpu", "0")},
		{name: "nothing wanted of an overcommitted node", pod: wants("memory", "0"), there: has(wants("cpu", "3"))},
		{name: "more together than a number holds", pod: spec(nil, container("9e15"), container("9e15")), want: "Insufficient cpu"},
		{name: "more together than a number holds, and then less", pod: spec(nil, container("46e14"), container("47e14")), want: "Insufficient cpu"},
		{name: "a node with more than a number holds", pod: wants("cpu", "1"), there: has(spec(nil, container("9e15"), container("9e15"))), want: "Insufficient cpu"},
		{name: "a negative amount makes no room", pod: wants("cpu", "2500m"), there: has(wants("cpu", "-1")), want: "Insufficient cpu"},
		{name: "a negative amount beside another", pod: spec(nil, container("2500m"), container("-1")), want: "Insufficient cpu"},
		{name: "containers together", pod: spec(nil, container("1500m"), container("600m")), want: "Insufficient cpu"},
		{name: "an init container", pod: spec([]corev1.Container{container("3")}, container("1")), want: "Insufficient cpu"},
		{name: "init containers one after the other", pod: spec([]corev1.Container{container("2"), container("2")}, container("1"))},
		{name: "a sidecar beside the containers", pod: spec([]corev1.Container{sidecar("1500m")}, container("600m")), want: "Insufficient cpu"},
		{name: "a sidecar beside a later init container", pod: spec([]corev1.Container{sidecar("1"), container("1500m")}, container("1")), want: "Insufficient cpu"},
		{name: "a sidecar after an init container", pod: spec([]corev1.Container{container("2"), sidecar("1")}, container("1"))},
		{name: "overhead", pod: func(p *corev1.Pod) { wants("cpu", "1500m")(p); p.Spec.Overhead = resources("cpu", "600m") }, want: "Insufficient cpu"},
		{name: "requests of the whole pod", pod: func(p *corev1.Pod) {
			wants("cpu", "1")(p)
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: resources("cpu", "3")}
		}, want: "Insufficient cpu"},
		{name: "requests of the whole pod that are less", pod: func(p *corev1.Pod) {
			spec([]corev1.Container{container("3")}, container("3"))(p)
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: resources("cpu", "2")}
		}},
		{name: "requests of the whole pod and overhead", pod: func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: resources("cpu", "1500m")}
			p.Spec.Overhead = resources("cpu", "600m")
		}, want: "Insufficient cpu"},
		{name: "memory and huge pages of the whole pod", pod: func(p *corev1.Pod) {
			wants("memory", "5", "hugepages-2Mi", "5")(p)
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: resources("memory", "1", "hugepages-2Mi", "1")}
		}, node: allocatable("pods", "1", "memory", "1", "hugepages-2Mi", "1")},
		{name: "a device is of containers, and not of the whole pod", pod: func(p *corev1.Pod) {
			wants("example.com/gpu", "1")(p)
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: resources("example.com/gpu", "0")}
		}, want: "Insufficient example.com/gpu"},

		{name: "parts of a byte are added first", pod: spec(nil, memory("500m"), memory("500m")), node: allocatable("pods", "1", "memory", "1")},
		{name: "a part of a byte counts as one", pod: wants("memory", "1001m"), node: allocatable("pods", "1", "memory", "1"), want: "Insufficient memory"},
		{name: "half a byte counts as one", pod: wants("memory", "1500m"), node: allocatable("pods", "1", "memory", "2")},
		{name: "a part of a byte of each pod counts as one", pod: wants("memory", "1500m"), there: has(wants("memory", "1500m")),
			node: allocatable("pods", "2", "memory", "3"), want: "Insufficient memory"},
		{name: "more than a number holds", pod: wants("cpu", "1e17"), want: "Insufficient cpu"},
		{name: "more than a number holds in thousandths", pod: wants("memory", "10Pi"), node: allocatable("pods", "1", "memory", "95e14"),
			want: "Insufficient memory"},
		{name: "room of the largest number, which stands for more", pod: wants("memory", "1"),
			node: allocatable("pods", "1", "memory", "9223372036854775807"), want: "Insufficient memory"},
		{name: "room that no number holds", pod: wants("cpu", "1m"), node: allocatable("pods", "1", "cpu", "1e17"), want: "Insufficient cpu"},

		{name: "a container that is made smaller", pod: wants("cpu", "600m"), there: has(wants("cpu", "1"), allocated("app", "1500m")), want: "Insufficient cpu"},
		{name: "a container that has more than it asks for", pod: wants("cpu", "600m"), there: has(wants("cpu", "1"), actual("app", "1500m")), want: "Insufficient cpu"},
		{name: "a container that is made larger", pod: wants("cpu", "600m"), there: has(wants("cpu", "1500m"), actual("app", "1")), want: "Insufficient cpu"},
		{name: "a container that cannot be made larger", pod: wants("cpu", "600m"), there: has(wants("cpu", "1500m"), actual("app", "1"), infeasible)},
		{name: "a container that cannot be made larger, and what it was allocated", pod: wants("cpu", "600m"),
			there: has(wants("cpu", "3"), actual("app", "1"), allocated("app", "1500m"), infeasible), want: "Insufficient cpu"},
		{name: "a container that cannot be made larger, of which nobody says what it has", pod: wants("cpu", "600m"),
			there: has(wants("cpu", "1500m"), allocated("app", "1"), infeasible), want: "Insufficient cpu"},
		{name: "the status of another container", pod: wants("cpu", "600m"), there: has(wants("cpu", "1"), actual("other", "1500m"))},
		{name: "a container that is to be made larger later", pod: wants("cpu", "600m"), there: has(wants("cpu", "1500m"), actual("app", "1"),
			notResized(corev1.PodReasonDeferred)), want: "Insufficient cpu"},
		{name: "a sidecar that has more than it asks for", pod: wants("cpu", "600m"), there: has(spec([]corev1.Container{sidecar("1")}),
			initStatus("1", "1500m")), want: "Insufficient cpu"},
		{name: "a sidecar that cannot be made larger", pod: wants("cpu", "600m"), there: has(spec([]corev1.Container{sidecar("1500m")}),
			initStatus("1500m", "1"), infeasible)},
		{name: "an init container is not resized", pod: wants("cpu", "600m"), there: has(spec([]corev1.Container{container("1500m")}),
			initStatus("1500m", "1"), infeasible), want: "Insufficient cpu"},
		{name: "a pod that is made smaller as a whole", pod: wants("cpu", "600m"), there: has(func(p *corev1.Pod) {
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: resources("cpu", "1")}
			p.Status.AllocatedResources = resources("cpu", "1500m")
		}), want: "Insufficient cpu"},
		{name: "a pod that has more as a whole than its containers ask for", pod: wants("cpu", "600m"), there: has(wants("cpu", "1"), func(p *corev1.Pod) {
			p.Status.Resources = &corev1.ResourceRequirements{Requests: resources("cpu", "1500m")}
		}), want: "Insufficient cpu"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			evicted := pod("web", by("apps/v1", "ReplicaSet", "rs"), on("from"))
			to := node("to")
			if tc.pod != nil {
				tc.pod(evicted)
			}
			if tc.node != nil {
				tc.node(to)
			}
			s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(1)))}, Pods: []*corev1.Pod{evicted}}
			if tc.there != nil {
				s.Pods = append(s.Pods, tc.there)
			}
			d, after, err := Node(disruption.NewIndex(s, disruption.Options{}), "from", Options{Nodes: []*corev1.Node{node("from"), to}})
			require.NoError(t, err)
			if tc.want == "" {
				require.Empty(t, d.Pending)
				require.Equal(t, Now, d.Outcome)
				require.Equal(t, "to", after.Pod(nn("web")).Spec.NodeName)
				return
			}
			require.Equal(t, LeavesPending, d.Outcome)
			require.Len(t, d.Pending, 1)
			require.Contains(t, []string{
				"0/2 nodes are available: 1 " + tc.want + ", 1 node(s) were unschedulable.",
				"0/2 nodes are available: 1 node(s) were unschedulable, 1 " + tc.want + ".",
				"0/2 nodes are available: 2 " + tc.want + ".",
			}, d.Pending[0].Message)
		})
	}
}

// The node with the fewest pods takes the next one. Pods that have ended do not count.
func TestPodsGoToTheEmptiestNode(t *testing.T) {
	s := threeNodes(maxUnavailable("3"))
	for i := range 4 {
		moved := *s.Pods[0]
		moved.Name, moved.UID = fmt.Sprint("other-", i), types.UID(fmt.Sprint("other-", i))
		moved.OwnerReferences, moved.Labels = nil, nil
		moved.Spec.NodeName = "n1"
		if i > 0 {
			moved.Spec.NodeName = "n3"
			moved.Status.Phase = corev1.PodSucceeded
		}
		s.Pods = append(s.Pods, &moved)
	}
	for i := range 4 {
		again := *s.Pods[0]
		again.Name, again.UID = fmt.Sprint("web-again-", i), types.UID(fmt.Sprint("again-", i))
		s.Pods = append(s.Pods, &again)
	}
	s.ReplicaSets[0].Spec.Replicas = ptr.To(int32(7))
	s.Budgets = nil
	d, after, err := Node(disruption.NewIndex(s, disruption.Options{}), "n0", Options{Nodes: nodes(4, allocatable("pods", "20", "cpu", "20"))})
	require.NoError(t, err)
	require.Equal(t, Now, d.Outcome)
	var on []string
	for _, name := range []string{"web-0", "web-again-0", "web-again-1", "web-again-2", "web-again-3"} {
		on = append(on, after.Pod(nn(name)).Spec.NodeName)
	}
	require.Equal(t, []string{"n3", "n2", "n3", "n1", "n2"}, on, "n1 has two pods at the start, n2 one, and n3 none that runs")
}

// Fits replaces what a pod asks of a node. A node that is cordoned, not ready, drained or full takes none all the same.
func TestFits(t *testing.T) {
	s := threeNodes(maxUnavailable("3"))
	s.Pods[0].Spec.NodeSelector = map[string]string{"no": "node"}
	x := disruption.NewIndex(s, disruption.Options{})
	asked := map[string]bool{}
	d, after, err := Node(x, "n0", Options{Nodes: nodes(3), Fits: func(p *corev1.Pod, n *corev1.Node) bool {
		require.Equal(t, "web-0", p.Name)
		asked[n.Name] = true
		return n.Name == "n2"
	}})
	require.NoError(t, err)
	require.Equal(t, Now, d.Outcome)
	require.Equal(t, "n2", after.Pod(nn("web-0")).Spec.NodeName)
	require.Equal(t, map[string]bool{"n0": true, "n1": true, "n2": true}, asked)

	all := func(*corev1.Pod, *corev1.Node) bool { return true }
	d, _, err = Node(x, "n0", Options{Nodes: []*corev1.Node{
		node("n0"), node("n1", cordoned), node("n2", allocatable("pods", "10", "cpu", "1")), node("n3", func(n *corev1.Node) { n.Status.Conditions = nil }),
	}, Fits: all})
	require.NoError(t, err)
	require.Equal(t, "0/4 nodes are available: 1 Insufficient cpu, 1 node(s) were not ready, 2 node(s) were unschedulable.", d.Pending[0].Message)
	d, _, err = Node(x, "n0", Options{Nodes: nodes(3), Fits: func(*corev1.Pod, *corev1.Node) bool { return false }})
	require.NoError(t, err)
	require.Equal(t, "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) were refused by Options.Fits.", d.Pending[0].Message)
}

// Pods that ask for the same may fit differently. A node that is to be filled beyond its capacity says so in its allocatable.
func TestFitsOfPods(t *testing.T) {
	s := threeNodes(maxUnavailable("3"))
	s.Pods[1].Spec.NodeName, s.Pods[2].Spec.NodeName = "n0", "n0"
	x := disruption.NewIndex(s, disruption.Options{})
	want := map[string]string{"web-0": "n2", "web-1": "n1", "web-2": "n1"}
	fits := func(p *corev1.Pod, n *corev1.Node) bool { return want[p.Name] == n.Name }
	d, _, err := Node(x, "n0", Options{Nodes: nodes(3, allocatable("pods", "10", "cpu", "1")), Fits: fits})
	require.NoError(t, err)
	require.Equal(t, []PendingPod{{nn("web-2"),
		"0/3 nodes are available: 1 Insufficient cpu, 1 node(s) were refused by Options.Fits, 1 node(s) were unschedulable."}}, d.Pending)
	d, after, err := Node(x, "n0", Options{Nodes: nodes(3, allocatable("pods", "10", "cpu", "2")), Fits: fits})
	require.NoError(t, err)
	require.Empty(t, d.Pending)
	for pod, node := range want {
		require.Equal(t, node, after.Pod(nn(pod)).Spec.NodeName)
	}
}

// Drains that are asked about alone share what is known of nodes, and not what another of them takes: each pod gets the port.
func TestEachTakesPortsAlone(t *testing.T) {
	s := threeNodes(maxUnavailable("3"))
	for i, p := range s.Pods {
		wants("cpu", fmt.Sprint(i))(p) // the pods differ, so that each asks the node
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
	}
	drains, err := Each(disruption.NewIndex(s, disruption.Options{}), []string{"n0", "n1", "n2"}, Options{Nodes: nodes(4)})
	require.NoError(t, err)
	for _, d := range drains {
		require.Equal(t, Now, d.Outcome, d.Pending)
	}
}

// A StatefulSet with OrderedReady waits for a pod that finds no node, in this round and in later ones. A Parallel one does not.
func TestPendingPodStopsAStatefulSet(t *testing.T) {
	for _, policy := range []appsv1.PodManagementPolicyType{"", appsv1.ParallelPodManagement} {
		set := statefulSet("db", ptr.To(int32(12)))
		set.Spec.PodManagementPolicy = policy
		s := disruption.Snapshot{Now: now, StatefulSets: []*appsv1.StatefulSet{set}}
		for i := range 12 {
			cpu := "100m"
			if i == 9 {
				cpu = "3"
			}
			s.Pods = append(s.Pods, pod(fmt.Sprint("db-", i), by("apps/v1", "StatefulSet", "db"), on("n0"), wants("cpu", cpu)))
		}
		d, after, err := Node(disruption.NewIndex(s, disruption.Options{}), "n0", Options{Nodes: nodes(2, allocatable("pods", "20", "cpu", "2"))})
		require.NoError(t, err)
		require.Equal(t, LeavesPending, d.Outcome)
		require.Equal(t, nn("db-9"), d.Pending[0].Pod)
		require.Len(t, d.Pending, 1)
		require.Equal(t, "n1", after.Pod(nn("db-8")).Spec.NodeName)
		for _, later := range []string{"db-10", "db-11"} {
			if policy == "" {
				require.Nil(t, after.Pod(nn(later)), "recreated when db-9 is ready")
			} else {
				require.Equal(t, "n1", after.Pod(nn(later)).Spec.NodeName)
			}
		}
	}
}

// Nodes that are not right take no pod, and are named. Nothing is placed on a node whose room is not known.
func TestNodesThatAreNotRight(t *testing.T) {
	x := disruption.NewIndex(threeNodes(maxUnavailable("3")), disruption.Options{})
	bad := []*corev1.Node{nil, node(""), node("n1"), node("n1"), node("n1"), node("n0")}
	d, _, err := Node(x, "n0", Options{Nodes: bad})
	require.Equal(t, LeavesPending, d.Outcome)
	require.Equal(t, "0/2 nodes are available: 1 node(s) had the name of another node, 1 node(s) were unschedulable.", d.Pending[0].Message)
	require.ErrorIs(t, err, purekube.ErrNil)
	require.ErrorIs(t, err, purekube.ErrDuplicate)
	require.ErrorContains(t, err, "Node n1")
	require.ErrorContains(t, err, "Node: metadata.name: required")
	_, _, err = Waves(x, []string{"n0"}, WaveOptions{Options: Options{Nodes: bad}})
	require.ErrorIs(t, err, purekube.ErrDuplicate)

	d, _, err = Node(x, "n0", Options{Nodes: []*corev1.Node{node("n0"), node("a"), node("a")}})
	require.ErrorIs(t, err, purekube.ErrDuplicate, "the first by name")
	require.Equal(t, "0/2 nodes are available: 1 node(s) had the name of another node, 1 node(s) were unschedulable.", d.Pending[0].Message)

	d, _, err = Node(x, "n0", Options{Nodes: []*corev1.Node{}})
	require.NoError(t, err)
	require.Equal(t, "0/0 nodes are available.", d.Pending[0].Message, "an empty list is a cluster without nodes")

	s := threeNodes(maxUnavailable("3"))
	elsewhere := func(p *corev1.Pod) { p.Namespace = "elsewhere" }
	s.Pods = append(s.Pods, pod("twice", on("n1"), elsewhere), pod("twice", on("n1"), elsewhere))
	d, _, err = Node(disruption.NewIndex(s, disruption.Options{}), "n0", Options{Nodes: nodes(2)})
	require.Error(t, err)
	require.Equal(t, "0/2 nodes are available: 1 node(s) had several pods of one name, 1 node(s) were unschedulable.", d.Pending[0].Message)
}

// A pod that was being deleted before the drain leaves its room when it goes, at the end of the same round.
func TestRoomOfPodsThatGo(t *testing.T) {
	s := threeNodes(minAvailable("2"))
	s.ReplicaSets[0].Spec.Replicas = ptr.To(int32(2))
	s.Pods[2].DeletionTimestamp = ptr.To(metav1.NewTime(now.Add(-time.Second)))
	s.Pods[2].DeletionGracePeriodSeconds = ptr.To(int64(30))
	small := nodes(3, allocatable("pods", "10", "cpu", "1"))
	d, after, err := Node(disruption.NewIndex(s, disruption.Options{}), "n0", Options{Nodes: small, MaxRounds: 3})
	require.NoError(t, err)
	require.Equal(t, Never, d.Outcome, "two of two have to stay")
	require.Nil(t, after.Pod(nn("web-2")))

	s = threeNodes(minAvailable("2"))
	s.Pods[2].DeletionTimestamp = ptr.To(metav1.NewTime(now.Add(-time.Second)))
	s.Pods[2].DeletionGracePeriodSeconds = ptr.To(int64(30))
	d, after, err = Node(disruption.NewIndex(s, disruption.Options{}), "n0", Options{Nodes: small})
	require.NoError(t, err)
	require.Equal(t, "n2", after.Pod(nn("web-2")).Spec.NodeName, "where the pod before it was")
	require.Equal(t, LeavesPending, d.Outcome)
	require.Equal(t, []PendingPod{{nn("web-0"), full}}, d.Pending)
}

// kubectl evicts a pod of a DaemonSet that has ended, and its DaemonSet runs it again on its node, cordoned or not.
func TestEndedPodOfADaemonSetReturnsToItsNode(t *testing.T) {
	s := disruption.Snapshot{Now: now, Pods: []*corev1.Pod{pod("agent", by("apps/v1", "DaemonSet", "agent"), on("n0"), phase(corev1.PodFailed),
		func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "n0"} })}}
	for _, on := range [][]*corev1.Node{nil, nodes(2)} {
		o := Options{IgnoreDaemonSets: true, Nodes: on}
		plan, after, err := Waves(disruption.NewIndex(s, disruption.Options{}), []string{"n0"}, WaveOptions{Options: o})
		require.NoError(t, err)
		require.Empty(t, plan.Blocked)
		require.Equal(t, [][]types.NamespacedName{{nn("agent")}}, plan.Waves[0].Drains[0].Rounds)
		require.Empty(t, plan.Waves[0].Drains[0].Pending)
		if on != nil {
			require.Equal(t, "n0", after.Pod(nn("agent")).Spec.NodeName)
		}
	}
}

// In the second round, a StatefulSet's pod goes from a node that is not drained, with the first of its pods that does. A pod
// gets the room, although pods like it found none in the first round, and is told what it lacks then.
func TestRoomOfALaterRound(t *testing.T) {
	port := func(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}} }
	grouped := func(group string) func(*corev1.Pod) { return labelled(map[string]string{"app": group}) }
	ofRS, ofSet := by("apps/v1", "ReplicaSet", "rs"), by("apps/v1", "StatefulSet", "db")
	budgetOf := func(group string) *policyv1.PodDisruptionBudget {
		return budget(named(group), minAvailable("1"), func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector.MatchLabels["app"] = group })
	}
	set := statefulSet("db", ptr.To(int32(1)))
	s := disruption.Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(7)))},
		StatefulSets: []*appsv1.StatefulSet{set},
		Budgets:      []*policyv1.PodDisruptionBudget{budgetOf("x"), budgetOf("y"), budgetOf("z")},
		Pods: []*corev1.Pod{
			// First round: three pods that find room, and two that do not.
			pod("aa-x", ofRS, on("n0"), grouped("x"), wants("cpu", "100m")), pod("aa-y", ofRS, on("n0"), grouped("y"), wants("cpu", "100m")),
			pod("aa-z", ofRS, on("n0"), grouped("z"), wants("cpu", "100m")),
			pod("first-big", ofRS, on("n0"), grouped(""), wants("cpu", "2")), pod("first-port", ofRS, on("n0"), grouped(""), wants("cpu", "2"), port),
			// Second round.
			pod("db-0", ofSet, on("n0"), grouped("x"), wants("cpu", "100m")), pod("next-a", ofRS, on("n0"), grouped("y"), wants("cpu", "2")),
			pod("next-b", ofRS, on("n0"), grouped("z"), wants("cpu", "2"), port),
			// The pod that goes with db-0, and is not recreated.
			pod("db-1", ofSet, on("n1"), grouped(""), wants("cpu", "3"), port, func(p *corev1.Pod) {
				deleting(p)
				p.DeletionGracePeriodSeconds = ptr.To(int64(30))
			}),
		}}
	d, after, err := Node(disruption.NewIndex(s, disruption.Options{}), "n0", Options{Nodes: nodes(2, allocatable("pods", "20", "cpu", "4"))})
	require.NoError(t, err)
	require.Equal(t, []types.NamespacedName{nn("db-0"), nn("next-a"), nn("next-b")}, d.Rounds[1])
	require.Nil(t, after.Pod(nn("db-1")))
	require.Equal(t, "n1", after.Pod(nn("next-a")).Spec.NodeName)
	require.Equal(t, []PendingPod{
		{nn("first-big"), "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."},
		{nn("first-port"), "0/2 nodes are available: 1 node(s) didn't have free ports for the requested pod ports, 1 node(s) were unschedulable."},
		{nn("next-b"), "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."},
	}, d.Pending)
}

// Pods that only two nodes can take: a rolling upgrade never drains both at the same time, with or without budgets.
func TestWavesLeaveANodeForEachGroup(t *testing.T) {
	for _, rounds := range []int{1, -1} {
		var all []*corev1.Node
		var names []string
		var s disruption.Snapshot
		s.Now = now
		for i := range 6 {
			n := node(fmt.Sprint("n", i))
			if i >= 4 {
				n.Labels = map[string]string{"gpu": "yes"}
				n.Status.Allocatable = resources("pods", "10", "cpu", "2")
				s.Pods = append(s.Pods, pod(fmt.Sprint("train-", i), by("apps/v1", "ReplicaSet", "rs"), on(n.Name), wants("cpu", "1"), func(p *corev1.Pod) {
					p.Spec.NodeSelector = map[string]string{"gpu": "yes"}
				}))
			}
			all, names = append(all, n), append(names, n.Name)
		}
		s.ReplicaSets = []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(2)))}
		plan, after, err := Waves(disruption.NewIndex(s, disruption.Options{}), names, WaveOptions{Options: Options{Nodes: all}, Rounds: rounds})
		require.NoError(t, err)
		require.Empty(t, plan.Blocked)
		require.Equal(t, [][]string{{"n0", "n1", "n2", "n3", "n4"}, {"n5"}}, waveNodes(plan), "rounds %d", rounds)
		for _, w := range plan.Waves {
			for _, d := range w.Drains {
				require.True(t, d.NodesChecked)
				require.Empty(t, d.Pending)
			}
		}
		// After the last wave, n5 is empty: both pods went to it in the first wave, and from it in the second.
		require.Empty(t, podsOn(after, "n5"))
		require.Len(t, podsOn(after, "n4"), 2)
	}
}

// A pod with a node of its own, for example because of a local disk, goes Pending: its node is in no wave, and the others are.
func TestWavesOfAPinnedPod(t *testing.T) {
	s := threeNodes(maxUnavailable("3"))
	s.Pods[1].Spec.NodeSelector = map[string]string{"kubernetes.io/hostname": "n1"}
	all := nodes(3)
	all[1].Labels = map[string]string{"kubernetes.io/hostname": "n1"}
	plan, _, err := Waves(disruption.NewIndex(s, disruption.Options{}), []string{"n0", "n1", "n2"}, WaveOptions{Options: Options{Nodes: all}})
	require.NoError(t, err)
	require.Len(t, plan.Blocked, 1)
	require.Equal(t, "n1", plan.Blocked[0].Node)
	require.Equal(t, LeavesPending, plan.Blocked[0].Outcome)
	require.Equal(t, []types.NamespacedName{nn("web-1")}, []types.NamespacedName{plan.Blocked[0].Pending[0].Pod})
	var drained []string
	for _, w := range waveNodes(plan) {
		drained = append(drained, w...)
	}
	require.ElementsMatch(t, []string{"n0", "n2"}, drained)
}

// Nodes that found no room are asked again, and so are nodes that wanted the same of a budget.
func TestWavesWhileRoomChanges(t *testing.T) {
	others := by("apps/v1", "ReplicaSet", "others")
	ofRS := by("apps/v1", "ReplicaSet", "rs")
	with := func(name, processors string) *corev1.Node {
		return node(name, allocatable("pods", "10", "cpu", processors))
	}
	for _, tc := range []struct {
		name, reason string
		pods         []*corev1.Pod
		nodes        []*corev1.Node
		drained      []string
		rounds       int
		waves        [][]string
		blocked      []string
	}{
		{
			name: "a wave makes room", reason: "a is back in service, and empty: b is asked again, although its budget has not changed",
			pods: []*corev1.Pod{pod("moves", others, labelled(nil), on("a"), wants("cpu", "1")),
				pod("big", ofRS, on("b"), wants("cpu", "4")), pod("small", ofRS, on("b"), wants("cpu", "1"))},
			nodes: []*corev1.Node{with("a", "4"), with("b", "5"), with("c", "2")}, drained: []string{"a", "b"}, rounds: 2,
			waves: [][]string{{"a"}, {"b"}},
		},
		{
			name: "a wave takes room", reason: "n2 takes nothing from the budget if it does not join the wave: n3 can go, even if there is never room for n2",
			pods: []*corev1.Pod{pod("moves", others, labelled(nil), on("n1"), wants("cpu", "1")),
				pod("big", ofRS, on("n2"), wants("cpu", "2")), pod("small", ofRS, on("n3"), wants("cpu", "1"))},
			nodes: []*corev1.Node{with("n1", "1"), with("n2", "2"), with("n3", "1"), with("z", "2")}, drained: []string{"n1", "n2", "n3"},
			waves: [][]string{{"n1"}, {"n3"}}, blocked: []string{"n2"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := disruption.Snapshot{Now: now, Pods: tc.pods, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))},
				ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(2))), replicaSet("others", "", ptr.To(int32(1)))}}
			plan, _, err := Waves(disruption.NewIndex(s, disruption.Options{}), tc.drained, WaveOptions{Rounds: tc.rounds, Options: Options{Nodes: tc.nodes}})
			require.NoError(t, err)
			require.Equal(t, tc.waves, waveNodes(plan), tc.reason)
			require.Equal(t, tc.blocked, blockedNodes(plan))
			for _, d := range plan.Blocked {
				require.Equal(t, LeavesPending, d.Outcome)
			}
		})
	}
}
