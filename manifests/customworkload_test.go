package manifests

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
)

func budgetYAML(name, rule string) string {
	return workloadYAML("policy/v1", "PodDisruptionBudget", name, rule+", selector: {matchLabels: {app: a}}")
}

// budgetOf is what the budget "web" of the set says.
func budgetOf(t *testing.T, set *Set) *disruption.BudgetExplanation {
	t.Helper()
	e, err := disruption.NewIndex(set.Disruption(time.Unix(0, 0)), disruption.Options{}).Explain(disruption.BudgetKey("shop", "web"))
	require.NoError(t, err)
	return e.Budget
}

func noteTexts(set *Set) []string {
	var texts []string
	for _, n := range set.Notes {
		texts = append(texts, n.String())
	}
	return texts
}

// A Rollout is a workload: it gets its pods, and a budget over all of them never lets a node drain.
func TestAtFullHealthOfACustomWorkload(t *testing.T) {
	const rollout = "replicas: 3, "
	for _, tc := range []struct{ name, reason, spec string }{
		{"with a selector", "as a Rollout and a CloneSet have", rollout + template},
		{"without a selector", "it is not needed to make pods", rollout + template[len("selector: {matchLabels: {app: a}}, "):]},
		{"with a selector of another type", "what it means is not known", rollout + "selector: app=a, " + template[len("selector: {matchLabels: {app: a}}, "):]},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set := loaded(t, nodesYAML("n1", "n2", "n3")+workloadYAML("argoproj.io/v1alpha1", "Rollout", "web", tc.spec)+budgetYAML("web", "minAvailable: 3"))
			require.Empty(t, set.Ignored)
			full, err := set.AtFullHealth()
			require.NoError(t, err)
			require.Equal(t, []string{"web-00000@n1", "web-00001@n2", "web-00002@n3"}, podsOn(full), tc.reason)
			b := budgetOf(t, full)
			require.True(t, b.Never)
			require.Empty(t, b.Needs, "the object has its scale")
			d, _, err := drain.Node(disruption.NewIndex(full.Disruption(time.Unix(0, 0)), disruption.Options{}), "n1", drain.Options{})
			require.NoError(t, err)
			require.Equal(t, drain.Never, d.Outcome)
			require.Equal(t, []string{"standard input:14: document 5: Rollout shop/web: no package knows this kind: its pods are made from spec.template and spec.replicas"}, noteTexts(full))
			require.Empty(t, set.Notes, "the set itself does not change")
		})
	}
	set := loaded(t, workloadYAML("apps.kruise.io/v1alpha1", "CloneSet", "web", template)+
		workloadYAML("autoscaling/v2", "HorizontalPodAutoscaler", "web", "minReplicas: 2, maxReplicas: 4, scaleTargetRef: {apiVersion: apps.kruise.io/v1alpha1, kind: CloneSet, name: web}"))
	full, err := set.AtFullHealth()
	require.NoError(t, err)
	require.Len(t, full.Pods, 2, "an autoscaler says how many")
	for _, spec := range []string{"replicas: 3", "replicas: 3, template: {spec: {image: x}}", "replicas: many, template: x"} {
		full, err := loaded(t, workloadYAML("example.com/v1", "Thing", "x", spec)).AtFullHealth()
		require.NoError(t, err)
		require.Empty(t, full.Pods, spec)
	}
	for replicas, want := range map[string]string{
		"replicas: -1, ":   "must be 0 or more, is -1",
		"":                 "must be a number, unless the input has an autoscaler: otherwise, how many pods there are is not known",
		"replicas: many, ": "must be a number, unless the input has an autoscaler: otherwise, how many pods there are is not known",
	} {
		_, err = loaded(t, workloadYAML("example.com/v1", "Thing", "x", replicas+template)).AtFullHealth()
		require.ErrorContains(t, err, "Thing shop/x: spec.replicas: "+want)
	}
}

