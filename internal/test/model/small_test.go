package model

import (
	"slices"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/resourceclaim"
)

// smallWorlds are parts of larger worlds. A search through one of them comes to its end with a cache lag of one. The
// faults are those of the larger world: writes are refused, answers are lost, and the controller stops, as often as
// they like.
func smallWorlds() []Scenario {
	team := func(name string, pods ...string) Scenario {
		w := podGroupWorld(resourceclaim.Options{}).withPods(pods...)
		w.Name = "PodGroups, " + name
		return w
	}
	return []Scenario{
		// All events of "PodGroups of team-0". The pod and the PodGroup are made once, so that neither comes back under
		// its name.
		team("made once", "team-0").atMost(1, "pod created", "group created"),
		// The pod comes back under its name, and finds the claim of its PodGroup. Nobody deletes a claim or binds a pod
		// by hand, and the PodGroup does not come back.
		team("the pod is recreated", "team-0").without("claim deleted", "pod bound by hand").
			atMost(1, "group created").atMost(2, "pod created"),
		// The PodGroup comes back under its name, with another UID, and the pod of the PodGroup before does not.
		team("the PodGroup is recreated", "team-0").without("claim deleted", "pod bound by hand").
			atMost(2, "group created").atMost(1, "pod created"),
		// Two pods share the claim of their PodGroup; one of them may be deleted while the other one runs. Pods do not
		// finish, and the PodGroup does not come back.
		team("two pods", "team-0", "mate-0").without("claim deleted", "pod bound by hand", "pod finished").
			atMost(1, "group created").atMost(2, "pod created"),
		// A StatefulSet of two, one of which may be unavailable: the second pod is evicted when the first one is back.
		// The user forbids disruptions at any moment. There is no second budget, no Deployment and so no scaling, and
		// no preemption.
		oneBudgetWorld(disruption.Options{}).without("preempted"),
		// The same with the scheduler's preemption in place of the user's change.
		oneBudgetWorld(disruption.Options{}).without("budget changed").named(", preempted"),
	}
}

// oneBudgetWorld is the StatefulSet db of budgetWorld and its budget.
func oneBudgetWorld(o disruption.Options) Scenario {
	w := budgetWorld(o).without("scaled")
	w.Name = "PodDisruptionBudgets, one budget"
	w.Objects = slices.DeleteFunc(slices.Clone(w.Objects), func(o Object) bool {
		return o.GetName() != "db" && o.GetLabels()["app"] != "db"
	})
	return w
}
