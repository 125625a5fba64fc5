package disruption

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// index finds the budgets that cover a pod without trying all of them. Each budget hangs on
// one thing that its selector demands, a label with one of some values or a label at all,
// and is tried only for pods that have it. A selector that demands nothing of the kind is
// tried for every pod of its namespace.
//
// Budgets are known by their position in the slice that the index was made from.
type budgetIndex struct {
	matchers   []matcher
	sole       []bool // the thing it hangs on is all that the selector demands
	namespaces map[string]*namespaceIndex
}

type namespaceIndex struct {
	keys   []*labelIndex
	byName map[string]*labelIndex
	all    []int
}

type labelIndex struct {
	key     string
	byValue map[string][]int
	exists  []int
}

// demand is one requirement of a selector that a pod can be looked up by.
type demand struct {
	key    string
	values []string // none: the label has to be there
}

// label is a label of a namespace's pods.
type label struct{ namespace, key, value string }

func newBudgetIndex(matchers []matcher) *budgetIndex {
	x := &budgetIndex{matchers: matchers, sole: make([]bool, len(matchers)), namespaces: map[string]*namespaceIndex{}}
	// How many budgets demand a label stands for how many pods have it: of
	// {app: web, tier: front} the second is likely shared by many.
	popularity := make(map[label]int, len(matchers))
	var scratch []demand
	for _, g := range matchers {
		if g.selector == nil {
			continue
		}
		scratch = appendDemands(scratch[:0], g.budget)
		for _, d := range scratch {
			for _, v := range d.values {
				popularity[label{g.budget.Namespace, d.key, v}]++
			}
		}
	}
	for i, g := range matchers {
		if g.selector == nil || g.budget.Spec.Selector == nil {
			continue
		}
		ns := x.namespaces[g.budget.Namespace]
		if ns == nil {
			ns = &namespaceIndex{byName: map[string]*labelIndex{}}
			x.namespaces[g.budget.Namespace] = ns
		}
		scratch = appendDemands(scratch[:0], g.budget)
		if len(scratch) == 0 {
			ns.all = append(ns.all, i)
			x.sole[i] = g.selector.Empty()
			continue
		}
		best := slices.MinFunc(scratch, func(a, b demand) int {
			return cmp.Or(
				cmp.Compare(cost(popularity, g.budget.Namespace, a), cost(popularity, g.budget.Namespace, b)),
				cmp.Compare(a.key, b.key),
				slices.Compare(a.values, b.values),
			)
		})
		x.sole[i] = len(g.budget.Spec.Selector.MatchLabels)+len(g.budget.Spec.Selector.MatchExpressions) == 1
		ns.add(best, i)
	}
	return x
}

// cost estimates how many pods have what is demanded.
func cost(popularity map[label]int, namespace string, d demand) int {
	if len(d.values) == 0 {
		return len(popularity) + 1
	}
	sum := 0
	for _, v := range d.values {
		sum += popularity[label{namespace, d.key, v}]
	}
	return sum
}

func appendDemands(demands []demand, b *policyv1.PodDisruptionBudget) []demand {
	if b.Spec.Selector == nil {
		return demands
	}
	for k, v := range b.Spec.Selector.MatchLabels {
		demands = append(demands, demand{key: k, values: []string{v}})
	}
	for _, e := range b.Spec.Selector.MatchExpressions {
		switch e.Operator {
		case metav1.LabelSelectorOpIn:
			// A value that is named twice would find the pod twice.
			values := slices.Clone(e.Values)
			slices.Sort(values)
			demands = append(demands, demand{key: e.Key, values: slices.Compact(values)})
		case metav1.LabelSelectorOpExists:
			demands = append(demands, demand{key: e.Key})
		}
	}
	return demands
}

func (ns *namespaceIndex) add(d demand, i int) {
	l := ns.byName[d.key]
	if l == nil {
		l = &labelIndex{key: d.key, byValue: map[string][]int{}}
		ns.byName[d.key] = l
		ns.keys = append(ns.keys, l)
	}
	if len(d.values) == 0 {
		l.exists = append(l.exists, i)
	}
	for _, v := range d.values {
		l.byValue[v] = append(l.byValue[v], i)
	}
}

// covering appends the budgets that cover the pod to hits, in no particular order, each once.
func (x *budgetIndex) covering(hits []int, pod *corev1.Pod) []int {
	ns := x.namespaces[pod.Namespace]
	if ns == nil {
		return hits
	}
	hits = x.matching(hits, ns.all, pod)
	// Of the labels that the pod has and those that are asked for, the fewer are looked at.
	if len(ns.keys) <= len(pod.Labels) {
		for _, l := range ns.keys {
			if v, ok := pod.Labels[l.key]; ok {
				hits = x.matching(x.matching(hits, l.byValue[v], pod), l.exists, pod)
			}
		}
		return hits
	}
	for k, v := range pod.Labels {
		if l := ns.byName[k]; l != nil {
			hits = x.matching(x.matching(hits, l.byValue[v], pod), l.exists, pod)
		}
	}
	return hits
}

func (x *budgetIndex) matching(hits, candidates []int, pod *corev1.Pod) []int {
	for _, i := range candidates {
		if x.sole[i] || x.matchers[i].selector.Matches(labels.Set(pod.Labels)) {
			hits = append(hits, i)
		}
	}
	return hits
}
