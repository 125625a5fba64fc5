package drain

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/message"
	"github.com/purekube/purekube/internal/snapshot"
)

// FixKind is what kind of change helps. It is one of the constants below; a new version may add kinds.
type FixKind string

// What helps.
const (
	// FixOneAtATime: the nodes drain one after the other, and not at the same time.
	FixOneAtATime FixKind = "OneAtATime"
	// FixFlag: kubectl drain gets the flag Value.
	FixFlag FixKind = "Flag"
	// FixMaxUnavailable and FixMinAvailable: the budget has the number Value there.
	FixMaxUnavailable FixKind = "MaxUnavailable"
	FixMinAvailable   FixKind = "MinAvailable"
	// FixAlwaysAllow: the budget has unhealthyPodEvictionPolicy AlwaysAllow.
	FixAlwaysAllow FixKind = "AlwaysAllow"
	// FixReplicas: the workload has Value replicas, all of them healthy. If an autoscaler sets the replicas, raise its
	// minimum: no autoscaler is simulated.
	FixReplicas FixKind = "Replicas"
	// FixHealthyPods: the pods in Pods, which are not healthy now, are running and ready.
	FixHealthyPods FixKind = "HealthyPods"
	// FixPodEnds: the pod that is being deleted is gone. A pod that its controller puts in its place is not ready.
	FixPodEnds FixKind = "PodEnds"
	// FixNodeReady: the node is ready.
	FixNodeReady FixKind = "NodeReady"
	// FixAnotherNode: there is another node like the drained one, without pods.
	FixAnotherNode FixKind = "AnotherNode"
)

// Fix is a change that was simulated.
type Fix struct {
	Kind FixKind `json:"kind"`
	// Object is the budget, workload, pod or node that changes. It is empty for the other kinds.
	Object purekube.Key `json:"object,omitzero"`
	// Value is the new value.
	Value string `json:"value,omitempty"`
	// Pods are the pods that are healthy then.
	Pods []types.NamespacedName `json:"pods,omitempty"`
	// Played is for how many nodes the change was simulated. Frees are the nodes that then drain, in at most Rounds
	// rounds. Clears are the nodes that this cause no longer stops; another cause may.
	Played int      `json:"played"`
	Frees  []string `json:"frees,omitempty"`
	Clears []string `json:"clears,omitempty"`
	Rounds int      `json:"rounds,omitempty"`
}

// String is the change in words: "with maxUnavailable 1".
func (f Fix) String() string {
	switch f.Kind {
	case FixOneAtATime:
		return "one after the other"
	case FixMaxUnavailable:
		return "with maxUnavailable " + f.Value
	case FixMinAvailable:
		return "with minAvailable " + f.Value
	case FixAlwaysAllow:
		return "with unhealthyPodEvictionPolicy AlwaysAllow"
	case FixReplicas:
		return fmt.Sprintf("with %s replicas of %s", f.Value, f.Object)
	case FixHealthyPods:
		return fmt.Sprintf("with %s healthy (%s)", message.Count(len(f.Pods), "more pod"), list(f.Pods, 3))
	case FixPodEnds:
		return "without that pod"
	case FixNodeReady:
		return "with that node ready"
	case FixAnotherNode:
		return "with another node like the drained one"
	case FixFlag:
	}
	return "with " + f.Value
}

// FixText is what one of the blocker's fixes brings, in words: "with maxUnavailable 1: 23 of 33 nodes drain now".
func (b Blocker) FixText(fix Fix) string {
	of := message.Count(fix.Played, "node")
	if fix.Played < len(b.Nodes) {
		of = message.Count(fix.Played, "simulated node")
	}
	one, atMost := len(b.Nodes) == 1, "at most "
	if one {
		atMost = ""
	}
	when := "now"
	if fix.Rounds > 1 {
		when = "in " + atMost + message.Count(fix.Rounds, "round")
	}
	switch {
	case len(fix.Frees) == 0 && one:
		return fmt.Sprintf("%s: no longer in the way, but something else is", fix)
	case len(fix.Frees) == 0:
		return fmt.Sprintf("%s: no longer in the way of %d of %s, but something else is", fix, len(fix.Clears), of)
	case one:
		return fmt.Sprintf("%s: drains %s", fix, when)
	}
	return fmt.Sprintf("%s: %d of %s drain %s", fix, len(fix.Frees), of, when)
}

