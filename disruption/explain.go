package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// Health is how a pod counts for its budget.
type Health string

const (
	// Healthy: ready, and staying.
	Healthy Health = "healthy"
	// NotReady: it has no condition Ready that is True.
	NotReady Health = "not ready"
	// BeingDeleted: it has a deletion timestamp.
	BeingDeleted Health = "being deleted"
	// BeingEvicted: it is in status.disruptedPods, and may be deleted any moment.
	BeingEvicted Health = "being evicted"
	// Ambiguous: the snapshot holds two pods of that name.
	Ambiguous Health = "more than one pod of this name"
)

// Explanation says why a budget allows the disruptions that it allows. It is data: lists are sorted,
// and two explanations can be compared with go-cmp.
type Explanation struct {
	Budget types.NamespacedName
	// Rule is what the budget demands: "maxUnavailable 30%", "minAvailable 3", or empty.
	Rule string
	// Selector is the label selector as kubectl writes it.
	Selector string
	// Computed is what the pods and workloads of the snapshot make of it; Reported is what
	// the status in the snapshot says, which evictions go by.
	Computed, Reported Figures
	// UpToDate: Plan would write nothing.
	UpToDate bool
	// Failure is why nothing could be computed, if so; Computed is then the fail-safe status.
	Failure string
	// Needs are the look-ups to make first; Computed is then empty.
	Needs []purekube.Need
	// Pods that the budget covers, sorted by name.
	Pods []PodHealth
	// Controllers that were asked for their scale, sorted by kind and name; none if the
	// budget does not depend on it.
	Controllers []ControllerScale
	// Unmanaged pods have no controller: nobody expects them, but they count as healthy.
	Unmanaged []string
}

// Figures are the numbers of a budget's status.
type Figures struct {
	ExpectedPods, DesiredHealthy, CurrentHealthy, DisruptionsAllowed int32
}

// String is "1 allowed, 6 healthy, 5 desired, 7 expected".
func (f Figures) String() string {
	return fmt.Sprintf("%d allowed, %d healthy, %d desired, %d expected",
		f.DisruptionsAllowed, f.CurrentHealthy, f.DesiredHealthy, f.ExpectedPods)
}

// PodHealth is how one pod counts.
type PodHealth struct {
	Name, Node string
	Health     Health
	// Until is when an entry in status.disruptedPods that still counts is over.
	Until time.Time
}

// ControllerScale is one controller of the pods.
type ControllerScale struct {
	// Kind and Name of what the scale was taken from: of the Deployment, for a ReplicaSet
	// that has one.
	Kind, Name string
	// Through are the owner references of pods that lead to it: "ReplicaSet web-5d4f".
	Through []string
	Scale   int32
	// Problem is why there is no scale, if so.
	Problem string
}

// Blocks reports whether no pod of the budget that is ready may be evicted by its computed status.
func (e Explanation) Blocks() bool { return len(e.Needs) == 0 && e.Computed.DisruptionsAllowed <= 0 }

// Why is one sentence for people.
func (e Explanation) Why() string {
	c := e.Computed
	switch {
	case len(e.Needs) > 0:
		return fmt.Sprintf("controllers to look up first: %d", len(e.Needs))
	case e.Failure != "":
		return "nothing may be disrupted because the budget cannot be computed: " + e.Failure
	case c.DisruptionsAllowed > 0:
		return fmt.Sprintf("%d may be disrupted: %d healthy, %d desired", c.DisruptionsAllowed, c.CurrentHealthy, c.DesiredHealthy)
	case len(e.Pods) == 0:
		return "nothing may be disrupted: the budget covers no pod"
	case c.ExpectedPods <= 0:
		return "nothing may be disrupted: no pods are expected"
	case c.CurrentHealthy >= c.ExpectedPods && c.DesiredHealthy >= c.ExpectedPods:
		return fmt.Sprintf("nothing may ever be disrupted: all pods that are expected have to stay healthy (%d)", c.ExpectedPods)
	}
	return fmt.Sprintf("nothing may be disrupted: %d healthy, %d desired", c.CurrentHealthy, c.DesiredHealthy)
}

