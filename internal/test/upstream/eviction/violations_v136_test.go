//go:build !v137

package eviction

import (
	_ "unsafe" // for go:linkname

	policyv1 "k8s.io/api/policy/v1"
	fwk "k8s.io/kube-scheduler/framework"
	_ "k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption" // has the function
)

// stopsAtFirstViolation: the function takes nothing off the budgets of a victim that come after the first violated one.
const stopsAtFirstViolation = false

// The scheduler of v1.36 does not export the function.
//
//go:linkname filterPodsWithPDBViolation k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption.filterPodsWithPDBViolation
func filterPodsWithPDBViolation(pods []fwk.PodInfo, budgets []*policyv1.PodDisruptionBudget) (violating, nonViolating []fwk.PodInfo)
