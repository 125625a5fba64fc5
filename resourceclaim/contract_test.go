package resourceclaim

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/test/contract"
)

// Contract is what holds for every Index, for this package.
var Contract = contract.Core[*Index, Snapshot, Action, Options, Explanation]{
	NewIndex: NewIndex, Plan: Plan, PlanAll: PlanAll,
	Options: []Options{{}, grouped, {MatchUpstream: purekube.V1_36}, {MatchUpstream: purekube.V1_37, PodGroupOf: groupOfLabel},
		{DenyAdminAccess: true, DenyPrioritizedList: true}},
	Draw: func(r *rand.Rand, bad bool) Snapshot {
		g := generator{r, !bad}
		s := g.snapshot()
		if r.IntN(2) == 0 {
			s = g.withGroups(s)
		}
		return s
	},
	Words: []string{"p0", "p1", "c0", "c1", "e0", "e1", "t0", "g0", "g1", "uid-p0", "uid-g0", "pods", "podgroups", "v1", "Pod", "PodGroup",
		"Succeeded", "Running", resourcev1.Finalizer, "scheduling.k8s.io", "scheduling.k8s.io/v1beta1"},
	Ask: func(x *Index, s Snapshot) (answers []contract.Answer) {
		for i, p := range contract.Sorted(s.Pods) {
			claims, made, err := x.Materialize(p, func(entry string) string { return "made-" + entry })
			answers = append(answers, contract.Answer{Question: fmt.Sprintf("Materialize %d", i), Value: []any{claims, made}, Err: err})
		}
		return answers
	},
	Also: func(t testing.TB, x *Index, key purekube.Key, out Outcome, e Explanation) {
		checkRequests(t, out.Result.Actions)
		_, planErr := x.Plan(key)
		_, err := x.Explain(key)
		require.Equal(t, errorText(planErr), errorText(err), "Explain and Plan agree on what is wrong with %s", key)
		require.True(t, len(out.Result.Events) == 0 || out.Err != nil, "an event comes with the error of a failure that goes on")
		require.True(t, out.Err == nil || len(e.Reasons) > 0, "what is wrong with %s stands among the reasons", key)
	},
	Most:      0.4,
	Actions:   []string{"CreateClaim", "SetClaimStatuses", "Reserve", "Release", "RemoveFinalizer", "DeleteClaim"},
	Missing:   []Options{{}, grouped},
	Unread:    func(o Options, kind string) bool { return kind == "PodGroup" && o.PodGroupOf == nil },
	Permits:   takes,
	Statement: isStatement,
	Damaged:   unreadable,
}

// takes are what the plans for claims take away.
func takes(s Snapshot, o Options) map[contract.Permit]int {
	taken := map[contract.Permit]int{}
	plans, _ := PlanAll(s, o)
	for _, p := range plans {
		add := func(format string, args ...any) {
			taken[contract.Permit{Key: p.Key, What: fmt.Sprintf(format, args...)}] = 1
		}
		if len(p.Result.Needs) > 0 {
			add(contract.Anything)
		}
		for _, a := range p.Result.Actions {
			switch a := a.(type) {
			case Release:
				for _, r := range a.Removed {
					add("release it from %s %s", r.Name, r.UID)
				}
				if a.Deallocate {
					add("deallocate it")
				}
			case RemoveFinalizer:
				add("remove its finalizer")
			case DeleteClaim:
				add("delete it")
			}
		}
	}
	return taken
}

// isStatement passes over a claim that two of the slices have: without the newer version the older one is planned, and its
// resourceVersion is refused. So it does with a pod that the API server was asked about: its answer counts without the
// pod; and with a pod that is left out and whose PodGroup it was asked about: where that is gone, nothing but the pod
// shows that a claim of the PodGroup is in use.
func isStatement(s Snapshot, how contract.Damage, _ string, object runtime.Object) bool {
	switch o := object.(type) {
	case *resourcev1.ResourceClaim:
		versions := 0
		for _, c := range slices.Concat(s.Claims, s.Assumed) {
			if c != nil && KeyOf(c) == KeyOf(o) {
				versions++
			}
		}
		return versions > 1
	case *corev1.Pod:
		return answered(s, "Pod", o.Namespace, o.Name) || how == contract.LeftOut && answered(s, "PodGroup", o.Namespace, groupOfLabel(o))
	}
	return false
}

// answered reports whether the API server was asked for that object.
func answered(s Snapshot, kind, namespace, name string) bool {
	for need := range s.Answers {
		if need.Kind == kind && need.Namespace == namespace && need.Name == name {
			return true
		}
	}
	return false
}

