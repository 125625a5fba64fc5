package lint_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/seed"
	"github.com/purekube/purekube/manifests/lint"
)

// scaling is how many pods a workload has at least and at most.
type scaling struct {
	manifests   string
	least, most int
}

// randomWorkload is a workload with or without an autoscaler, in the namespace default.
func randomWorkload(r *rand.Rand, name string) scaling {
	replicas := r.IntN(12)
	kind := []string{"Deployment", "StatefulSet", "Rollout"}[r.IntN(3)]
	group := map[string]string{"Rollout": "argoproj.io/v1alpha1"}[kind]
	if group == "" {
		group = "apps/v1"
	}
	s := scaling{least: replicas, most: replicas, manifests: fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\n"+
		"spec: {replicas: %d, selector: {matchLabels: {app: %[3]s}}, template: {metadata: {labels: {app: %[3]s}}, spec: {containers: [{name: web, image: web}]}}}\n---\n",
		group, kind, name, replicas)}
	least := 1 + r.IntN(12)
	most := least + r.IntN(12)
	if r.IntN(8) == 0 {
		most = least + r.IntN(100_000)
	}
	target := fmt.Sprintf("scaleTargetRef: {apiVersion: %s, kind: %s, name: %s}", group, kind, name)
	switch r.IntN(3) {
	case 0:
		s.manifests += fmt.Sprintf("apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: %s}\n"+
			"spec: {minReplicas: %d, maxReplicas: %d, %s}\n---\n", name, least, most, target)
		if replicas > 0 { // a HorizontalPodAutoscaler leaves a workload with 0 replicas alone
			s.least, s.most = least, most
		}
	case 1:
		s.manifests += fmt.Sprintf("apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: %s}\n"+
			"spec: {minReplicaCount: %d, maxReplicaCount: %d, %s}\n---\n", name, least, most, target)
		s.least, s.most = least, most
	}
	return s
}

// randomRule is what a budget demands, with how many of n pods it wants to stay.
func randomRule(r *rand.Rand) (rule string, wanted func(n int) int) {
	number, percent := r.IntN(25), r.IntN(101)
	if r.IntN(6) == 0 {
		number, percent = 0, []int{0, 100}[r.IntN(2)]
	}
	if r.IntN(8) == 0 {
		number = r.IntN(100_000)
	}
	up := func(n int) int { return (n*percent + 99) / 100 }
	switch r.IntN(4) {
	case 0:
		return fmt.Sprint("minAvailable: ", number), func(int) int { return number }
	case 1:
		return fmt.Sprintf("minAvailable: %d%%", percent), up
	case 2:
		return fmt.Sprint("maxUnavailable: ", number), func(n int) int { return n - number }
	}
	return fmt.Sprintf("maxUnavailable: %d%%", percent), func(n int) int { return n - up(n) }
}

// The findings about a budget over one to three workloads are what the numbers say: whether a pod may go of the most
// pods that there can be, and of the fewest.
func TestBudgetsOfRandomWorkloads(t *testing.T) {
	met := map[lint.Code]int{}
	n := 5000
	if seed.Short() {
		n = 300
	}
	for s := range seed.Each(t, n) {
		r := rand.New(rand.NewPCG(s, 0))
		var text strings.Builder
		var names []string
		least, most := 0, 0
		for i := range 3 {
			name := fmt.Sprint("w", i)
			w := randomWorkload(r, name)
			text.WriteString(w.manifests)
			if i == 0 || r.IntN(3) == 0 {
				names = append(names, name)
				least, most = least+w.least, most+w.most
			}
		}
		rule, wanted := randomRule(r)
		text.WriteString(budget(rule, "selector: {matchExpressions: [{key: app, operator: In, values: ["+strings.Join(names, ", ")+"]}]}"))

		var want []lint.Code
		never := func(pods int) bool { return pods <= wanted(pods) }
		isPercent := strings.HasSuffix(rule, "%")
		switch {
		case rule == "maxUnavailable: 0" || isPercent && wanted(100) == 100: // all of any number of pods, 0 as well
			want = []lint.Code{lint.BudgetNeverAllows}
		case most == 0: // nothing to judge
		case never(most) && isPercent:
			want = []lint.Code{lint.BudgetRoundsToZero}
		case never(most):
			want = []lint.Code{lint.BudgetNeverAllows}
		case least > 0 && never(least):
			want = []lint.Code{lint.BudgetBlocksAtMinReplicas}
		}
		found := lint.Check(read(t, text.String())).Findings
		require.Equal(t, want, codesOf(found), "%d to %d pods, %s: %v\n%s", least, most, rule, found, text.String())
		for _, code := range want {
			met[code]++
		}
	}
	t.Log(met)
	if !seed.Single() {
		require.Len(t, met, 3)
	}
}

