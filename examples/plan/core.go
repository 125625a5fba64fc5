package main

import (
	"fmt"
	"slices"
	"strings"
)

// core is one of the library's packages as this program shows it.
type core struct {
	// name is the package's, and what -core takes.
	name string
	// plan says what the controller would do, sorted by object.
	plan func(*cluster, settings) section
	// reads are the kinds that the plan rests on.
	reads []string
}

// cores are planned in this order. A further one is a line here and a file of its own.
var cores = []core{
	{"servicecidr", planServiceCIDR, []string{"ServiceCIDR", "IPAddress"}},
	{"resourceclaim", planResourceClaim, []string{"ResourceClaim", "ResourceClaimTemplate", "Pod"}},
	{"ttl", planTTL, []string{"Node"}},
	{"rbacaggregate", planRBACAggregate, []string{"ClusterRole"}},
	{"disruption", planDisruption, []string{"PodDisruptionBudget", "Pod", "ReplicaSet", "Deployment", "StatefulSet", "ReplicationController"}},
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
			return nil, fmt.Errorf("-core %q: there is %s", name, strings.Join(coreNames(), ", "))
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
