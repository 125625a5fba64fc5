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
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/snapshot"
)

// Explanations: the verdict of Plan, with everything that it was computed from. Their lists cost the pods of the
// budget, which Plan does not visit.
//
// An Explanation is data for tools and tests; the texts are for people and may change between versions.

// Health is how a pod counts for its budget.
type Health string

const (
	// NoHealth is the zero value. No explanation has it.
	NoHealth Health = ""
	// Healthy: ready, and staying.
	Healthy Health = "Healthy"
	// NotReady: it has no condition Ready that is True.
	NotReady Health = "NotReady"
	// BeingDeleted: it has a deletion timestamp.
	BeingDeleted Health = "BeingDeleted"
	// BeingEvicted: it is in status.disruptedPods, and may be deleted any moment. The entry must still count
	// (BR-25-04).
	BeingEvicted Health = "BeingEvicted"
)

// healths are the text for people, and the code of a pod that does not count as healthy. A healthy pod causes no
// reason: a list of 500 healthy pods would hide the pod that matters.
var healths = map[Health]struct {
	text string
	code Code
}{
	Healthy:      {"healthy", ""},
	NotReady:     {"not ready", ReasonPodNotReady},
	BeingDeleted: {"being deleted", ReasonPodBeingDeleted},
	BeingEvicted: {"being evicted", ReasonPodBeingEvicted},
}

// Explanation says why a budget allows the disruptions that it allows, or what is known about a pod.
// It is data: lists are sorted, and two explanations can be compared with go-cmp.
type Explanation struct {
	Key purekube.Key `json:"key"`
	// Reasons begin with the conclusion; see the constants of type [Code].
	Reasons []Reason `json:"reasons"`
	// Budget is there if the Key is a budget's, and Pod if it is a pod's.
	Budget *BudgetExplanation `json:"budget,omitempty"`
	Pod    *PodExplanation    `json:"pod,omitempty"`
}

// PodExplanation is what is known about a pod beside the reasons.
type PodExplanation struct {
	// Budgets are the budgets that select the pod, sorted by name.
	Budgets []types.NamespacedName `json:"budgets,omitempty"`
}

// BudgetExplanation shows what a budget's status is computed from.
type BudgetExplanation struct {
	// Rule is what the budget demands: "maxUnavailable 30%", "minAvailable 3", or empty.
	Rule string `json:"rule,omitempty"`
	// Selector is the label selector as kubectl writes it.
	Selector string `json:"selector"`
	// Computed are the counts that result from the pods and workloads of the snapshot. Reported are the counts in the
	// status in the snapshot, by which the API server decides evictions.
	Computed Counts `json:"computed"`
	Reported Counts `json:"reported"`
	// UpToDate: Plan would write nothing.
	UpToDate bool `json:"upToDate"`
	// Failure is why the status could not be computed; Computed then has the status that allows no disruption.
	Failure string `json:"failure,omitempty"`
	// Never: no healthy pod could be evicted even if every pod were healthy, at the current scales of the controllers.
	// If a scale is unknown, Never is false, unless the budget forbids every disruption at any scale (maxUnavailable 0,
	// minAvailable 100%). It is also false while a pod may be evicted now, for example because pods that have ended are
	// still ready.
	Never bool `json:"never"`
	// Shortfall is how many more healthy pods are needed before one may be evicted. It is 0 if a pod may be evicted
	// now, if no number of replicas would ever allow an eviction, or if the status could not be computed.
	Shortfall int32 `json:"shortfall"`
	// Needs are the lookups to make first; Computed is then empty.
	Needs []purekube.Need `json:"needs,omitempty"`
	// Pods are the pods that the budget selects, sorted by name.
	Pods []PodHealth `json:"pods,omitempty"`
	// Controllers are the controllers of these pods, sorted by kind and name. The list is empty if the budget does not
	// depend on their scales.
	Controllers []ControllerScale `json:"controllers,omitempty"`
	// Unmanaged are the names of the pods without a controller. They count as healthy but not as expected.
	Unmanaged []string `json:"unmanaged,omitempty"`
}