// randomSelector is a selector of a budget, and whether it matches the labels.
func randomSelector(r *rand.Rand) (text string, matches func(map[string]string) bool) {
	key, value := []string{"app", "tier"}[r.IntN(2)], []string{"a", "b", "c"}[r.IntN(3)]
	has := func(l map[string]string) bool { _, has := l[key]; return has }
	switch r.IntN(6) {
	case 0:
		return fmt.Sprintf("{matchExpressions: [{key: %s, operator: In, values: [%s, x]}]}", key, value),
			func(l map[string]string) bool { return l[key] == value }
	case 1:
		return fmt.Sprintf("{matchExpressions: [{key: %s, operator: NotIn, values: [%s]}]}", key, value),
			func(l map[string]string) bool { return l[key] != value }
	case 2:
		return fmt.Sprintf("{matchExpressions: [{key: %s, operator: Exists}]}", key), has
	case 3:
		return fmt.Sprintf("{matchExpressions: [{key: %s, operator: DoesNotExist}]}", key),
			func(l map[string]string) bool { return !has(l) }
	}
	return fmt.Sprintf("{matchLabels: {%s: %s}}", key, value), func(l map[string]string) bool { return l[key] == value }
}

// A budget selects something if it matches the labels of a template, and two budgets overlap if both match the labels of
// a workload that makes pods.
func TestSelectorsOfRandomBudgets(t *testing.T) {
	met := map[lint.Code]int{}
	n := 2000
	if seed.Short() {
		n = 200
	}
	for s := range seed.Each(t, n) {
		r := rand.New(rand.NewPCG(s, 1))
		var text strings.Builder
		type workload struct {
			labels map[string]string
			pods   bool
		}
		var workloads []workload
		for i := range 1 + r.IntN(4) {
			w := workload{labels: map[string]string{}}
			var written []string
			for _, key := range []string{"app", "tier"} {
				if r.IntN(3) > 0 {
					w.labels[key] = []string{"a", "b", "c"}[r.IntN(3)]
					written = append(written, key+": "+w.labels[key])
				}
			}
			kinds := []string{"apps/v1\nkind: Deployment", "apps/v1\nkind: StatefulSet", "apps/v1\nkind: DaemonSet", "batch/v1\nkind: Job", "argoproj.io/v1alpha1\nkind: Rollout"}
			kind := kinds[r.IntN(len(kinds))]
			replicas := r.IntN(4)
			w.pods = replicas > 0
			spec := fmt.Sprintf("replicas: %d, selector: {matchLabels: {name: w%d}}, ", replicas, i)
			switch {
			case strings.HasSuffix(kind, "DaemonSet"):
				spec, w.pods = fmt.Sprintf("selector: {matchLabels: {name: w%d}}, ", i), true
			case strings.HasSuffix(kind, "Job"):
				spec, w.pods = "", true
			}
			fmt.Fprintf(&text, "apiVersion: %s\nmetadata: {name: w%d}\nspec: {%stemplate: {metadata: {labels: {%s}}, spec: {containers: [{name: web, image: web}]}}}\n---\n",
				kind, i, spec, strings.Join(append(written, fmt.Sprintf("name: w%d", i)), ", "))
			workloads = append(workloads, w)
		}
		var want []string
		selected := make([]int, len(workloads))
		var matching [][]int
		for i := range 1 + r.IntN(4) {
			selector, matches := randomSelector(r)
			fmt.Fprintf(&text, "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b%d}\n"+
				"spec: {unhealthyPodEvictionPolicy: AlwaysAllow, minAvailable: 0, selector: %s}\n---\n", i, selector)
			var of []int
			for j, w := range workloads {
				if matches(w.labels) {
					of = append(of, j)
					selected[j]++
				}
			}
			if len(of) == 0 {
				want = append(want, fmt.Sprint("b", i, " ", lint.BudgetSelectsNothing))
			}
			matching = append(matching, of)
		}
		for i, of := range matching {
			for _, j := range of {
				if selected[j] > 1 && workloads[j].pods {
					want = append(want, fmt.Sprint("b", i, " ", lint.BudgetsOverlap))
					break
				}
			}
		}
		var got []string
		for _, f := range lint.Check(read(t, text.String())).Findings {
			got = append(got, f.Object.Name+" "+string(f.Code))
			met[f.Code]++
		}
		require.ElementsMatch(t, want, got, "%s", text.String())
	}
	t.Log(met)
	if !seed.Single() {
		require.Len(t, met, 2)
	}
}
