package main

import (
	"errors"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption/drain"
)

// addDrain adds how a drain of the node would go, and what is in its way. It has all flags, so that what is in the way
// is not a flag. The ttl core must have planned.
func (r *report) addDrain(node purekube.Key, c *cluster, set settings) {
	f := r.findingOf(node, "ttl", c)
	if f == nil {
		return
	}
	request := drainRequest{flags: drain.Options{IgnoreDaemonSets: true, DeleteEmptyDirData: true, Force: true}}
	if refusal := c.refusal(drainQuestion(request.command(), c)); refusal != nil {
		f.Explanation = append(f.Explanation, refusal.what)
		r.addProblem(*refusal)
		return
	}
	fleet := newFleet(c, set)
	names, undecided := request.decidable(fleet, []string{node.Name})
	for _, p := range undecided {
		f.Explanation = append(f.Explanation, p.what)
		r.addProblem(p)
	}
	drains, err := request.each(fleet, names)
	r.addProblems(errors.Join(err, fleet.budgetProblems([]string{node.Name})), purekube.Key{}, c)
	for _, d := range drains {
		f.Explanation = append(f.Explanation, request.command()+": "+d.says())
		f.Explanation = append(f.Explanation, d.inTheWay()...)
	}
}
