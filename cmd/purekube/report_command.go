package main

import "github.com/spf13/pflag"

func registerReport(inv *invocation, flags *pflag.FlagSet) {
	registerCores(inv, flags)
	registerFailOn(inv, flags, failOns)
	inv.drain.register(flags)
	inv.drain.registerWaves(flags,
		"draw a rolling upgrade of all nodes: which nodes drain together, and in what order")
}

// runReport prints the page or the graphs.
func runReport(inv invocation, sys system) int {
	inv.explain = true
	objects := inv.load(sys)
	rep := inv.report(objects)
	var nodes *nodePicture
	if inv.output == outputHTML && rep.has("disruption") && len(objects.Pods) > 0 {
		if rep.drainsRefused = rep.refuse(objects, drainQuestion("drains", objects)); !rep.drainsRefused {
			nodes = rep.newNodePicture(objects, inv)
		}
	}
	if inv.drain.inWaves {
		rep.waves = rep.pictureWaves(objects, inv)
	}
	rep.sayProblems(inv, sys)
	out := &visibleWriter{w: sys.stdout}
	if inv.output == outputMermaid {
		drawn, err := rep.writeMermaid(out, objects, inv)
		if !drawn && err == nil && len(rep.problems) == 0 {
			sys.say("no graph: -o mermaid draws ClusterRoles that are aggregated and ResourceClaims, and the plan has neither")
		}
		return inv.end(rep, err, sys)
	}
	return inv.end(rep, rep.writeHTML(out, objects, inv, nodes), sys)
}