// PodHealth is how one pod counts.
type PodHealth struct {
	Name   string `json:"name"`
	Node   string `json:"node,omitempty"`
	Health Health `json:"health"`
	// Until is when the pod's entry in status.disruptedPods stops counting, if it counts now.
	Until time.Time `json:"until,omitzero"`
}

// ControllerScale is one controller of the pods.
type ControllerScale struct {
	// Kind and Name of the object whose scale counts: of the Deployment, if a Deployment controls the ReplicaSet.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Through are the owner references of pods that lead to this object: "ReplicaSet web-5d4f".
	Through []string `json:"through"`
	Scale   int32    `json:"scale"`
	// Problem is why there is no scale, if there is none. Code is then ControllerNotFound, ScaleNotKnown or
	// ScaleNotAvailable.
	Problem string `json:"problem,omitempty"`
	Code    Code   `json:"code,omitempty"`
}

// Blocks reports whether the eviction of a ready pod has to wait: the computed status of the budget allows no
// disruption, or is not known. While there are Needs it is true, so a caller that stops at Blocks does not evict on an
// open question. Whether the answers would allow an eviction is unknown then.
func (e BudgetExplanation) Blocks() bool {
	return len(e.Needs) > 0 || e.Computed.DisruptionsAllowed <= 0
}

// Explain explains the status of a budget: each pod, and why it counts or does not count; each controller and its
// scale. For a pod, Explain says which budgets select it and what happens to its condition DisruptionTarget.
//
// For an object that is not in the snapshot, Explain returns an error around [purekube.ErrNotFound] and no explanation.
// Every other error is the error of Plan.
func (x *Index) Explain(key purekube.Key) (Explanation, error) {
	if err := x.options.err(); err != nil {
		return Explanation{}, err
	}
	problems := x.problems()
	twice := false
	switch name := key.NamespacedName(); key.Kind {
	case budgetKind:
		if st := x.states.Find(name); st != nil {
			e, v := x.explainBudget(st, x.podsOf(st))
			problems.Add(v.problems...)
			return e, problems.Err()
		}
		twice = x.budgets.Ambiguous(name)
	case podKind:
		if pod := x.pods.Find(name); pod != nil {
			return x.explainPod(pod, x.coveredBy(pod)), problems.Err()
		}
		twice = x.pods.Ambiguous(name)
	}
	// A name that several objects have is in the snapshot, so it gets an explanation that says so, and an error.
	problems.Add(missing(key, twice))
	return explainMissing(key, twice), problems.Err()
}

// explainMissing explains an object that is not in the snapshot, or is there twice. For an object that is not there it
// is the zero Explanation.
func explainMissing(key purekube.Key, twice bool) Explanation {
	if !twice {
		return Explanation{}
	}
	e := Explanation{Key: key, Reasons: []Reason{
		{Code: ReasonDuplicate, Object: key, Message: purekube.ErrDuplicate.Error() + ": nothing is planned for this name"}}}
	if key.Kind == podKind {
		e.Pod = &PodExplanation{}
	} else {
		e.Budget = &BudgetExplanation{Failure: purekube.ErrDuplicate.Error()}
	}
	return e
}

// missing is the error for a question about an object that is not in the snapshot, or is there twice. Plan has no such
// error for a missing object: a deletion is an ordinary event for a controller, while a question about a missing name
// is probably a typing error.
func missing(key purekube.Key, ambiguous bool) *purekube.ObjectError {
	if ambiguous {
		return snapshot.DuplicateError(key.Kind, key.NamespacedName())
	}
	return &purekube.ObjectError{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name, Err: purekube.ErrNotFound}
}

