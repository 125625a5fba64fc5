package disruption

import (
	"maps"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/podstate"
)

// budgetState is a budget whose name no other has, and the counts of the pods that it selects. Pods whose name several
// pods have are not counted. A budgetState never changes: a pod event makes a copy with other counts, so Indexes of
// different times share all others.
type budgetState struct {
	*policyv1.PodDisruptionBudget
	selector labels.Selector       // selects nothing if it is broken
	broken   *purekube.ObjectError // why the selector finds no pods, if it does not compile
	// filed is the selector among the selectors of all budgets; nil if there is none. A broken one is among the selectors
	// that demand nothing, where budgetProblems finds it.
	filed *filedBudget

	podSums
	refs references
}

// newBudgetState compiles the budget's selector. A budget without a selector selects no pod; a budget with an empty
// selector selects all pods of its namespace. A selector that does not compile selects nothing, as in the eviction
// handler's getPodDisruptionBudgets; the status of such a budget allows nothing all the same.
func newBudgetState(b *policyv1.PodDisruptionBudget) *budgetState {
	st := &budgetState{PodDisruptionBudget: b, selector: labels.Nothing(), refs: newPodCounter().references()}
	if b.Spec.Selector == nil {
		return st
	}
	st.filed = &filedBudget{Scope: b.Namespace, Name: b.Name, Value: st.selector}
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		st.broken = &purekube.ObjectError{
			Kind: budgetKind, Namespace: b.Namespace, Name: b.Name, Field: "spec.selector",
			Err: firstError(b.Spec.Selector, err)}
		return st
	}
	st.selector, st.filed.Value, st.filed.Demands = selector, selector, demandsOf(b.Spec.Selector)
	return st
}

// firstError returns the error about the first malformed label by name. The library checks labels in the random order
// of a map, and the text becomes part of the budget's condition.
func firstError(s *metav1.LabelSelector, otherwise error) error {
	for _, k := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		if _, err := metav1.LabelSelectorAsSelector(
			&metav1.LabelSelector{MatchLabels: map[string]string{k: s.MatchLabels[k]}}); err != nil {
			return err
		}
	}
	return otherwise
}

// selects reports whether the budget applies to the pod.
func (st *budgetState) selects(pod *corev1.Pod) bool {
	return st.Namespace == pod.Namespace && st.selector.Matches(labels.Set(pod.Labels))
}

// byLabel finds the budgets that select a pod, without trying all budgets. It files each budget under the labels that
// its selector requires: {app: web, tier: front} is found by the rarer of both labels. Requirements that demand no
// label (NotIn, DoesNotExist) cannot be filed; the selector itself checks them afterwards.
type byLabel = persistent.Selectors[labels.Selector]

// filedBudget is a budget in byLabel. It has no pointer to the budget, since another version with the same selector may
// replace the budget.
type filedBudget = persistent.Filed[labels.Selector]

// demandsOf returns the requirements of a selector that an index of pods by label can answer.
func demandsOf(s *metav1.LabelSelector) []persistent.Demand {
	demands := make([]persistent.Demand, 0, len(s.MatchLabels)+len(s.MatchExpressions))
	for k, v := range s.MatchLabels {
		demands = append(demands, persistent.Demand{Key: k, Values: []string{v}})
	}
	for _, e := range s.MatchExpressions {
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			// A value that is named twice would find the pod twice.
			values := slices.Clone(e.Values)
			slices.Sort(values)
			demands = append(demands, persistent.Demand{Key: e.Key, Values: slices.Compact(values)})
		// Without values, any value will do. A Demand for each value would need to know all values.
		case metav1.LabelSelectorOpExists:
			demands = append(demands, persistent.Demand{Key: e.Key})
		}
	}
	return demands
}

// podSums are counts that do not depend on the time. A pod event changes them by adding and subtracting, so they must
// be sums: nothing that needs a minimum or a set is in podSums.
type podSums struct {
	pods      int32
	ready     int32 // ready and not being deleted
	unmanaged int32 // without a controller
	// lasting pods run, or will: they have not ended and are not being deleted. Of these, added are there whatever the
	// scales are.
	lasting, added int32
}

// contribution is what one pod adds to the counts, and its controller, or nil. countsAlike must compare everything that
// contribution reads. ref points into the pod.
func contribution(pod *corev1.Pod) (s podSums, ref *metav1.OwnerReference) {
	s.pods = 1
	if pod.DeletionTimestamp == nil && podstate.Ready(pod) {
		s.ready = 1
	}
	if ref = metav1.GetControllerOfNoCopy(pod); ref == nil {
		s.unmanaged = 1
	}
	// A pod that has ended never becomes healthy again, and its controller makes another in its place.
	if pod.DeletionTimestamp == nil && !podstate.Terminal(pod) {
		s.lasting = 1
		// A Deployment gets the pods that it wants through its ReplicaSets. Pods that name the Deployment itself exist
		// in addition to these.
		if ref == nil || ref.Kind == deploymentKind && appsGroup(groupOf(ref.APIVersion)) {
			s.added = 1
		}
	}
	return s, ref
}

// plus returns the sums after o was added by times, or subtracted if by is -1.
func (s podSums) plus(o podSums, by int32) podSums {
	return podSums{s.pods + by*o.pods, s.ready + by*o.ready, s.unmanaged + by*o.unmanaged, s.lasting + by*o.lasting,
		s.added + by*o.added}
}

// podCounter makes the counts of a budgetState, one pod at a time.
type podCounter struct {
	podSums
	namings *persistent.Edit[metav1.OwnerReference, naming]
}

func newPodCounter() *podCounter { return &podCounter{namings: noReferences.Edit()} }

func (c *podCounter) add(pod *corev1.Pod) {
	own, ref := contribution(pod)
	c.podSums = c.plus(own, 1)
	if ref != nil {
		key := referenceKey(ref)
		by, _ := c.namings.Get(key)
		c.namings.Set(key, by.with(pod.Name))
	}
}

// references returns the controllers of the pods, and ends the counting.
func (c *podCounter) references() references {
	return references{namings: c.namings.Map(), wanted: &atomic.Pointer[wantedScale]{}}
}
