package disruption

import (
	"math/rand/v2"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
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
		for _, o := range Contract.Options {
			Contract.Check(t, s, o, rand.New(rand.NewPCG(1, 1)))
		}
	})
}