// ExplainAll explains, sorted by key: all budgets of the snapshot; the pods whose condition DisruptionTarget is True or
// that several budgets select; and the names that several pods have. Other pods have no plan: use Explain for them. The
// error is the error of [Index.PlanAll]. ExplainAll costs about one pass over the pods.
func (x *Index) ExplainAll() ([]Explanation, error) {
	if err := x.options.err(); err != nil {
		return nil, err
	}
	var all []Explanation
	// One pass from pods to budgets finds all pairs. Asking podsOf for each budget would visit the pods of a namespace
	// once for each of its budgets that demands no rare label.
	pods := map[*budgetState][]*corev1.Pod{}
	for pod := range x.pods.All() {
		covering := x.coveredBy(pod)
		for _, st := range covering {
			pods[st] = append(pods[st], pod)
		}
		if len(covering) > 1 || hasDisruptionTarget(pod) {
			all = append(all, x.explainPod(pod, covering))
		}
	}
	for st := range x.states.All() {
		e, _ := x.explainBudget(st, pods[st])
		all = append(all, e)
	}
	for _, twice := range slices.Concat(x.budgets.Duplicates(), x.pods.Duplicates()) {
		all = append(all, explainMissing(keyOfProblem(twice), true))
	}
	slices.SortFunc(all, func(a, b Explanation) int { return a.Key.Compare(b.Key) })
	return all, x.wholeSnapshot()
}

// explainPod explains a pod that these budgets select. It has two reasons: about the condition DisruptionTarget, and
// about the budgets.
func (x *Index) explainPod(pod *corev1.Pod, covering []*budgetState) Explanation {
	e := Explanation{Key: KeyOf(pod), Pod: &PodExplanation{}}
	for _, st := range covering {
		e.Pod.Budgets = append(e.Pod.Budgets, snapshot.KeyOf(st))
	}
	result, why := x.decidePod(pod)
	target := Reason{Code: why}
	switch why {
	case ReasonNoDisruptionTarget:
		target.Message = "the condition DisruptionTarget is not True"
	case ReasonDisruptionTargetInUse:
		target.Message = "the condition DisruptionTarget stays: the pod is being deleted or has ended, or the kubelet set it"
	case ReasonDisruptionTargetRecent:
		target.Message = "the pod is about to be deleted: the condition DisruptionTarget stays until " +
			result.RecheckAt.UTC().Format(time.RFC3339)
	default:
		target.Message = "the pod was not deleted in time: the condition DisruptionTarget is set to False"
	}
	target.Field = "status.conditions"
	var budgets Reason
	switch n := len(e.Pod.Budgets); n {
	case 0:
		budgets = Reason{Code: ReasonNoPodDisruptionBudget, Message: "no PodDisruptionBudget selects the pod"}
	case 1:
		budgets = Reason{Code: ReasonPodDisruptionBudget, Object: budgetKey(e.Pod.Budgets[0]),
			Message: fmt.Sprintf("PodDisruptionBudget %s selects the pod", e.Pod.Budgets[0].Name)}
	default:
		budgets = Reason{Code: ReasonMultiplePodDisruptionBudgets, Object: budgetKey(e.Pod.Budgets[0]),
			Message: fmt.Sprintf("%d PodDisruptionBudgets select the pod: it cannot be evicted", n)}
	}
	e.Reasons = []Reason{target, budgets}
	return e
}

