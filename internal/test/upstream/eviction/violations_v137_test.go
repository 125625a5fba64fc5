//go:build v137

package eviction

import (
	policyv1 "k8s.io/api/policy/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// stopsAtFirstViolation: the function takes nothing off the budgets of a victim that come after the first violated one.
const stopsAtFirstViolation = true

// onePod is a victim that is one pod, not a PodGroup. The function under test reads its pods only.
type onePod struct {
	preemption.Victim
	pod fwk.PodInfo
}

func (v onePod) Pods() []fwk.PodInfo { return []fwk.PodInfo{v.pod} }

// filterPodsWithPDBViolation asks the function of v1.37, which takes victims in place of pods.
func filterPodsWithPDBViolation(pods []fwk.PodInfo, budgets []*policyv1.PodDisruptionBudget) (violating, nonViolating []fwk.PodInfo) {
	var victims []onePod
	for _, p := range pods {
		victims = append(victims, onePod{pod: p})
	}
	breaking, others := preemption.FilterVictimsWithPDBViolation(victims, budgets)
	for _, v := range breaking {
		violating = append(violating, v.Victim.pod)
	}
	for _, v := range others {
		nonViolating = append(nonViolating, v.pod)
	}
	return violating, nonViolating
}