// fixedAtMost is how many blockers have fixes, and playedAtMost for how many nodes of a blocker a fix is simulated. A
// simulation costs all pods of the node, and a user may give each pod of a node a budget of its own.
const (
	fixedAtMost  = 100
	playedAtMost = 100
)

// replicasAtMost is how many replicas more a fix may have.
const replicasAtMost = 100

// fixer finds the changes that take a cause away.
type fixer struct {
	x       *disruption.Index
	o       Options
	c       cause
	blocker *Blocker
	// alone are the drains of each node alone, as far as they were simulated. They are the same for all causes.
	alone map[string]played
}

// played is a simulated drain with what is in its way.
type played struct {
	Drain
	causes map[cause]*obstacle
}

func withCauses(drains []Drain) []played {
	all := make([]played, len(drains))
	for i, d := range drains {
		all[i] = played{d, causesOf(d)}
	}
	return all
}

// eachAlone drains each node alone.
func (f *fixer) eachAlone(nodes []string) []played {
	drains := make([]played, len(nodes))
	for i, name := range nodes {
		if _, known := f.alone[name]; !known {
			f.alone[name] = withCauses(each(f.x, []string{name}, f.o))[0]
		}
		drains[i] = f.alone[name]
	}
	return drains
}

// fixes returns the changes that help, the best first.
func (f *fixer) fixes() []Fix {
	nodes := f.blocker.Nodes[:min(len(f.blocker.Nodes), playedAtMost)]
	together := f.freedBy(Fix{Kind: FixOneAtATime}, f.eachAlone(nodes))
	if len(together.Frees) > 0 { // these stop each other only if they drain at the same time
		together = f.inTurn(together)
		nodes = slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return slices.Contains(together.Frees, n) })
	}
	tried := []Fix{together}
	if len(nodes) > 0 {
		switch f.c.cause {
		case CauseBudget:
			tried = append(tried, f.budget(nodes)...)
		case CauseFlag:
			tried = append(tried, f.flag(nodes))
		case CausePod:
			tried = append(tried, f.podEnds(nodes))
		case CauseNode:
			tried = append(tried, f.nodeReady(nodes))
		case CauseNoRoom:
			tried = append(tried, f.anotherNode(nodes))
		case CauseSeveralBudgets, CauseLookup: // no simulated change splits budgets or answers a lookup
		}
	}
	tried = slices.DeleteFunc(tried, func(fix Fix) bool { return len(fix.Clears) == 0 })
	slices.SortStableFunc(tried, func(a, b Fix) int {
		return cmp.Or(cmp.Compare(len(b.Frees), len(a.Frees)), cmp.Compare(len(b.Clears), len(a.Clears)))
	})
	return tried
}

// freedBy completes the fix with the simulated drains.
func (f *fixer) freedBy(fix Fix, drains []played) Fix {
	fix.Played = len(drains)
	for _, d := range drains {
		if d.drains() {
			fix.Frees = append(fix.Frees, d.Node)
			fix.Rounds = max(fix.Rounds, len(d.Rounds))
		}
		// While lookups are open, the cause may still be there.
		if _, stopped := d.causes[f.c]; !stopped && d.Outcome != Unknown {
			fix.Clears = append(fix.Clears, d.Node)
		}
	}
	return fix
}

// play simulates the drain of each node alone in the cluster x.
func (f *fixer) play(fix Fix, nodes []string, x *disruption.Index, o Options) Fix {
	return f.freedBy(fix, withCauses(each(x, nodes, o)))
}

// inTurn drains the nodes that drain alone, one after the other.
func (f *fixer) inTurn(alone Fix) Fix {
	x, o := f.x, f.o
	var drains []Drain
	for _, name := range alone.Frees {
		o.inventory, _ = newInventory(x, o)
		d, after := together(x, []string{name}, o)
		if d[0].drains() {
			x = after
		}
		drains = append(drains, d[0])
	}
	return f.freedBy(Fix{Kind: FixOneAtATime}, withCauses(drains))
}