// Explain says how the status of a budget comes about: each pod, and whether it counts or why not;
// each controller and its scale. A budget that is not in the snapshot, or twice, has no
// explanation. The error is Plan's.
func Explain(s Snapshot, key types.NamespacedName, o Options) (Explanation, error) {
	c := newCount(s.in(key.Namespace), o)
	problems := c.problems
	if c.budgetNames.Ambiguous(key) {
		problems.Add(snapshot.DuplicateError(budgetKind, key))
	}
	i := slices.IndexFunc(c.tallies, func(t tally) bool { return snapshot.KeyOf(t.budget) == key })
	if i < 0 {
		return Explanation{}, problems.Err()
	}
	e := explained(&c.tallies[i])
	c.only(key)
	d := c.tallies[i].decide(c.workloads, s.Now, o)
	for _, p := range d.problems {
		problems.Add(p)
	}
	e.conclude(d)
	return *e, problems.Err()
}

// ExplainAll explains all budgets of the snapshot, sorted by namespace and name, at the cost of
// about one pass over the pods. The errors are those of [PlanAll].
func ExplainAll(s Snapshot, o Options) []Explanation {
	c := newCount(s, o)
	var all []*Explanation
	for i := range c.tallies {
		all = append(all, explained(&c.tallies[i]))
	}
	c.all()
	out := make([]Explanation, len(all))
	for i, e := range all {
		e.conclude(c.tallies[i].decide(c.workloads, s.Now, o))
		out[i] = *e
	}
	slices.SortFunc(out, func(a, b Explanation) int {
		return cmp.Or(cmp.Compare(a.Budget.Namespace, b.Budget.Namespace), cmp.Compare(a.Budget.Name, b.Budget.Name))
	})
	return out
}

// explained begins an explanation that takes note of all that the tally counts.
func explained(t *tally) *Explanation {
	e := &Explanation{
		Budget:   snapshot.KeyOf(t.budget),
		Rule:     rule(t.budget.Spec),
		Selector: metav1.FormatLabelSelector(t.budget.Spec.Selector),
		Reported: figures(t.budget.Status),
	}
	t.onPod, t.onController = e.addPod, e.addController
	return e
}

// addPod notes how a pod counts.
func (e *Explanation) addPod(pod *corev1.Pod, h Health, until time.Time) {
	p := PodHealth{Name: pod.Name, Health: h, Until: until}
	if h != Ambiguous {
		p.Node = pod.Spec.NodeName
		if metav1.GetControllerOfNoCopy(pod) == nil {
			e.Unmanaged = append(e.Unmanaged, pod.Name)
		}
	}
	e.Pods = append(e.Pods, p)
}

// conclude adds what was decided.
func (e *Explanation) conclude(d decision) {
	e.Needs = d.needs
	e.UpToDate = d.budget == nil && len(d.needs) == 0
	if d.failure != nil {
		e.Failure = conditionText(d.failure)
	}
	switch {
	case d.budget != nil:
		e.Computed = figures(d.budget.Status)
	case len(d.needs) == 0:
		e.Computed = e.Reported
	}
	slices.SortFunc(e.Pods, func(a, b PodHealth) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(e.Controllers, func(a, b ControllerScale) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	slices.Sort(e.Unmanaged)
}

// addController notes what was found for an owner reference.
func (e *Explanation) addController(r reference, a answer) {
	through := r.ref.Kind + " " + r.ref.Name
	cs := ControllerScale{Kind: r.ref.Kind, Name: r.ref.Name, Through: []string{through}}
	switch {
	case a.found.kind != "":
		cs.Kind, cs.Name, cs.Scale = a.found.kind, a.found.name, a.found.scale
		for i := range e.Controllers {
			if known := &e.Controllers[i]; known.Kind == cs.Kind && known.Name == cs.Name && known.Problem == "" {
				known.Scale = cs.Scale
				known.Through = append(known.Through, through)
				slices.Sort(known.Through)
				return
			}
		}
	case a.problem != nil:
		cs.Problem = conditionText(a.problem)
	case a.need != nil:
		cs.Problem = "its scale is not in the snapshot"
	default:
		cs.Problem = "not found, or another one of that name"
	}
	e.Controllers = append(e.Controllers, cs)
}

func figures(st policyv1.PodDisruptionBudgetStatus) Figures {
	return Figures{
		ExpectedPods: st.ExpectedPods, DesiredHealthy: st.DesiredHealthy,
		CurrentHealthy: st.CurrentHealthy, DisruptionsAllowed: st.DisruptionsAllowed,
	}
}

func rule(spec policyv1.PodDisruptionBudgetSpec) string {
	switch {
	case spec.MaxUnavailable != nil:
		return "maxUnavailable " + spec.MaxUnavailable.String()
	case spec.MinAvailable != nil:
		return "minAvailable " + spec.MinAvailable.String()
	}
	return ""
}
