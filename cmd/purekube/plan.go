package main

import (
	"slices"

	"github.com/spf13/pflag"
)

func registerPlan(inv *invocation, flags *pflag.FlagSet) {
	registerCores(inv, flags)
	registerFailOn(inv, flags, failOns)
	flags.BoolVar(&inv.explain, "explain", false, "say why, for every object, also where there is nothing to do")
	flags.BoolVar(&inv.passEmptyBudgets, "ignore-budgets-without-pods", false,
		"with --fail-on never: do not fail for a PodDisruptionBudget that selects no pod of the input")
	flags.BoolVar(&inv.detailedExitCode, "detailed-exitcode", false,
		"add action to --fail-on: exit with status 2 if there is something to do")
	registerWatch(inv, flags)
}

// runPlan prints what the controllers would do.
func runPlan(inv invocation, sys system) int {
	objects := inv.load(sys)
	rep := inv.report(objects)
	rep.sayProblems(inv, sys)
	out := &visibleWriter{w: sys.stdout}
	var err error
	switch inv.output {
	case outputJSON:
		err = rep.writeJSON(out)
	case outputRequests:
		err = rep.writeRequests(out)
	default:
		err = rep.writeText(sys.stdout, palette(sys.colour))
	}
	return inv.end(rep, err, sys)
}

// report plans with the cores that are asked for.
func (inv invocation) report(objects *cluster) *report {
	planned := objects.somethingFor(inv.cores)
	rep := newReport(inv.settings, objects)
	if planned && slices.Contains(inv.failOn, failOnNever) {
		rep.refuse(objects, neverQuestion)
	}
	for _, c := range inv.cores {
		if !planned {
			break // a heading with nothing under it says nothing
		}
		if q := c.questionOf(objects, inv.settings); q != nil && rep.refuse(objects, *q) {
			continue
		}
		section := c.plan(objects, inv.settings)
		section.Core, section.NoObjects = c.name, !objects.has(c.reads)
		rep.add(section, objects)
		rep.note(c, section, objects)
	}
	return rep
}

func (r *report) sayProblems(inv invocation, sys system) {
	sys.sayAll(r.problems)
	if slices.Contains(inv.failOn, failOnNever) {
		r.sayUndecided(sys)
	}
}

// end is the exit status of a command that printed a report.
func (inv invocation) end(rep *report, err error, sys system) int {
	if err != nil {
		sys.say(err)
		return exitInput
	}
	return rep.status(inv.settings)
}