// flag sets the flag of kubectl drain.
func (f *fixer) flag(nodes []string) Fix {
	o := f.o
	switch f.c.flag {
	case ReasonDaemonSetPod:
		o.IgnoreDaemonSets = true
	case ReasonLocalStorage:
		o.DeleteEmptyDirData = true
	case ReasonNoController:
		o.Force = true
	}
	return f.play(Fix{Kind: FixFlag, Value: flagOf(f.c.flag)}, nodes, f.x, o)
}

// podEnds takes a pod away that is being deleted. The pod that its controller puts in its place is not ready, which is
// the stricter assumption.
func (f *fixer) podEnds(nodes []string) Fix {
	pod := f.x.Pod(types.NamespacedName{Namespace: f.c.object.Namespace, Name: f.c.object.Name})
	if pod == nil { // several pods have the name
		return Fix{}
	}
	w := newDrainer(f.x, nodes, make([][]*corev1.Pod, len(nodes)), f.o)
	back, away := w.back([]*corev1.Pod{pod})
	if by := ownerOf(pod); by != nil && w.owners[*by].need != nil {
		back, away = []*corev1.Pod{returned(pod, stamp(f.x.Now()))}, nil // budgets go on asking for its controller
	}
	for _, again := range back {
		again.Status.Conditions[0].Status = corev1.ConditionFalse
	}
	x, o := replaced(f.x, back, away), f.o
	o.inventory, _ = newInventory(x, o)
	return f.play(Fix{Kind: FixPodEnds, Object: f.c.object}, nodes, x, o)
}

// nodeReady lets the kubelet of the node run.
func (f *fixer) nodeReady(nodes []string) Fix {
	o := f.o
	o.Nodes = slices.Clone(o.Nodes)
	for i, n := range o.Nodes {
		if n != nil && n.Name == f.c.object.Name {
			ready := *n
			ready.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			o.Nodes[i] = &ready
		}
	}
	o.inventory, _ = newInventory(f.x, o)
	return f.play(Fix{Kind: FixNodeReady, Object: f.c.object}, nodes, f.x, o)
}

// anotherNode adds an empty node like the drained one, for the drain of each node.
func (f *fixer) anotherNode(nodes []string) Fix {
	var drains []Drain
	for _, name := range nodes {
		i, found := f.o.inventory.find(name)
		if !found || f.o.inventory.nodes[i].never == doubled { // or it is not known which of two nodes it is
			continue
		}
		o := f.o
		o.Nodes = append(slices.Clone(o.Nodes), like(f.o.inventory, i))
		o.inventory, _ = newInventory(f.x, o)
		drains = append(drains, each(f.x, []string{name}, o)...)
	}
	return f.freedBy(Fix{Kind: FixAnotherNode}, withCauses(drains))
}

// like returns a ready node with the labels, the taints and the allocatable resources of another node, and with a name
// of its own.
func like(of *inventory, i int) *corev1.Node {
	n := of.nodes[i]
	another := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name + "-another", Labels: n.Labels}}
	for _, taken := of.find(another.Name); taken; _, taken = of.find(another.Name) {
		another.Name += "-another"
	}
	if _, labelled := n.Labels[corev1.LabelHostname]; labelled {
		another.Labels = maps.Clone(n.Labels)
		another.Labels[corev1.LabelHostname] = another.Name
	}
	another.Spec.Taints = slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeUnschedulable || t.Key == corev1.TaintNodeNotReady ||
			t.Key == corev1.TaintNodeUnreachable
	})
	another.Status.Allocatable = n.Status.Allocatable
	another.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return another
}

// budget tries what the budget could have, and the pods and replicas that it could count.
func (f *fixer) budget(nodes []string) []Fix {
	budget := f.x.Budget(types.NamespacedName{Namespace: f.c.object.Namespace, Name: f.c.object.Name})
	// The error is about the objects of the budget.
	e, _ := f.x.Explain(f.c.object)
	if budget == nil { // the drains are of another Index
		return nil
	}
	missing := max(1, f.blocker.Shortfall)
	// A budget that forbids every disruption has no shortfall. After a failure the numbers are from an older status.
	if e.Budget.Failure == "" {
		missing = max(missing, e.Budget.Computed.DesiredHealthy-e.Budget.Computed.CurrentHealthy+1)
	}
	return slices.Concat(
		f.number(nodes, budget, e.Budget, int(missing)),
		f.alwaysAllow(nodes, budget),
		f.healthyPods(nodes, e.Budget),
		f.replicas(nodes, budget, missing),
	)
}

