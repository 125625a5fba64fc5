package disruption

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

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
	// budgetNames and podNames know the names that more than one budget, or pod, has.
	budgetNames *snapshot.Table[policyv1.PodDisruptionBudget, *policyv1.PodDisruptionBudget]
	podNames    *snapshot.Table[corev1.Pod, *corev1.Pod]
	// samePods: some name is more than one pod's.
	samePods bool
	// problems are nil pointers and objects without a name.
	problems snapshot.Problems
}

func newCount(s Snapshot, o Options) *count {
	c := &count{now: s.Now, o: o}
	budgets := snapshot.Named(budgetKind, s.Budgets, &c.problems)
	c.budgetNames = snapshot.NewTable(budgetKind, budgets)
	c.pods = snapshot.Named(podKind, s.Pods, &c.problems)
	c.podNames = snapshot.NewTable(podKind, c.pods)
	c.samePods = len(c.podNames.Duplicates()) > 0
	c.workloads = newWorkloads(s, o, &c.problems)
	c.guards = make([]guard, 0, len(budgets))
	c.tallies = make([]tally, 0, len(budgets))
	compile := newCompiler()
	for _, b := range budgets {
		if c.budgetNames.Ambiguous(snapshot.KeyOf(b)) {
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
	for _, pod := range c.pods {
		hits = x.covering(hits[:0], pod)
		for _, i := range hits {
			c.add(&c.tallies[i], pod)
		}
	}
}

// only counts the pods of one budget and returns its tally. There is none if no budget, or more
// than one, has that name.
func (c *count) only(key types.NamespacedName) (*tally, bool) {
	i := slices.IndexFunc(c.guards, func(g guard) bool { return snapshot.KeyOf(g.budget) == key })
	if i < 0 {
		return nil, false
	}
	for _, pod := range c.pods {
		if c.guards[i].covers(pod) {
			c.add(&c.tallies[i], pod)
		}
	}
	return &c.tallies[i], true
}

func (c *count) add(t *tally, pod *corev1.Pod) {
	if c.samePods && c.podNames.Ambiguous(snapshot.KeyOf(pod)) {
		t.addAmbiguous(pod, c.now)
		return
	}
	t.add(pod, c.now, c.o)
}