// The scale of an object that is in the input is used, and only if it is certain that the object is the controller.
func TestScaleOfAnObjectOfTheInput(t *testing.T) {
	kafka := func(version, uid, spec string) string {
		return fmt.Sprintf("---\napiVersion: kafka.strimzi.io/%s\nkind: Kafka\nmetadata: {namespace: shop, name: k, uid: %s}\nspec: {%s}\n", version, uid, spec)
	}
	pod := func(name, uid string) string {
		return fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {namespace: shop, name: %s, labels: {app: a}, ownerReferences: [{apiVersion: kafka.strimzi.io/v1, kind: Kafka, name: k, uid: %s, controller: true}]}\n"+
			"status: {phase: Running, conditions: [{type: Ready, status: \"True\"}]}\n", name, uid)
	}
	pods := pod("a", "u1") + pod("b", "u1") + pod("c", "u1") + budgetYAML("web", "maxUnavailable: 1")
	open := budgetOf(t, loaded(t, pods))
	require.NotEmpty(t, open.Needs)
	for _, tc := range []struct {
		name, reason, input string
		allowed             int32
		answered            bool
	}{
		{"there", "three of three are healthy", kafka("v1", "u1", "replicas: 3") + pods, 1, true},
		{"in another version", "a scale has no version", kafka("v1beta2", "u1", "replicas: 3") + pods, 1, true},
		{"wants more", "one pod is missing already", kafka("v1", "u1", "replicas: 4") + pods, 0, true},
		{"without replicas", "it says nothing", kafka("v1", "u1", "image: x") + pods, 0, false},
		{"replicas of another type", "the same", kafka("v1", "u1", "replicas: {a: 1}") + pods, 0, false},
		{"negative", "an API server rejects it", kafka("v1", "u1", "replicas: -3") + pods, 0, false},
		{"another of that name", "it is not the controller", kafka("v1", "u2", "replicas: 0") + pods, 0, false},
		{"without a UID", "whether it is the controller is not known", kafka("v1", `""`, "replicas: 0") + pods, 0, false},
		{"twice", "which one counts is not known", kafka("v1", "u1", "replicas: 0") + kafka("v1beta2", "u1", "replicas: 0") + pods, 0, false},
		{"one pod of a predecessor", "the answer would be about both", kafka("v1", "u1", "replicas: 0") + pod("d", "u0") + pods, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set := loaded(t, tc.input)
			b := budgetOf(t, set)
			require.Equal(t, tc.allowed, b.Computed.DisruptionsAllowed, tc.reason)
			require.Equal(t, tc.answered, len(set.answers()) > 0)
			if tc.answered {
				require.Empty(t, b.Needs)
				require.Contains(t, noteTexts(set)[0], "Kafka shop/k: spec.replicas: taken as the scale of an object of a kind that no package knows")
			} else {
				require.Equal(t, open.Needs, b.Needs, "open, as without the object")
				require.Equal(t, len(set.CustomWorkloads) > 0, len(set.Notes) > 0, "why the object does not answer")
				for _, note := range noteTexts(set) {
					require.Contains(t, note, "Kafka shop/k: its scale is not known: ")
				}
			}
		})
	}
}

// Hooks of Helm are not there most of the time: with them a budget would look better.
func TestHelmHooksAreLeftOut(t *testing.T) {
	const hook = "annotations: {helm.sh/hook: test}, "
	chart := workloadYAML("apps/v1", "Deployment", "web", "replicas: 1, "+template) + budgetYAML("web", "minAvailable: 1")
	hooks := "---\napiVersion: v1\nkind: Pod\nmetadata: {" + hook + "namespace: shop, name: web-test, labels: {app: a}}\nspec: {containers: [{name: c}]}\n" +
		"---\napiVersion: batch/v1\nkind: Job\nmetadata: {" + hook + "namespace: shop, name: upgrade}\nspec: {" + template[len("selector: {matchLabels: {app: a}}, "):] + "}\n"
	full, err := loaded(t, chart+hooks).AtFullHealth()
	require.NoError(t, err)
	require.Len(t, full.Pods, 1)
	require.True(t, budgetOf(t, full).Never)
	require.Len(t, loaded(t, hooks).Pods, 1, "only at full health")

	there := loaded(t, "---\napiVersion: v1\nkind: Pod\nmetadata: {"+hook+"namespace: shop, name: web-test, uid: a, resourceVersion: \"1\"}\n")
	full, err = there.AtFullHealth()
	require.NoError(t, err)
	require.Len(t, full.Pods, 1, "one that an API server returned is there")
}

// The pods of Jobs and DaemonSets make no budget better than it is without them, whatever its rule.
func TestPodsWithoutAScaleMakeNoBudgetBetter(t *testing.T) {
	others := nodesYAML("n1", "n2") + workloadYAML("apps/v1", "DaemonSet", "agent", template) +
		workloadYAML("batch/v1", "Job", "load", "parallelism: 3, completions: 3, "+template[len("selector: {matchLabels: {app: a}}, "):]) +
		workloadYAML("batch/v1", "CronJob", "night", "schedule: \"0 0 * * *\", jobTemplate: {spec: {"+template[len("selector: {matchLabels: {app: a}}, "):]+"}}")
	for _, rule := range []string{"minAvailable: 1", "minAvailable: 2", "minAvailable: 50%", "maxUnavailable: 1", "maxUnavailable: 0", "maxUnavailable: 100%"} {
		for _, selector := range []string{"selector: {matchLabels: {app: a}}", "selector: {}"} {
			t.Run(rule+" "+selector, func(t *testing.T) {
				chart := workloadYAML("apps/v1", "Deployment", "web", "replicas: 2, "+template) + workloadYAML("policy/v1", "PodDisruptionBudget", "web", rule+", "+selector)
				alone, err := loaded(t, nodesYAML("n3")+chart).AtFullHealth()
				require.NoError(t, err)
				beside, err := loaded(t, others+chart).AtFullHealth()
				require.NoError(t, err)
				require.Equal(t, 7, len(beside.Pods), "two of each kind of DaemonSet and Deployment, and three of the Job")
				a := budgetOf(t, alone)
				e, _ := disruption.NewIndex(beside.Disruption(time.Unix(0, 0)), disruption.Options{}).Explain(disruption.BudgetKey("shop", "web"))
				require.LessOrEqual(t, e.Budget.Computed.DisruptionsAllowed, a.Computed.DisruptionsAllowed)
				if strings.HasPrefix(rule, "minAvailable: ") && !strings.HasSuffix(rule, "%") {
					require.Equal(t, a.Never, e.Budget.Never)
					require.NotEmpty(t, beside.Notes)
				}
			})
		}
	}
	alone := loaded(t, workloadYAML("batch/v1", "Job", "load", "parallelism: 3, completions: 3, "+template[len("selector: {matchLabels: {app: a}}, "):])+budgetYAML("web", "minAvailable: 3"))
	full, err := alone.AtFullHealth()
	require.NoError(t, err)
	require.Len(t, budgetOf(t, full).Pods, 3, "a budget for the pods of a Job alone has them")
}