// number gives the budget the number that changes least and takes the budget out of the way of a node. The least number
// lets one pod go. The largest lets all pods of the fullest node go, also if nothing recreates them.
func (f *fixer) number(
	nodes []string, budget *policyv1.PodDisruptionBudget, e *disruption.BudgetExplanation, missing int,
) []Fix {
	counts := e.Computed
	on := map[string]int{}
	healthy := 0
	for _, p := range e.Pods {
		on[p.Node]++
		if p.Health == disruption.Healthy {
			healthy++
		}
	}
	most := missing
	for _, n := range nodes {
		most = max(most, missing-1+on[n])
	}
	// For each pod that may go besides, the number changes from now by -1 or 1. It has room for so many pods.
	kind, now, by, room := FixMinAvailable, int(counts.DesiredHealthy), -1, int(counts.DesiredHealthy)
	unknown := slices.ContainsFunc(e.Controllers, func(c disruption.ControllerScale) bool { return c.Code != "" })
	switch {
	case e.Failure != "" || unknown || counts.ExpectedPods <= 0:
		// A minimum needs no scale, and counts the pods that no controller wants.
		now, room = healthy, healthy
	case budget.Spec.MaxUnavailable != nil:
		kind, now, by = FixMaxUnavailable, int(counts.ExpectedPods-counts.DesiredHealthy), 1
		room = math.MaxInt32 - now
	}
	missing, most = min(missing, room), min(most, room)
	var fix Fix
	sort.Search(most-missing+1, func(i int) bool {
		tried := Fix{Kind: kind, Object: f.c.object, Value: strconv.Itoa(now + by*(missing+i))}
		tried = f.play(tried, nodes, f.withSpec(budget, func(spec *policyv1.PodDisruptionBudgetSpec) {
			number := ptr.To(intstr.Parse(tried.Value))
			spec.MaxUnavailable, spec.MinAvailable = nil, number
			if kind == FixMaxUnavailable {
				spec.MaxUnavailable, spec.MinAvailable = number, nil
			}
		}), f.o)
		helps := len(tried.Clears) > 0
		if helps {
			fix = tried // it changes less than the fixes before
		}
		return helps
	})
	return []Fix{fix}
}

// withSpec is the cluster with another spec of the budget.
func (f *fixer) withSpec(
	budget *policyv1.PodDisruptionBudget, change func(*policyv1.PodDisruptionBudgetSpec),
) *disruption.Index {
	changed := *budget
	change(&changed.Spec)
	x, _ := f.x.With(disruption.Snapshot{Budgets: []*policyv1.PodDisruptionBudget{&changed}})
	return x
}

// alwaysAllow lets pods go that run and are not ready.
func (f *fixer) alwaysAllow(nodes []string, budget *policyv1.PodDisruptionBudget) []Fix {
	if ptr.Deref(budget.Spec.UnhealthyPodEvictionPolicy, "") == policyv1.AlwaysAllow {
		return nil
	}
	x := f.withSpec(budget, func(spec *policyv1.PodDisruptionBudgetSpec) {
		spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
	})
	return []Fix{f.play(Fix{Kind: FixAlwaysAllow, Object: f.c.object}, nodes, x, f.o)}
}

// healthyPods makes the unhealthy pods of the budget healthy.
func (f *fixer) healthyPods(nodes []string, e *disruption.BudgetExplanation) []Fix {
	fix := Fix{Kind: FixHealthyPods}
	var well []*corev1.Pod
	for _, p := range e.Pods {
		name := types.NamespacedName{Namespace: f.c.object.Namespace, Name: p.Name}
		pod := f.x.Pod(name)
		if !active(pod) || runs(pod) {
			continue
		}
		fix.Pods = append(fix.Pods, name)
		healthy := *pod
		healthy.Status.Phase = corev1.PodRunning
		healthy.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		well = append(well, &healthy)
	}
	if len(well) == 0 {
		return nil
	}
	x, _ := f.x.With(disruption.Snapshot{Pods: well})
	return []Fix{f.play(fix, nodes, x, f.o)}
}

