package disruption

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// planner holds what the plans of a snapshot share: its objects by name, the selectors of its
// budgets, and a podCount for each budget.
type planner struct {
	now       time.Time
	o         Options
	pods      []*corev1.Pod
	workloads *workloads
	// matchers and counts go together: one for each budget.
	matchers []matcher
	counts   []podCount
	// budgetNames and podNames know the names that more than one budget, or pod, has.
	budgetNames *snapshot.Table[policyv1.PodDisruptionBudget, *policyv1.PodDisruptionBudget]
	podNames    *snapshot.Table[corev1.Pod, *corev1.Pod]
	// samePods: some name is more than one pod's.
	samePods bool
	// problems are nil pointers and objects without a name.
	problems snapshot.Problems
}

func newPlanner(s Snapshot, o Options) *planner {
	p := &planner{now: s.Now, o: o}
	budgets := snapshot.Named(budgetKind, s.Budgets, &p.problems)
	p.budgetNames = snapshot.NewTable(budgetKind, budgets)
	p.pods = snapshot.Named(podKind, s.Pods, &p.problems)
	p.podNames = snapshot.NewTable(podKind, p.pods)
	p.samePods = len(p.podNames.Duplicates()) > 0
	p.workloads = newWorkloads(s, o, &p.problems)
	p.matchers = make([]matcher, 0, len(budgets))
	p.counts = make([]podCount, 0, len(budgets))
	compile := newCompiler()
	for _, b := range budgets {
		if p.budgetNames.Ambiguous(snapshot.KeyOf(b)) {
			continue
		}
		g, broken := compile.matcher(b)
		p.matchers = append(p.matchers, g)
		p.counts = append(p.counts, podCount{budget: b, broken: broken})
	}
	return p
}

// countAll counts every pod for the budgets that cover it.
func (p *planner) countAll() {
	x := newBudgetIndex(p.matchers)
	var hits []int
	for _, pod := range p.pods {
		hits = x.covering(hits[:0], pod)
		for _, i := range hits {
			p.add(&p.counts[i], pod)
		}
	}
}

// only counts the pods of one budget. There is nothing to count if no budget, or more than one, has
// that name.
func (p *planner) only(key types.NamespacedName) (*podCount, bool) {
	i := slices.IndexFunc(p.matchers, func(g matcher) bool { return snapshot.KeyOf(g.budget) == key })
	if i < 0 {
		return nil, false
	}
	for _, pod := range p.pods {
		if p.matchers[i].covers(pod) {
			p.add(&p.counts[i], pod)
		}
	}
	return &p.counts[i], true
}

func (p *planner) add(t *podCount, pod *corev1.Pod) {
	if p.ambiguousPod(snapshot.KeyOf(pod)) {
		t.addAmbiguous(pod, p.now, p.o)
		return
	}
	t.add(pod, p.now, p.o)
}

// ambiguousPod reports whether more than one pod has that name.
func (p *planner) ambiguousPod(key types.NamespacedName) bool {
	return p.samePods && p.podNames.Ambiguous(key)
}

// budgetProblems are the budgets that cannot be told to cover a pod or not.
func (p *planner) budgetProblems() []*purekube.ObjectError {
	var found []*purekube.ObjectError
	for i := range p.counts {
		if broken := p.counts[i].broken; broken != nil {
			found = append(found, broken)
		}
	}
	return append(found, p.budgetNames.Duplicates()...)
}

// covering are the positions of the budgets that cover the pod.
func (p *planner) covering(pod *corev1.Pod) []int {
	var hits []int
	for i, m := range p.matchers {
		if m.covers(pod) {
			hits = append(hits, i)
		}
	}
	return hits
}
