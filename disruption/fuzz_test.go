package disruption

import (
	"math/rand/v2"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/snapshot"
)

// FuzzAmounts: no string makes more go than there are, or fewer than none stay.
func FuzzAmounts(f *testing.F) {
	for _, s := range []string{"", "%", "0", "0%", "30%", "100%", "-1%", "1e9%", "9223372036854775807%", "+5%", " 5%", "٣%"} {
		f.Add(s, int32(7), false)
		f.Add(s, int32(1<<31-1), true)
	}
	f.Fuzz(func(t *testing.T, text string, expected int32, down bool) {
		r := RoundUp
		if down {
			r = RoundDown
		}
		expected = max(0, expected)
		v := ptr.To(intstr.FromString(text))
		desired, err := DesiredHealthy(policyv1.PodDisruptionBudgetSpec{MaxUnavailable: v}, expected, r)
		if err == nil && (desired < 0 || desired > expected) {
			t.Errorf("maxUnavailable %q of %d: %d", text, expected, desired)
		}
		least, err := DesiredHealthy(policyv1.PodDisruptionBudgetSpec{MinAvailable: v}, expected, r)
		if err == nil && least < 0 {
			t.Errorf("minAvailable %q of %d: %d", text, expected, least)
		}
	})
}

// FuzzManifests: objects as people write them never make anything panic.
func FuzzManifests(f *testing.F) {
	f.Add("metadata: {name: a, labels: {app: web}, ownerReferences: [{apiVersion: a/b/c, kind: ReplicaSet, name: x, uid: u, controller: true}]}\nstatus: {phase: Running}",
		"metadata: {name: b}\nspec: {maxUnavailable: 30%, selector: {matchLabels: {app: web}}}\nstatus: {disruptedPods: {a: null}}")
	f.Add("metadata: {name: a}", "spec: {selector: {matchExpressions: [{key: app, operator: In}]}, minAvailable: many}")
	f.Add("status: {conditions: [{type: DisruptionTarget, status: 'True'}]}", "spec: {selector: {}, minAvailable: -1}\nstatus: {disruptionsAllowed: -3}")
	f.Fuzz(func(t *testing.T, podText, budgetText string) {
		var p corev1.Pod
		var b policyv1.PodDisruptionBudget
		if yaml.Unmarshal([]byte(podText), &p) != nil || yaml.Unmarshal([]byte(budgetText), &b) != nil {
			return
		}
		s := Snapshot{Now: now, Pods: []*corev1.Pod{&p, pod("z")}, Budgets: []*policyv1.PodDisruptionBudget{&b}}
		exercise(s, Options{})
		exercise(s, Options{MatchUpstream: purekube.V1_36})
	})
}

// FuzzSnapshots: seeds instead of luck.
func FuzzSnapshots(f *testing.F) {
	f.Add(uint64(1), true)
	f.Fuzz(func(t *testing.T, seed uint64, bad bool) {
		s := generator{Rand: rand.New(rand.NewPCG(seed, 1)), bad: bad}.snapshot()
		exercise(s, Options{})
		exercise(s, Options{MatchUpstream: purekube.V1_36})
	})
}

// exercise calls everything and renders what comes back.
func exercise(s Snapshot, o Options) {
	outcomes, _ := PlanAll(s, o)
	for _, out := range outcomes {
		for _, a := range out.Result.Actions {
			_ = a.String()
			a.Request(nil)
			switch a := a.(type) {
			case UpdateStatus:
				a.Apply(a.Budget)
			case ClearDisruptionTarget:
				a.Apply(a.Pod)
			}
		}
	}
	for _, b := range s.Budgets {
		_, _ = NewIndex(s, o).Explain(KeyOf(b))
	}
	for _, p := range s.Pods {
		_, _ = NewIndex(Snapshot{Budgets: s.Budgets}, Options{}).BudgetsFor(p)
		_, _ = NewIndex(s, o).Explain(KeyOf(p))
		if p != nil {
			_, _ = NewIndex(s, o).CheckEviction(snapshot.KeyOf(p), AsWritten)
			_, _ = NewIndex(s, o).CheckEviction(snapshot.KeyOf(p), Recomputed)
		}
	}
}
