package disruption

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
	"github.com/purekube/purekube/internal/test/seed"
)

// manySnapshots says that enough snapshots are drawn to ask whether all kinds of them are among them.
func manySnapshots() bool { return !seed.Single() && !seed.Short() }

// forEachSnapshot runs the property on many random snapshots, each from a seed of its own, in both
// modes; if seed.Short, on a third of them.
func forEachSnapshot(t *testing.T, n int, bad bool, property func(g generator, s Snapshot, o Options) error) {
	t.Helper()
	forEachSnapshotFrom(t, 0, n, bad, property)
}

// forEachSnapshotFrom does the same with later seeds.
func forEachSnapshotFrom(t *testing.T, from uint64, n int, bad bool, property func(g generator, s Snapshot, o Options) error) {
	t.Helper()
	if seed.Short() {
		n = (n + 2) / 3
	}
	for seed := range seed.Range(t, from, n) {
		g := generator{Rand: rand.New(rand.NewPCG(seed, 0)), bad: bad}
		s := g.snapshot()
		for _, o := range []Options{{}, {MatchUpstream: purekube.V1_36}, {MaxUnavailableRounding: RoundDown}} {
			if err := property(g, s, o); err != nil {
				t.Fatalf("-seed %d, %+v: %v", seed, o, err)
			}
		}
	}
}

var errorText = cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })

// D-22: leaving any workloads out of a snapshot and answering the Needs from them gives the plan of the
// whole snapshot. "A workload that is left out costs a lookup" and nothing else.
func TestPropD22_AWorkloadThatIsLeftOutCostsALookUp(t *testing.T) {
	asked := map[string]int{}
	forEachSnapshot(t, 600, false, func(g generator, s Snapshot, o Options) error {
		if o.matchUpstream() {
			return nil
		}
		// Scales of the kinds that the snapshot holds would contradict its objects.
		maps.DeleteFunc(s.Answers, func(k purekube.Need, _ purekube.Answer) bool { return k.Kind != "Cluster" && k.Kind != "Node" })
		part := s
		part.ReplicaSets = some(g, s.ReplicaSets)
		part.Deployments = some(g, s.Deployments)
		part.StatefulSets = some(g, s.StatefulSets)
		part.ReplicationControllers = some(g, s.ReplicationControllers)
		for _, b := range s.Budgets {
			whole, wholeErr := planWithAnswers(s, s, KeyOf(b), o, nil)
			got, err := planWithAnswers(part, s, KeyOf(b), o, asked)
			if diff := cmp.Diff(whole, got) + cmp.Diff(wholeErr, err, errorText); diff != "" {
				return fmt.Errorf("%s (-whole +part): %s", b.Name, diff)
			}
		}
		return nil
	})
	for _, kind := range []string{"ReplicaSet/", "Deployment/scale", "StatefulSet/scale", "ReplicationController/scale", "Cluster/scale"} {
		if manySnapshots() && asked[kind] < 20 {
			t.Errorf("%s is asked for in %d cases only", kind, asked[kind])
		}
	}
}

// some leaves some of the objects out.
func some[T any](g generator, objects []T) []T {
	var kept []T
	for _, o := range objects {
		if g.in(2) {
			kept = append(kept, o)
		}
	}
	return kept
}

// planWithAnswers looks up each need in the cluster until there is none.
func planWithAnswers(s, cluster Snapshot, key purekube.Key, o Options, asked map[string]int) (Result, error) {
	s.Answers = maps.Clone(s.Answers)
	for range 10 {
		r, err := Plan(s, key, o)
		if len(r.Needs) == 0 {
			return r, err
		}
		for _, n := range r.Needs {
			if asked != nil {
				asked[n.Kind+"/"+n.Subresource]++
			}
			s.Answers[n] = lookUp(cluster, n)
		}
	}
	return Result{}, fmt.Errorf("%s: needs without end", key)
}

// lookUp answers a need as an API server that holds these objects would.
func lookUp(cluster Snapshot, n purekube.Need) purekube.Answer {
	replicas := func(o metav1.Object, replicas *int32) purekube.Answer {
		return scaleOf(o.GetUID(), ptr.Deref(replicas, 1))
	}
	is := func(o metav1.Object) bool { return o.GetNamespace() == n.Namespace && o.GetName() == n.Name }
	switch {
	case n.Kind == "ReplicaSet" && n.Subresource == "":
		for _, rs := range cluster.ReplicaSets {
			if is(rs) {
				return purekube.Answer{Object: rs}
			}
		}
	case n.Kind == "Deployment":
		for _, d := range cluster.Deployments {
			if is(d) {
				return replicas(d, d.Spec.Replicas)
			}
		}
	case n.Kind == "StatefulSet":
		for _, ss := range cluster.StatefulSets {
			if is(ss) {
				return replicas(ss, ss.Spec.Replicas)
			}
		}
	case n.Kind == "ReplicationController":
		for _, rc := range cluster.ReplicationControllers {
			if is(rc) {
				return replicas(rc, rc.Spec.Replicas)
			}
		}
	}
	answer, _ := newAnswers(cluster.Answers).find(lookupKeyOf(n))
	return answer
}

// Whatever is wrong: no more is allowed than the healthy pods there are, and what an eviction takes
// is not handed out again when the status is computed next.
func TestPropNeverMoreThanThereIs(t *testing.T) {
	evictions := 0
	forEachSnapshot(t, 300, true, func(g generator, s Snapshot, o Options) error {
		outcomes, _ := PlanAll(s, o)
		for _, out := range outcomes {
			for _, a := range out.Result.Actions {
				update, is := a.(UpdateStatus)
				if !is {
					continue
				}
				st := update.Budget.Status
				if st.DisruptionsAllowed < 0 || st.DisruptionsAllowed > 0 && (st.DisruptionsAllowed > st.CurrentHealthy-st.DesiredHealthy || st.ExpectedPods <= 0) {
					return fmt.Errorf("%v: %+v", out.Key, st)
				}
			}
		}
		for _, p := range s.Pods {
			if p == nil || p.CreationTimestamp.After(s.Now) {
				continue
			}
			e, _ := NewIndex(s, o).CheckEviction(snapshot.KeyOf(p), Recomputed)
			if (e.Update != nil) != (e.Verdict == AllowedWithinBudget) {
				return fmt.Errorf("%s: %+v", p.Name, e)
			}
			if e.Update == nil {
				continue
			}
			evictions++
			before, _ := NewIndex(s, o).Explain(budgetKey(e.Budget))
			next := deepCopy(s)
			for i, b := range next.Budgets {
				if b != nil && snapshot.KeyOf(b) == e.Budget {
					next.Budgets[i] = e.Update
				}
			}
			after, _ := NewIndex(next, o).Explain(budgetKey(e.Budget))
			healthy := slices.ContainsFunc(before.Budget.Pods, func(ph PodHealth) bool { return ph.Name == p.Name && ph.Health == Healthy })
			if healthy && after.Budget.Computed.DisruptionsAllowed != before.Budget.Computed.DisruptionsAllowed-1 {
				return fmt.Errorf("%s: %d could go before, %d can after", p.Name, before.Budget.Computed.DisruptionsAllowed, after.Budget.Computed.DisruptionsAllowed)
			}
		}
		return nil
	})
	if manySnapshots() && evictions < 10 {
		t.Errorf("only %d evictions within budget", evictions)
	}
}
