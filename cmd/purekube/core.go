package main

import (
	"fmt"
	"slices"
	"strings"
)

// core is one of the library's packages as this program shows it.
type core struct {
	// name is the package's, and what --core takes.
	name string
	// plan says what the controller would do, sorted by object.
	plan func(*cluster, settings) section
	// reads are the kinds that the plan depends on, explains the kinds that it is about.
	reads, explains []string
	// divergences are the D-numbers of docs/divergences.md.
	divergences string
}

// cores are planned in this order: what stops an upgrade first, annotations last. A further one is a line here and a
// file of its own.
var cores = []core{
	{"disruption", planDisruption,
		[]string{"PodDisruptionBudget", "Pod", "ReplicaSet", "Deployment", "StatefulSet", "ReplicationController"},
		[]string{"PodDisruptionBudget", "Pod"}, "D-12 … D-15, D-18, D-19, D-22 … D-24, D-29, D-39"},
	{"resourceclaim", planResourceClaim, []string{"ResourceClaim", "ResourceClaimTemplate", "Pod"},
		[]string{"ResourceClaim", "Pod"},
		"D-5 … D-10, D-16, D-17, D-21, D-26 … D-28, D-31 … D-34, D-36 … D-38"},
	{"rbacaggregate", planRBACAggregate, []string{"ClusterRole"}, []string{"ClusterRole"}, "D-11, D-20, D-26, D-35"},
	{"servicecidr", planServiceCIDR, []string{"ServiceCIDR", "IPAddress"}, []string{"ServiceCIDR"},
		"D-1 … D-4, D-25, D-26"},
	{"ttl", planTTL, []string{"Node"}, []string{"Node"}, ""},
}

func coreNames() []string {
	names := make([]string, len(cores))
	for i, c := range cores {
		names[i] = c.name
	}
	return names
}

// selectCores returns the cores of these names in the order of the list; all of them for
// no name.
func selectCores(names []string) ([]core, error) {
	for _, name := range names {
		if !slices.Contains(coreNames(), name) {
			return nil, fmt.Errorf("--core %q: must be one of %s", name, strings.Join(coreNames(), ", "))
		}
	}
	if len(names) == 0 {
		return cores, nil
	}
	selected := []core{}
	for _, c := range cores {
		if slices.Contains(names, c.name) {
			selected = append(selected, c)
		}
	}
	return selected, nil
}
