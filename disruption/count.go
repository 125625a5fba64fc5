package disruption

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// count holds a tally for each budget of a snapshot, and fills them.
type count struct {
	now       time.Time
	o         Options
	pods      []*corev1.Pod
	workloads *workloads
	// guards and tallies go together: one for each budget.
	guards  []guard
	tallies []tally
	// duplicates are the names that more than one budget has.
	duplicates map[types.NamespacedName]bool
	// ambiguous are the names that more than one pod has.
	ambiguous map[types.NamespacedName]bool
	// problems are the nil pointers.
	problems snapshot.Problems
}

func newCount(s Snapshot, o Options) *count {
	c := &count{now: s.Now, o: o, pods: s.Pods}
	if slices.Contains(s.Budgets, nil) {
		c.problems.Add(&purekube.ObjectError{Kind: budgetKind, Err: purekube.ErrNil})
	}
	if slices.Contains(s.Pods, nil) {
		c.problems.Add(&purekube.ObjectError{Kind: podKind, Err: purekube.ErrNil})
	}
	c.workloads = newWorkloads(s, o, &c.problems)
	budgets, duplicates := snapshot.Unique(s.Budgets)
	c.duplicates = duplicates
	c.guards = make([]guard, 0, len(budgets))
	c.tallies = make([]tally, 0, len(budgets))
	compile := newCompiler()
	for _, b := range s.Budgets {
		if b == nil || duplicates[snapshot.KeyOf(b)] {
			continue
		}
		g, broken := compile.guard(b)
		c.guards = append(c.guards, g)
		c.tallies = append(c.tallies, tally{budget: b, broken: broken})
	}
	return c
}

// all counts every pod in the tallies of the budgets that cover it.
func (c *count) all() {
	x := newIndex(c.guards)
	var hits []int
	c.each(func(pod *corev1.Pod, ambiguous bool) {
		hits = x.covering(hits[:0], pod)
		for _, i := range hits {
			c.add(&c.tallies[i], pod, ambiguous)
		}
	})
}

// only counts the pods of one budget and returns its tally. There is none if no budget, or more
// than one, has that name.
func (c *count) only(key types.NamespacedName) (*tally, bool) {
	i := slices.IndexFunc(c.guards, func(g guard) bool { return snapshot.KeyOf(g.budget) == key })
	if i < 0 {
		return nil, false
	}
	c.each(func(pod *corev1.Pod, ambiguous bool) {
		if c.guards[i].covers(pod) {
			c.add(&c.tallies[i], pod, ambiguous)
		}
	})
	return &c.tallies[i], true
}

func (c *count) add(t *tally, pod *corev1.Pod, ambiguous bool) {
	if ambiguous {
		t.addAmbiguous(pod, c.now)
		return
	}
	t.add(pod, c.now, c.o)
}

// each calls visit for every pod, and says whether another pod has its name.
func (c *count) each(visit func(pod *corev1.Pod, ambiguous bool)) {
	c.ambiguous = samePodNames(c.pods)
	for _, pod := range c.pods {
		if pod != nil {
			visit(pod, len(c.ambiguous) > 0 && c.ambiguous[snapshot.KeyOf(pod)])
		}
	}
}

// ambiguities are the names that more than one pod has.
func (c *count) ambiguities() []*purekube.ObjectError {
	var found []*purekube.ObjectError
	for key := range c.ambiguous {
		found = append(found, snapshot.DuplicateError(podKind, key))
	}
	return found
}

// samePodNames finds the names that more than one pod has.
func samePodNames(pods []*corev1.Pod) map[types.NamespacedName]bool {
	// Most names are the only one of their kind in all namespaces, so the names alone are
	// looked at first: this is the dearest part of a plan.
	seen := make(map[string]*corev1.Pod, len(pods))
	var elsewhere map[types.NamespacedName]struct{}
	var twice map[types.NamespacedName]bool
	for _, pod := range pods {
		if pod == nil {
			continue
		}
		first, again := seen[pod.Name]
		if !again {
			seen[pod.Name] = pod
			continue
		}
		key := snapshot.KeyOf(pod)
		_, known := elsewhere[key]
		if known || first.Namespace == pod.Namespace {
			if twice == nil {
				twice = map[types.NamespacedName]bool{}
			}
			twice[key] = true
			continue
		}
		if elsewhere == nil {
			elsewhere = map[types.NamespacedName]struct{}{}
		}
		elsewhere[key] = struct{}{}
	}
	return twice
}