// A drain meets the pods that a budget does not count, even where the budget selects pods without labels: a DaemonSet stops it.
func TestPodsThatABudgetDoesNotCountAreInDrains(t *testing.T) {
	for _, selector := range []string{"selector: {matchLabels: {app: a}}", "selector: {}", "selector: {matchExpressions: [{key: app, operator: NotIn, values: [b]}]}"} {
		for _, tc := range []struct {
			name, workload string
			want           drain.Outcome
			evicted        int
		}{
			{"DaemonSet", workloadYAML("apps/v1", "DaemonSet", "agent", template), drain.NotStarted, 0},
			{"Job", workloadYAML("batch/v1", "Job", "load", template[len("selector: {matchLabels: {app: a}}, "):]), drain.Now, 1},
		} {
			t.Run(tc.name+" "+selector, func(t *testing.T) {
				set := loaded(t, nodesYAML("n1", "n2")+workloadYAML("apps/v1", "Deployment", "web", "replicas: 1, "+template)+tc.workload+
					workloadYAML("policy/v1", "PodDisruptionBudget", "web", "minAvailable: 1, "+selector))
				full, err := set.AtFullHealth()
				require.NoError(t, err)
				require.True(t, budgetOf(t, full).Never, "as without them")
				x := disruption.NewIndex(full.Disruption(time.Unix(0, 0)), disruption.Options{})
				d, _, err := drain.Node(x, "n2", drain.Options{})
				require.NoError(t, err)
				require.Equal(t, tc.want, d.Outcome)
				require.Len(t, slices.Concat(d.Rounds...), tc.evicted)
				require.Contains(t, noteTexts(full)[0], "the PodDisruptionBudget web does not select its pods here")
				require.NotContains(t, set.Budgets[0].String(), uncounted, "the set itself does not change")
				again, err := full.AtFullHealth()
				require.NoError(t, err)
				require.Equal(t, full.Objects(), again.Objects(), "nothing is missing any more")
			})
		}
	}
}

// All budgets that count a pod leave it out, whatever their own selectors say of the label, and one note says so.
func TestBudgetsThatDoNotCountAPod(t *testing.T) {
	full, err := loaded(t, workloadYAML("apps/v1", "Deployment", "web", "replicas: 1, "+template)+
		workloadYAML("batch/v1", "Job", "load", template[len("selector: {matchLabels: {app: a}}, "):])+
		budgetYAML("first", "minAvailable: 1")+
		strings.Replace(budgetYAML("second", "minAvailable: 1"), "matchLabels: {app: a}",
			"matchLabels: {app: a}, matchExpressions: [{key: purekube.io/uncounted, operator: NotIn, values: [x]}]", 1)).AtFullHealth()
	require.NoError(t, err)
	require.Len(t, full.Notes, 1, "one for the workload, however many budgets there are")
	require.Contains(t, noteTexts(full)[0], "2 PodDisruptionBudgets, first among them, do not select its pods here")
	x := disruption.NewIndex(full.Disruption(time.Unix(0, 0)), disruption.Options{})
	for _, name := range []string{"first", "second"} {
		e, err := x.Explain(disruption.BudgetKey("shop", name))
		require.NoError(t, err)
		require.EqualValues(t, 1, e.Budget.Computed.ExpectedPods, name)
		require.Zero(t, e.Budget.Computed.DisruptionsAllowed, name)
	}
}

// Other budgets select these pods, and are as bad as their kind makes them.
func TestPodsThatABudgetDoesNotCountAreInOtherBudgets(t *testing.T) {
	full, err := loaded(t, workloadYAML("apps/v1", "Deployment", "web", "replicas: 3, "+template)+
		workloadYAML("batch/v1", "Job", "load", template[len("selector: {matchLabels: {app: a}}, "):])+
		budgetYAML("counts", "minAvailable: 1")+budgetYAML("web", "maxUnavailable: 1")).AtFullHealth()
	require.NoError(t, err)
	e, err := disruption.NewIndex(full.Disruption(time.Unix(0, 0)), disruption.Options{}).Explain(disruption.BudgetKey("shop", "web"))
	require.ErrorContains(t, err, "jobs.batch does not implement the scale subresource")
	require.Zero(t, e.Budget.Computed.DisruptionsAllowed)
}
