// Package eviction runs the API server's own eviction handler beside disruption.Index.CheckEviction and drain.Node.
//
//   - TestCheckEviction: one eviction, with any status of the budget.
//   - TestRecipe: sequences of evictions, each decided from the state after the previous evictions.
//   - TestDrainNode: drains of nodes, from kubectl's own filters to the last round.
//   - TestPlacement: nodes for recreated pods, which kube-scheduler's own filters take or refuse, and drain.Node.
//   - TestViolations: the victims of a preemption, sorted by kube-scheduler's own function, and drain.Violations.
//
// README.md has how to run them, what they compare, and what fleet, the folder below, does with all controllers.
//
// In TestRecipe and TestDrainNode the real disruption controller does all that it can between two evictions. The test
// plays kubelets and the controllers of the pods: evicted pods terminate, are gone when the round ends, and are
// recreated elsewhere.
package eviction
