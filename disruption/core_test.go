package disruption

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
	"github.com/purekube/purekube/internal/test/contract"
)

// Contract is what holds for every Index, for this package.
var Contract = contract.Core[*Index, Snapshot, Action, Options, Explanation]{
	NewIndex: NewIndex, Plan: Plan, PlanAll: PlanAll,
	Options: []Options{{}, {MatchUpstream: purekube.V1_36}, {MaxUnavailableRounding: RoundDown}},
	Draw: func(r *rand.Rand, bad bool) Snapshot {
		s := generator{Rand: r, bad: bad}.snapshot()
		for i, p := range s.Pods {
			if p != nil {
				p.Spec.NodeName = []string{"", "a", "b"}[i%3]
			}
		}
		return s
	},
	Words: []string{"shop", "team", "one", "two", "pod-0", "pod-1", "budget-0", "app", "In", "Exists", "a", "b", "v1", "apps/v1", "x/v1",
		"ReplicaSet", "Deployment", "Node", "0%", "1%", "50%", "100%", "101%", "-1%", "True", "False", "Ready", "DisruptionTarget", "Running",
		"Succeeded", "AlwaysAllow", "IfHealthyBudget"},
	Ask: ask,
	// A pod has no plan if its condition DisruptionTarget needs none and at most one budget covers it.
	Undecided: func(e Explanation) bool {
		return e.Pod != nil && len(e.Pod.Budgets) < 2 && (e.Reasons[0].Code == ReasonNoDisruptionTarget || e.Reasons[0].Code == ReasonDisruptionTargetInUse)
	},
	Also: func(t testing.TB, _ *Index, key purekube.Key, out Outcome, e Explanation) {
		if b := e.Budget; b != nil && b.Failure == "" && len(b.Needs) == 0 {
			healthy := int32(0)
			for _, p := range b.Pods {
				if p.Health == Healthy {
					healthy++
				}
			}
			if healthy != b.Computed.CurrentHealthy {
				t.Fatalf("%s: %d pods are healthy: %+v", key, healthy, *b)
			}
		}
		for _, a := range out.Result.Actions {
			switch a := a.(type) {
			case UpdateStatus:
				a.Apply(a.Budget)
			case ClearDisruptionTarget:
				a.Apply(a.Pod)
			}
		}
	},
	Ignored: cmp.Options{anyTime, cmpopts.IgnoreFields(corev1.PodCondition{}, "LastTransitionTime")},
	Most:    0.3,
	Actions: []string{"UpdateStatus", "ClearDisruptionTarget"},
	Permits: permits,
	// A pod that is left out is a pod that is gone, which takes its controller out of what is expected if it was the last
	// one; a budget that is left out protects nothing. An answer about a workload that the snapshot does not have counts:
	// it is the API server's.
	Statement: func(s Snapshot, how contract.Damage, field string, object runtime.Object) bool {
		o := object.(metav1.Object)
		for need := range s.Answers {
			if need.Kind+"s" == field && need.Namespace == o.GetNamespace() && need.Name == o.GetName() {
				return how != contract.Twice
			}
		}
		return how == contract.LeftOut && (field == "Pods" || field == "Budgets")
	},
	Damaged: unreadable,
}

var anyTime = cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")

func ask(x *Index, s Snapshot) (answers []contract.Answer) {
	// found are pods that the caller gave, and the names that several pods have.
	found := func(question string, pods []*corev1.Pod, duplicates []types.NamespacedName) {
		answers = append(answers, contract.Answer{Question: question, Value: []any{pods, duplicates}, Shares: true})
	}
	for _, node := range []string{"a", "b", "c"} {
		pods, duplicates := x.PodsOnNode(node)
		found("PodsOnNode "+node, pods, duplicates)
	}
	for i, p := range contract.Sorted(s.Pods) {
		budgets, err := x.BudgetsFor(p)
		answers = append(answers, contract.Answer{Question: fmt.Sprintf("BudgetsFor %d", i), Value: budgets, Err: err, Shares: true})
		if p == nil {
			continue
		}
		for _, by := range []Status{AsWritten, Recomputed} {
			eviction, err := x.CheckEviction(snapshot.KeyOf(p), by)
			answers = append(answers, contract.Answer{Question: fmt.Sprintf("CheckEviction %d %s", i, by), Value: []any{eviction, eviction.Verdict.StatusCode()}, Err: err})
		}
		pods, duplicates := x.PodsOfController(p.Namespace, metav1.GetControllerOf(p))
		found(fmt.Sprintf("PodsOfController %d", i), pods, duplicates)
	}
	return answers
}

// permits are how many disruptions each budget allows once its plan is carried out, and which pods may be evicted then. A
// plan that has to look something up, or that there is none of because of an error, allows nothing. An answer that comes
// with an error is a refusal.
func permits(s Snapshot, o Options) map[contract.Permit]int {
	x := NewIndex(s, o)
	allowed := map[contract.Permit]int{}
	for _, b := range s.Budgets {
		if b == nil || b.Name == "" {
			continue
		}
		n := b.Status.DisruptionsAllowed
		plan, err := x.Plan(KeyOf(b))
		switch {
		case len(plan.Needs) > 0, err != nil && len(plan.Actions) == 0:
			n = 0
		case len(plan.Actions) > 0:
			n = plan.Actions[0].(UpdateStatus).Budget.Status.DisruptionsAllowed
		}
		allowed[contract.Permit{Key: KeyOf(b), What: "disruptions"}] = int(n)
	}
	for _, p := range s.Pods {
		if p == nil || p.Name == "" {
			continue
		}
		if e, err := x.CheckEviction(snapshot.KeyOf(p), Recomputed); err == nil && e.Verdict.Allowed() {
			allowed[contract.Permit{Key: KeyOf(p), What: "evict it"}] = 1
		}
	}
	return allowed
}

func unreadable(t testing.TB, s Snapshot, o Options, visit func(what string, damaged Snapshot)) {
	before := permits(s, o)
	// Fewer healthy pods never raise what a budget allows. They may let a pod that is not ready go.
	unready := func(what string, damaged Snapshot) {
		for p, n := range permits(damaged, o) {
			if was, there := before[p]; there && n > max(was, 0) {
				t.Fatalf("with %s, %s: %s: %d, and %d without that", what, p.Key, p.What, n, was)
			}
		}
	}
	for i, p := range s.Pods {
		if p == nil || p.Name == "" {
			continue
		}
		damaged := contract.Copy(s)
		damaged.Pods[i].Status.Conditions = slices.DeleteFunc(damaged.Pods[i].Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady })
		unready("pod "+p.Name+" not ready", damaged)
		more := contract.Copy(s)
		other := damaged.Pods[i].DeepCopy()
		other.Name, other.UID = "one-more", "99"
		more.Pods = append(more.Pods, other)
		unready("a pod more like "+p.Name+" that is not ready", more)
	}
	for i, b := range s.Budgets {
		if b != nil && b.Name != "" {
			damaged := contract.Copy(s)
			damaged.Budgets[i].Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a/b/c": "?"}}
			visit("an unreadable selector in "+b.Name, damaged)
		}
	}
	for need := range s.Answers {
		damaged := s
		damaged.Answers = maps.Clone(s.Answers)
		damaged.Answers[need] = purekube.Answer{Err: errors.New("not now")}
		visit("an error for "+need.String(), damaged)
		damaged.Answers = maps.Clone(s.Answers)
		delete(damaged.Answers, need)
		visit("no answer about "+need.String(), damaged)
	}
}
