package disruption

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/persistent"
	"github.com/purekube/purekube/internal/snapshot"
)

// BudgetsFor returns the budgets that cover the pod, sorted by name. Unlike everything else in
// this package they are the caller's own objects and no copies: read them only.
//
// A budget covers the pods of its namespace that its selector matches; without a selector
// none, with an empty one all. A selector that does not compile covers none, in the
// eviction handler as well. The error joins what is wrong with the budgets of the pod's
// namespace: such selectors, names that two budgets have (neither is returned), nil pointers and
// budgets without a name.
func BudgetsFor(budgets []*policyv1.PodDisruptionBudget, pod *corev1.Pod) ([]*policyv1.PodDisruptionBudget, error) {
	if pod == nil {
		return nil, nil
	}
	return arrange(Snapshot{Budgets: inNamespace(budgets, pod.Namespace)}, Options{}, noBudget).BudgetsFor(pod)
}

// BudgetsFor is the method of [BudgetsFor]. The pod need not be in the index.
func (x *Index) BudgetsFor(pod *corev1.Pod) ([]*policyv1.PodDisruptionBudget, error) {
	if pod == nil {
		return nil, nil
	}
	var problems snapshot.Problems
	x.budgets.addTo(&problems)
	for _, problem := range x.budgetProblems(pod.Namespace) {
		problems.Add(problem)
	}
	var covering []*policyv1.PodDisruptionBudget
	for _, st := range x.coveredBy(pod) {
		covering = append(covering, st.budget)
	}
	return covering, problems.Err()
}

// budgetProblems are the budgets of a namespace that cannot be told to cover a pod or not.
func (x *Index) budgetProblems(namespace string) []*purekube.ObjectError {
	var found []*purekube.ObjectError
	if x.broken.Len() > 0 {
		for key := range x.broken.From(types.NamespacedName{Namespace: namespace}) {
			if key.Namespace != namespace {
				break
			}
			if st := x.states.Find(key); st != nil {
				found = append(found, st.broken)
			}
		}
	}
	for key := range x.budgets.doubles(namespace) {
		found = append(found, snapshot.DuplicateError(budgetKind, key))
	}
	return found
}

// coveredBy are the budgets that cover a pod, sorted by name.
func (x *Index) coveredBy(pod *corev1.Pod) []*budgetState {
	moved := lazily(x.moved)
	return coveredBy(x.byLabel, x.states.Find, &moved, pod)
}

// coveredBy finds the budgets that cover a pod by its labels: those that are where they were when the
// index by labels was made, and those that moved since.
func coveredBy(byLabel *budgetIndex, find func(types.NamespacedName) *budgetState, moved *lazyEdit[movedBudget, struct{}], pod *corev1.Pod) []*budgetState {
	var found []*budgetState
	var scratch [8]int
	for _, i := range byLabel.covering(scratch[:0], pod) {
		if st := find(snapshot.KeyOf(byLabel.matchers[i].budget)); st != nil && int(st.at) == i {
			found = append(found, st)
		}
	}
	if moved.any() {
		look := func(at movedBudget) {
			at.namespace = pod.Namespace
			for m := range moved.since(at) {
				name := m.budget
				if m.budget = ""; m != at {
					break
				}
				if st := find(types.NamespacedName{Namespace: pod.Namespace, Name: name}); st != nil && st.at < 0 && st.covers(pod) {
					found = append(found, st)
				}
			}
		}
		look(movedBudget{})
		for k, v := range pod.Labels {
			look(movedBudget{sort: byKey, key: k})
			look(movedBudget{sort: byValue, key: k, value: v})
		}
	}
	if len(found) > 1 {
		slices.SortFunc(found, func(a, b *budgetState) int { return cmp.Compare(a.budget.Name, b.budget.Name) })
	}
	return found
}

// movedBudget says by what a budget is found that is not in the index by labels: by one thing that its
// selector demands, or by nothing but its namespace.
type movedBudget struct {
	namespace  string
	sort       movedSort
	key, value string
	budget     string
}

type movedSort int

const (
	byNamespace movedSort = iota
	byKey
	byValue
)

func compareMoved(a, b movedBudget) int {
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.sort, b.sort), cmp.Compare(a.key, b.key),
		cmp.Compare(a.value, b.value), cmp.Compare(a.budget, b.budget))
}

func newMovedBudgets() *persistent.Map[movedBudget, struct{}] {
	return persistent.NewMap[movedBudget, struct{}](compareMoved)
}

// placesOf are where a budget is put among the moved ones: under one of the things that it demands, the
// one that the fewest others are under.
func placesOf(b *policyv1.PodDisruptionBudget, moved *lazyEdit[movedBudget, struct{}]) []movedBudget {
	best, fewest := []movedBudget{{namespace: b.Namespace, budget: b.Name}}, crowd+1
	demands := appendDemands(nil, b)
	slices.SortFunc(demands, func(a, b demand) int { return cmp.Or(cmp.Compare(a.key, b.key), slices.Compare(a.values, b.values)) })
	for _, d := range demands {
		places := []movedBudget{{namespace: b.Namespace, sort: byKey, key: d.key, budget: b.Name}}
		if len(d.values) > 0 {
			places = places[:0]
			for _, v := range d.values {
				places = append(places, movedBudget{namespace: b.Namespace, sort: byValue, key: d.key, value: v, budget: b.Name})
			}
		}
		others := 0
		for _, p := range places {
			p.budget = ""
			for m := range moved.since(p) {
				if m.budget = ""; m != p || others > crowd {
					break
				}
				others++
			}
		}
		if others < fewest || others == fewest && len(d.values) > 0 {
			best, fewest = places, others
		}
	}
	return best
}

// crowd is how many budgets in one place are too many to count them exactly.
const crowd = 8