// replicas adds healthy pods to the workload of the pods that stay. A budget with a number as maxUnavailable expects
// each of them too, so they do not help, and are not tried.
func (f *fixer) replicas(nodes []string, budget *policyv1.PodDisruptionBudget, more int32) []Fix {
	if most := budget.Spec.MaxUnavailable; most != nil && most.Type == intstr.Int {
		return nil
	}
	pod := f.x.Pod(f.blocker.Pods[0])
	if pod == nil /* the drains are of another Index */ || more > replicasAtMost {
		return nil
	}
	scaled, object, replicas := scaledUp(f.x, pod, more)
	if replicas <= 0 { // or the number overflows
		return nil
	}
	state := stateOf(f.x, *ownerOf(pod), nil)
	if state.missing < 0 { // it has more pods than replicas, and more replicas may be no more pods
		return nil
	}
	if state.numbered && state.last < state.first+int64(replicas-more)-1 { // it waits for one of its pods
		return nil
	}
	placement := newPlacement(f.o.inventory, nil)
	labels := state.labels(pod)
	for i := range more {
		another := returned(pod, stamp(f.x.Now()))
		another.Labels = labels
		another.Name, another.UID = fmt.Sprintf("%s-another-%d", pod.Name, i),
			types.UID(fmt.Sprintf("%s/another-%d", pod.UID, i))
		if state.numbered {
			another.Name = fmt.Sprintf("%s-%d", object.Name, state.first+int64(replicas-more+i))
		}
		if f.x.Pod(snapshot.KeyOf(another)) != nil {
			return nil // another pod has the name
		}
		another.Status.Conditions[0].Status = corev1.ConditionTrue
		if f.o.checksNodes() {
			if another.Spec.NodeName, _ = placement.place(another); another.Spec.NodeName == "" {
				return nil // more replicas find no node
			}
		}
		scaled.Pods = append(scaled.Pods, another)
	}
	x, _ := f.x.With(scaled)
	o := f.o
	o.inventory = o.inventory.after(x, placement)
	fix := Fix{Kind: FixReplicas, Object: object, Value: strconv.Itoa(int(replicas))}
	return []Fix{f.play(fix, nodes, x, o)}
}

// scaledUp returns the workload of the pod with more replicas, and its ReplicaSet. It returns 0 replicas for a workload
// that the snapshot does not have, or whose controller, such as a Rollout, sets its replicas.
func scaledUp(
	x *disruption.Index, pod *corev1.Pod, more int32,
) (changed disruption.Snapshot, object purekube.Key, replicas int32) {
	scale := func(kind string, of metav1.Object, to *int32) *int32 {
		object = purekube.Key{Kind: kind, Namespace: of.GetNamespace(), Name: of.GetName()}
		replicas = ptr.Deref(to, 1) + more
		return ptr.To(replicas)
	}
	workload := x.WorkloadOf(pod.Namespace, metav1.GetControllerOfNoCopy(pod))
	scales := workload.Object
	if d := workload.Deployment; d != nil {
		scales = d
	}
	if !workload.Recreates || scales == nil || metav1.GetControllerOfNoCopy(scales) != nil {
		return changed, object, 0
	}
	switch of := workload.Object.(type) {
	case *appsv1.ReplicaSet:
		scaled := *of
		scaled.Spec.Replicas = scale("ReplicaSet", of, of.Spec.Replicas)
		changed.ReplicaSets = append(changed.ReplicaSets, &scaled)
		if d := workload.Deployment; d != nil {
			scaled := *d
			scaled.Spec.Replicas = scale("Deployment", d, d.Spec.Replicas)
			changed.Deployments = append(changed.Deployments, &scaled)
		}
	case *appsv1.StatefulSet:
		scaled := *of
		scaled.Spec.Replicas = scale(statefulSetKind, of, of.Spec.Replicas)
		changed.StatefulSets = append(changed.StatefulSets, &scaled)
	case *corev1.ReplicationController:
		scaled := *of
		scaled.Spec.Replicas = scale("ReplicationController", of, of.Spec.Replicas)
		changed.ReplicationControllers = append(changed.ReplicationControllers, &scaled)
	}
	return changed, object, replicas
}
