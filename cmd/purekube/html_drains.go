package main

import (
	"cmp"
	"slices"

	"github.com/purekube/purekube/disruption/drain"
)

// drainTable says how kubectl drain of each node alone would go.
type drainTable struct {
	Command, Totals, Worst string
	// Causes and MoreCauses are what is in the way, the worst first.
	Causes, MoreCauses []drainCause
	// Rows and More are the nodes with something in the way, the worst first. Now drain at once: of a few nodes they are among Rows.
	Rows, More, Now []drainRow
}

// drainCause is a cause, what it stops, and what helps.
type drainCause struct {
	Text, Stops string
	Fixes       []string
}

type drainRow struct {
	Node                         string
	Says                         badge
	Pods, Evicted, Skipped, Stay int
	// Lines and More are what is in the way; Rounds are the pods of each round.
	Lines, More, Rounds []string
}

func (r *report) newDrainTable(c *cluster, inv invocation) *drainTable {
	request := drainRequest{nodes: []string{allNodes}, flags: inv.drain.flags}
	f := newFleet(c, inv.settings)
	names, undecided := request.decidable(f, request.names(f))
	for _, p := range undecided {
		r.addProblem(p)
	}
	// What is wrong with the input is among the problems of the report.
	r.noteNodes(c)
	all, _ := request.each(f, names)
	drains, empty := withPods(all)
	t := &drainTable{Command: request.command(), Totals: drainTotals(drains, empty), Worst: classOK}
	for _, b := range request.blockers(f, f.index, played(all)) {
		cause := drainCause{Text: causeText(b), Stops: stopsText(b, namesListed)}
		for _, fix := range b.Fixes {
			cause.Fixes = append(cause.Fixes, fixText(b, fix))
		}
		t.Causes = append(t.Causes, cause)
	}
	t.Causes, t.MoreCauses = cut(t.Causes, causesOfMany)
	slices.SortStableFunc(drains, func(a, b nodeDrain) int { return cmp.Compare(a.rank(), b.rank()) })
	for _, d := range drains {
		row := drainRow{
			Node: d.node, Says: badge{d.class(), d.says()}, Pods: d.pods, Evicted: d.evicted(), Skipped: len(d.Skipped), Stay: d.stay(), Lines: d.inTheWay(),
		}
		if len(row.Lines) > linesAtMost {
			row.Lines, row.More = row.Lines[:linesAtMost], row.Lines[linesAtMost:]
		}
		if len(t.Rows) < shownAtMost {
			row.Rounds = d.rounds()
		}
		if d.Outcome == drain.Now && len(row.Lines) == 0 && len(drains) > shownAtMost {
			row.Rounds = nil
			t.Now = append(t.Now, row)
		} else if len(t.Rows) == shownAtMost {
			t.More = append(t.More, row)
		} else {
			t.Rows = append(t.Rows, row)
		}
		if rank(row.Says.Class) < rank(t.Worst) {
			t.Worst = row.Says.Class
		}
	}
	return t
}

// class is of the badge with the outcome.
func (d nodeDrain) class() string {
	switch d.Outcome {
	case drain.Now:
		return classOK
	case drain.InRounds, drain.Unknown:
		return classNote
	case drain.NoOutcome, drain.Never, drain.LeavesPending, drain.NotStarted, drain.RoundsExhausted:
	}
	return classBad
}

// rank sorts drains, the worst first.
func (d nodeDrain) rank() int {
	return slices.Index([]drain.Outcome{
		drain.Never, drain.LeavesPending, drain.NotStarted, drain.RoundsExhausted, drain.NoOutcome, drain.Unknown, drain.InRounds, drain.Now,
	}, d.Outcome)
}
