package main

import (
	"slices"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption/drain"
)

// addDrain adds how a drain of the node would go, and what is in its way. It has all flags, so that what is in the way is not a
// flag. The ttl core must have planned.
func (r *report) addDrain(node purekube.Key, c *cluster, set settings) {
	i := slices.IndexFunc(r.Sections, func(s section) bool { return s.Core == "ttl" })
	if i < 0 || !c.holds(node) {
		return // the node is not there, which is said
	}
	s := &r.Sections[i]
	j := slices.IndexFunc(s.Findings, func(f finding) bool { return f.Object == node })
	if j < 0 {
		j = len(s.Findings)
		s.Findings = append(s.Findings, finding{Object: node})
	}
	f := &s.Findings[j]
	request := drainRequest{flags: drain.Options{IgnoreDaemonSets: true, DeleteEmptyDirData: true, Force: true}}
	if refusal := c.refusal(drainQuestion(request.command(), c)); refusal != nil {
		f.Explanation = append(f.Explanation, refusal.what)
		return
	}
	fleet := newFleet(c, set)
	names, undecided := request.decidable(fleet, []string{node.Name})
	for _, p := range undecided {
		f.Explanation = append(f.Explanation, p.what)
	}
	// The error is about the input as a whole, and the plans say it.
	drains, _ := request.each(fleet, names)
	for _, d := range drains {
		f.Explanation = append(f.Explanation, request.command()+": "+d.says())
		f.Explanation = append(f.Explanation, d.inTheWay()...)
	}
}