func unreadable(t testing.TB, s Snapshot, o Options, visit func(what string, damaged Snapshot)) {
	for need, answer := range s.Answers {
		damaged := s
		damaged.Answers = maps.Clone(s.Answers)
		delete(damaged.Answers, need)
		visit("no answer about "+need.String(), damaged)
		if answer.Err != nil {
			continue // it is none
		}
		for what, none := range map[string]purekube.Answer{"an error": {Err: errors.New("timeout")}, "a nil pod": {Object: (*corev1.Pod)(nil)}, "another type": {Object: need}} {
			damaged.Answers = maps.Clone(s.Answers)
			damaged.Answers[need] = none
			visit(what+" for the answer about "+need.String(), damaged)
		}
	}
	for i, g := range s.PodGroups {
		twice := func(other PodGroup) bool { return other.Namespace == g.Namespace && other.Name == g.Name }
		if slices.ContainsFunc(s.PodGroups[i+1:], twice) || slices.ContainsFunc(s.PodGroups[:i], twice) || answered(s, "PodGroup", g.Namespace, g.Name) {
			continue // one the less is one thing the less that is wrong
		}
		damaged := s
		damaged.PodGroups = slices.Delete(slices.Clone(s.PodGroups), i, i+1)
		visit("no PodGroup "+g.Name, damaged)
		for what, damage := range map[string]func(g *PodGroup){
			"no name": func(g *PodGroup) { g.Name = "" }, "no UID": func(g *PodGroup) { g.UID = "" },
			"no entries": func(g *PodGroup) { g.ResourceClaims = nil }, "no statuses": func(g *PodGroup) { g.ResourceClaimStatuses = nil },
		} {
			damaged.PodGroups = slices.Clone(s.PodGroups)
			damage(&damaged.PodGroups[i])
			visit(what+" in PodGroup "+g.Name, damaged)
		}
	}
	if len(s.Answers) == 0 {
		damaged := s
		// A claim of a pod that is done, and is in both, is left to the garbage collector. Without the record, it is deleted.
		done := sets.New[types.UID]()
		for _, p := range s.Pods {
			if p != nil && podstate.Done(p) {
				done.Insert(p.UID)
			}
		}
		damaged.Deleted = s.Deleted.Intersection(done)
		visit("deleted pods forgotten", damaged)
	}
	for i, p := range s.Pods {
		if p != nil && p.UID != "" && !answered(s, "Pod", p.Namespace, p.Name) {
			damaged := contract.Copy(s)
			damaged.Pods[i].UID = ""
			visit("no UID in pod "+p.Name, damaged)
		}
	}
	for i, c := range s.Claims {
		if c == nil {
			continue
		}
		for j := range c.Status.ReservedFor {
			damaged := contract.Copy(s)
			damaged.Claims[i].Status.ReservedFor[j].UID = ""
			visit(fmt.Sprintf("no UID in reservedFor[%d] of %s", j, c.Name), damaged)
			damaged = contract.Copy(s)
			damaged.Claims[i].Status.ReservedFor[j].Resource = "what"
			visit(fmt.Sprintf("another resource in reservedFor[%d] of %s", j, c.Name), damaged)
		}
		liveConsumer(t, s, i, o, visit)
	}
}

// liveConsumer: a claim that one live consumer more reserves loses nothing that it keeps without that one, and neither its
// allocation nor its finalizer nor itself.
func liveConsumer(t testing.TB, s Snapshot, i int, o Options, visit func(what string, damaged Snapshot)) {
	c := s.Claims[i]
	if c.Name == "" || NewIndex(s, o).Err() != nil || len(s.Assumed) > 0 {
		return
	}
	for _, p := range s.Pods {
		if p.Namespace != c.Namespace || p.UID == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed ||
			p.DeletionTimestamp != nil || s.Deleted.Has(p.UID) {
			continue
		}
		more := contract.Copy(s)
		more.Claims[i].Status.ReservedFor = append(more.Claims[i].Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: p.Name, UID: p.UID})
		what := fmt.Sprintf("%s in reservedFor of %s", p.Name, c.Name)
		visit(what, more)
		after := takes(more, o)
		for _, takes := range []string{"deallocate it", "remove its finalizer", "delete it"} {
			if c.Status.Allocation != nil && after[contract.Permit{Key: KeyOf(c), What: takes}] > 0 {
				t.Fatalf("with %s, the plan is: %s", what, takes)
			}
		}
	}
}

func TestContract(t *testing.T)              { Contract.Test(t, 400) }
func TestIndexInManyGoroutines(t *testing.T) { Contract.TestGoroutines(t) }
func TestNeverMorePermissive(t *testing.T)   { Contract.TestMissing(t) }
func FuzzWholeSnapshot(f *testing.F)         { Contract.Fuzz(f) }
