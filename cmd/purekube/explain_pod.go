package main

import (
	"fmt"
	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
)

// evictionQuestion is whether a pod may be evicted: a budget that is missing would refuse it. Workloads need not be in
// the input: each scale that is missing is a lookup.
var evictionQuestion = question{
	name: "whether it may be evicted", dump: append([]string{"PodDisruptionBudget"}, drainReads...),
	seen: []string{"PodDisruptionBudget"}, whole: []string{"PodDisruptionBudget"},
}

// addEviction adds what disruption knows about one pod: the budgets that select it, and whether it may be evicted by
// the status that the plan writes. PlanAll is silent about most pods. The disruption core must have planned.
func (r *report) addEviction(pod purekube.Key, c *cluster, set settings) {
	f := r.findingOf(pod, "disruption", c)
	if f == nil {
		return
	}

	d := newDrains(c, set)
	// The errors of both are PlanAll's.
	e, _ := d.index.Explain(pod)
	f.Explained, f.Reasons, f.Explanation = e, reasonsOf(e.Reasons), nil
	for _, reason := range e.Reasons {
		switch reason.Code {
		case disruption.ReasonNoDisruptionTarget, disruption.ReasonNoPodDisruptionBudget:
			continue // nothing is about to happen, and the verdict says the other
		}
		f.Explanation = append(f.Explanation, reason.Message)
	}
	if refusal := c.refusal(evictionQuestion); refusal != nil {
		f.Explanation = append(f.Explanation, refusal.what)
		r.addProblem(*refusal)
		return
	}
	eviction, _ := d.index.CheckEviction(pod.NamespacedName(), disruption.Recomputed)
	f.Eviction = &eviction
	f.Needs = append(f.Needs, eviction.Needs...)
	switch v := eviction.Verdict; {
	case len(eviction.Needs) > 0:
		f.Explanation = append(f.Explanation, "whether it may be evicted depends on a lookup")
	case v == disruption.NoVerdict:
		f.Explanation = append(f.Explanation, "whether it may be evicted is not known")
	case v.Allowed():
		f.Explanation = append(f.Explanation, "it may be evicted: "+eviction.Reason)
	default:
		f.Explanation = append(f.Explanation,
			fmt.Sprintf("it cannot be evicted now (%d): %s", v.StatusCode(), eviction.Reason))
	}
}