// explainBudget explains a budget. pods are the pods that it selects, without pods whose name several pods have. It
// also returns the verdict, whose problems are the error of the explanation.
func (x *Index) explainBudget(st *budgetState, pods []*corev1.Pod) (Explanation, verdict) {
	b := st.PodDisruptionBudget
	e := &BudgetExplanation{Rule: rule(b.Spec), Selector: metav1.FormatLabelSelector(b.Spec.Selector),
		Reported: countsOf(b.Status)}
	for _, pod := range pods {
		h, until := x.healthOf(pod, b.Status.DisruptedPods)
		e.Pods = append(e.Pods, PodHealth{Name: pod.Name, Node: pod.Spec.NodeName, Health: h, Until: until})
		if metav1.GetControllerOfNoCopy(pod) == nil {
			e.Unmanaged = append(e.Unmanaged, pod.Name)
		}
	}
	// Several owner references may lead to one Deployment, which at merges into one line.
	at := map[controller]int{}
	v := x.decide(st, func(r reference, f finding) { e.addController(r, f, at) })
	// With open lookups Computed stays zero and UpToDate is false: nothing is known about the status yet.
	e.Needs, e.UpToDate = v.result.Needs, v.budget == b
	if v.failure != nil {
		e.Failure = conditionText(v.failure)
	}
	if v.budget != nil {
		e.Computed = countsOf(v.budget.Status)
	}
	// Everything is sorted: equal snapshots give equal explanations, whatever the order of maps and of the pass.
	slices.SortFunc(e.Pods, func(a, b PodHealth) int { return cmp.Compare(a.Name, b.Name) })
	for _, c := range e.Controllers {
		slices.Sort(c.Through)
	}
	slices.SortFunc(e.Controllers, func(a, b ControllerScale) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), slices.Compare(a.Through, b.Through))
	})
	slices.Sort(e.Unmanaged)
	e.Never, e.Shortfall = x.outlook(st, v)
	return Explanation{Key: KeyOf(b), Reasons: e.reasons(b), Budget: e}, v
}

// healthOf returns how a pod counts for a budget with these entries, and until when its entry counts. The order of the
// cases is the order of upstream's countHealthyPods: deletion, then the entry, then readiness.
func (x *Index) healthOf(pod *corev1.Pod, disrupted map[string]metav1.Time) (Health, time.Time) {
	e, _, until := x.options.entryOf(pod, disrupted, x.now)
	switch {
	case pod.DeletionTimestamp != nil:
		return BeingDeleted, time.Time{}
	case e == keptEntry && until.After(x.now):
		return BeingEvicted, until
	case podstate.Ready(pod):
		return Healthy, time.Time{}
	}
	return NotReady, time.Time{}
}

// addController adds what was found for an owner reference. at is the position in e.Controllers of each controller that
// was already found. Without a found controller, the line has the kind and name of the reference, or of the object to
// look up: for a ReplicaSet without its Deployment in the snapshot it is the Deployment.
func (e *BudgetExplanation) addController(r reference, f finding, at map[controller]int) {
	through := r.ref.Kind + " " + r.ref.Name
	cs := ControllerScale{Kind: r.ref.Kind, Name: r.ref.Name, Through: []string{through}}
	switch {
	case f.found.kind != "":
		cs.Kind, cs.Name, cs.Scale = f.found.kind, f.found.name, f.found.scale
		if i, known := at[f.found]; known {
			e.Controllers[i].Through = append(e.Controllers[i].Through, through)
			return
		}
		at[f.found] = len(e.Controllers)
	case f.problem != nil:
		cs.Problem, cs.Code = conditionText(f.problem), ReasonScaleNotAvailable
	case f.need != nil:
		cs.Kind, cs.Name = f.need.Kind, f.need.Name
		cs.Problem, cs.Code = "its scale is not in the snapshot", ReasonScaleNotKnown
		if f.need.Subresource == "" {
			cs.Problem = "it is not in the snapshot"
		}
	default:
		cs.Problem, cs.Code = "not found, or another object has its name", ReasonControllerNotFound
	}
	e.Controllers = append(e.Controllers, cs)
}

// rule is the budget's demand in words. maxUnavailable comes first, as in desiredHealthy: the API server admits only
// one of both fields, and a manifest may have both.
func rule(spec policyv1.PodDisruptionBudgetSpec) string {
	switch {
	case spec.MaxUnavailable != nil:
		return "maxUnavailable " + spec.MaxUnavailable.String()
	case spec.MinAvailable != nil:
		return "minAvailable " + spec.MinAvailable.String()
	}
	return ""
}
