package lint_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/manifests/lint"
)

// Bad objects are no panic, and the others are judged.
func TestBadObjects(t *testing.T) {
	set := read(t, deployment("3")+"---\n"+budget("maxUnavailable: 0", web))
	want := codesOf(lint.Check(set).Findings)
	set.Budgets = append(set.Budgets, nil, &policyv1.PodDisruptionBudget{})
	set.Pods = append(set.Pods, nil, &corev1.Pod{})
	set.Deployments = append(set.Deployments, nil)
	set.StatefulSets = append(set.StatefulSets, nil)
	set.ReplicationControllers = append(set.ReplicationControllers, nil, &corev1.ReplicationController{})
	set.HorizontalPodAutoscalers = append(set.HorizontalPodAutoscalers, nil)
	set.ClusterRoles = append(set.ClusterRoles, nil, &rbacv1.ClusterRole{})
	set.ServiceCIDRs = append(set.ServiceCIDRs, nil)
	set.ClaimTemplates = append(set.ClaimTemplates, nil)
	require.Subset(t, codesOf(lint.Check(set).Findings), want)
	require.Empty(t, lint.Check(&manifests.Set{}).Findings)
	require.Empty(t, lint.Check(nil))
}

// A failure threshold that is misspelled is reached by every finding, and not by none.
func TestSeverities(t *testing.T) {
	order := []lint.Severity{"Eror", lint.NoSeverity, lint.Info, lint.Warning, lint.Error}
	for i, s := range order {
		for j, other := range order {
			require.Equal(t, i >= j, s.AtLeast(other), "%q at least %q", s, other)
		}
	}
}

// What a caller does to the list of rules changes nothing.
func TestRulesAreACopy(t *testing.T) {
	want := lint.Rules()[0]
	lint.Rules()[0] = lint.Rule{}
	require.Equal(t, want, lint.Rules()[0])
}

// The order of the objects does not matter, and nothing is written to.
func TestOrderDoesNotMatter(t *testing.T) {
	other := "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: other}\nspec: {minAvailable: 4, " + web + "}\n"
	set := read(t, deployment("3")+"---\n"+autoscaler("web", "2", "4")+"---\n"+budget("maxUnavailable: 0", web)+"---\n"+other)
	want := lint.Check(set)
	require.NotEmpty(t, want.Findings)
	before := set.Budgets[0].DeepCopy()
	random := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		random.Shuffle(len(set.Budgets), func(i, j int) { set.Budgets[i], set.Budgets[j] = set.Budgets[j], set.Budgets[i] })
		require.Empty(t, cmp.Diff(want, lint.Check(set)))
	}
	require.Contains(t, set.Budgets, before)
}

// Where objects could not be read, nothing is said to be missing: it may be among them.
func TestAbsenceInInputThatWasNotRead(t *testing.T) {
	set := read(t, budget("maxUnavailable: 1", web))
	require.Equal(t, []lint.Code{lint.BudgetSelectsNothing}, codesOf(lint.Check(set).Findings))
	set.Complete = false
	require.Empty(t, lint.Check(set).Findings)
}

// An operator makes pods that nobody knows. A budget may be for them if it selects what has the labels of the operator's
// object, or names the object.
func TestPodsOfOperators(t *testing.T) {
	const spec, own = "spec: {replicas: 2}", "labels: {app: web}"
	for _, tc := range []struct {
		name, metadata, spec, selector string
		want                           lint.Code
	}{
		{"its labels", "name: x, " + own, spec, web, lint.BudgetScaleUnknown},
		{"its name as a label", "name: web", spec, web, lint.BudgetScaleUnknown},
		{"its name in an expression", "name: web", spec, "selector: {matchExpressions: [{key: app, operator: In, values: [other, web]}]}",
			lint.BudgetScaleUnknown},
		{"its name in an expression that excludes it", "name: web", spec,
			"selector: {matchExpressions: [{key: app, operator: NotIn, values: [web]}, {key: app, operator: Exists}]}", lint.BudgetSelectsNothing},
		{"neither", "name: x", spec, web, lint.BudgetSelectsNothing},
		{"in another namespace", "name: web, namespace: other, " + own, spec, web, lint.BudgetSelectsNothing},
		{"a number that is no number", "name: web, " + own, "spec: {replicas: two}", web, lint.BudgetSelectsNothing},
		{"nothing that has replicas", "name: web, " + own, "spec: {}", web, lint.BudgetSelectsNothing},
	} {
		custom := "apiVersion: example.com/v1\nkind: Game\nmetadata: {" + tc.metadata + "}\n" + tc.spec + "\n---\n"
		found := lint.Check(read(t, custom+budget("maxUnavailable: 1", tc.selector))).Findings
		require.Equal(t, []lint.Code{tc.want}, codesOf(found), tc.name)
	}
	game := func(kind, name string) string {
		return "apiVersion: example.com/v1\nkind: " + kind + "\nmetadata: {name: " + name + ", " + own + "}\n" + spec + "\n---\n"
	}
	for _, games := range []string{
		game("Game", "a") + game("Game", "b") + game("Team", "a"), game("Team", "a") + game("Game", "b") + game("Game", "a"),
	} {
		found := lint.Check(read(t, games+budget("maxUnavailable: 1", web))).Findings
		require.Len(t, found, 1)
		require.Equal(t, "matches no pod of the input. An operator may make such pods for Game a: "+
			"whether the budget allows a disruption is not known", found[0].Message)
	}
	for games, want := range map[string]string{
		game("Game", "x") + game("Act", "web") + game("Zoo", "web"): "Act web", // by its name
		game("Zoo", "web") + game("Act", "web") + game("Game", "x"): "Act web",
		game("Zoo", "web") + game("Game", "x"):                      "Game x",
	} {
		found := lint.Check(read(t, strings.ReplaceAll(games, "name: web, "+own, "name: web")+budget("maxUnavailable: 1", web))).Findings
		require.Len(t, found, 1)
		require.Contains(t, found[0].Message, " for "+want+":")
	}
	require.Empty(t, lint.Check(read(t, game("Game", "a")+deployment("3")+"---\n"+budget("maxUnavailable: 1", web))).Findings,
		"other pods are there")
	never := lint.Check(read(t, game("Game", "a")+budget("maxUnavailable: 0", web))).Findings
	require.Contains(t, codesOf(never), lint.BudgetNeverAllows, "whatever the pods are")
	part := read(t, game("Game", "a")+budget("maxUnavailable: 1", web))
	part.Complete = false
	require.Empty(t, lint.Check(part).Findings, "other pods may be in the part that was not read")
}

// A workload with 0 replicas has no pods now. Its budget selects something all the same, and is not judged by their number.
func TestScaledToZero(t *testing.T) {
	require.Empty(t, lint.Check(read(t, deployment("0")+"---\n"+budget("minAvailable: 1", web))).Findings)
	require.Empty(t, lint.Check(read(t, deployment("0")+"---\n"+autoscaler("web", "1", "1")+"---\n"+budget("minAvailable: 1", web))).Findings,
		"an autoscaler leaves it alone")
	require.Empty(t, lint.Check(read(t, game("web", "replicas: 0, ")+budget("minAvailable: 1", web))).Findings)
}

// game is a workload of a kind that no package knows.
func game(name, replicas string) string {
	return "apiVersion: example.com/v1\nkind: Game\nmetadata: {name: " + name + "}\nspec: {" + replicas +
		"template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}\n---\n"
}

// A custom workload without replicas makes pods of its template. Nobody knows how many, and they may be none.
func TestScaleOfACustomWorkloadIsUnknown(t *testing.T) {
	unknown := []lint.Code{lint.BudgetScaleUnknown}
	for _, tc := range []struct {
		name, others, rule string
		want               []lint.Code
	}{
		{"a difference", "", "maxUnavailable: 1", unknown},
		{"a percentage", deployment("1") + "---\n", "minAvailable: 50%", unknown},
		{"a number", "", "minAvailable: 1", unknown},
		{"a number of other pods", deployment("1") + "---\n", "minAvailable: 1", unknown},
		{"enough other pods", deployment("2") + "---\n", "minAvailable: 1", nil},
		{"no pod is demanded", "", "minAvailable: 0", nil},
		{"nothing may go", "", "maxUnavailable: 0", []lint.Code{lint.BudgetNeverAllows}},
		{"two of them", game("other", ""), "minAvailable: 2", unknown},
		{"the same one twice", strings.Replace(game("web", ""), "v1", "v2", 1), "minAvailable: 1", unknown},
		{"a pod of the same name", "apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {app: web}}\n---\n", "minAvailable: 1", unknown},
		{"autoscaled", strings.NewReplacer("apps/v1", "example.com/v1", "Deployment", "Game").Replace(autoscaler("web", "2", "4")) + "---\n", "maxUnavailable: 1", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, codesOf(lint.Check(read(t, tc.others+game("web", "")+budget(tc.rule, web))).Findings))
		})
	}
	hook := strings.Replace(game("hook", ""), "name: hook", "name: hook, annotations: {helm.sh/hook: test}", 1)
	require.Equal(t, []lint.Code{lint.BudgetNeverAllows}, codesOf(lint.Check(read(t, hook+deployment("1")+"---\n"+budget("minAvailable: 1", web))).Findings))
}

// However many pods there are: two budgets are too many for each.
func TestOverlapOfAWorkloadWithoutReplicas(t *testing.T) {
	another := strings.Replace(budget("minAvailable: 0", web), "name: ", "name: another-", 1)
	found := lint.Check(read(t, game("web", "")+budget("minAvailable: 0", web)+"---\n"+another)).Findings
	require.Equal(t, []lint.Code{lint.BudgetsOverlap}, codesOf(found))
	require.Len(t, found, 2, "one for each budget")
}

// A percentage, or maxUnavailable, of pods without a controller is of 0 pods: there is nothing to round up.
func TestPodsWithoutAController(t *testing.T) {
	bare := ""
	for _, name := range []string{"a", "b"} {
		bare += "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", labels: {app: web}}\n---\n"
	}
	for demand, want := range map[string]string{
		"minAvailable: 50%": "is 50%, and there are 2 pods without a controller: only minAvailable with a number ever lets " +
			"such pods be evicted. Nodes with these pods cannot be drained",
		"maxUnavailable: 1": "is 1, and there are 2 pods without a controller: only minAvailable with a number ever lets " +
			"such pods be evicted. Nodes with these pods cannot be drained",
		"maxUnavailable: 0":  "is 0: no pod may ever be evicted. Nodes with these pods cannot be drained",
		"maxUnavailable: 0%": "is 0%: no pod may ever be evicted. Nodes with these pods cannot be drained",
		"minAvailable: 100%": "is 100%: no pod may ever be evicted. Nodes with these pods cannot be drained",
	} {
		found := lint.Check(read(t, bare+budget(demand, web))).Findings
		require.Equal(t, []lint.Code{lint.BudgetNeverAllows}, codesOf(found), demand)
		require.Contains(t, found[0].Message, want)
	}
}

// What a ClusterRole of every cluster allows is no finding, nor is what it hands on in a dump of a cluster.
func TestBuiltinRights(t *testing.T) {
	role := func(to, rule string) string {
		return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: team, labels: {rbac.authorization.k8s.io/aggregate-to-" + to + ": \"true\"}}\nrules: [" + rule + "]\n"
	}
	for _, tc := range []struct {
		name, to, rule string
		want           []lint.Code
	}{
		{"edit reads Secrets", "edit", `{verbs: [get, list], apiGroups: [""], resources: [secrets]}`, nil},
		{"view does not", "view", `{verbs: [get], apiGroups: [""], resources: [secrets]}`, []lint.Code{lint.AggregationGrantsSecrets}},
		{"named Secrets are Secrets", "view", `{verbs: [get], apiGroups: [""], resources: [secrets], resourceNames: [a]}`, []lint.Code{lint.AggregationGrantsSecrets}},
		{"edit impersonates ServiceAccounts", "edit", `{verbs: [impersonate], apiGroups: [""], resources: [serviceaccounts]}`, nil},
		{"edit does not impersonate users", "edit", `{verbs: [impersonate], apiGroups: [""], resources: [users]}`, []lint.Code{lint.AggregationGrantsEscalate}},
		{"escalate", "admin", `{verbs: [escalate], apiGroups: [rbac.authorization.k8s.io], resources: [roles]}`, []lint.Code{lint.AggregationGrantsEscalate}},
		{"every group", "view", `{verbs: [get], apiGroups: ["*"], resources: [widgets]}`, []lint.Code{lint.AggregationGrantsWildcard}},
		{"every resource of Kubernetes' groups", "view", `{verbs: [get], apiGroups: [apps], resources: ["*"]}`, []lint.Code{lint.AggregationGrantsWildcard}},
		{"every resource of a protected group", "view", `{verbs: [get], apiGroups: [metrics.k8s.io], resources: ["*"]}`, []lint.Code{lint.AggregationGrantsWildcard}},
		{"every resource of another protected group", "view", `{verbs: [get], apiGroups: [kubernetes.io], resources: ["*"]}`, []lint.Code{lint.AggregationGrantsWildcard}},
		{"every URL", "view", `{verbs: [get], nonResourceURLs: ["*"]}`, []lint.Code{lint.AggregationGrantsWildcard}},
		{"every path", "view", `{verbs: [get], nonResourceURLs: ["/*"]}`, []lint.Code{lint.AggregationGrantsWildcard}},
		{"the paths below one", "view", `{verbs: [get], nonResourceURLs: ["/metrics/*"]}`, nil},
		{"tokens of whatever has some", "view", `{verbs: [create], apiGroups: [""], resources: ["*/token"]}`, []lint.Code{lint.AggregationGrantsWildcard}},
		{"the scale of every kind", "edit", `{verbs: [update], apiGroups: [apps], resources: ["*/scale"]}`, []lint.Code{lint.AggregationGrantsWildcard}},
		{"no label of an aggregated role", "nobody", `{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, codesOf(lint.Check(read(t, role(tc.to, tc.rule))).Findings))
		})
	}
	require.Empty(t, lint.Check(&manifests.Set{ClusterRoles: manifests.BuiltinClusterRoles()}).Findings)
}

// Whoever defines the kinds of an API group may let everybody read all of them, and no more.
func TestReadOnlyWildcardOfTheChartsOwnGroup(t *testing.T) {
	const definition = "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\nspec: {}\n"
	role := func(rule string) string {
		return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: team, labels: {rbac.authorization.k8s.io/aggregate-to-view: \"true\"}}\nrules: [" + rule + "]\n"
	}
	for _, tc := range []struct {
		name, rule             string
		defined, withoutTheCRD lint.Code
	}{
		{"reads its own group", `{verbs: [get, list, watch], apiGroups: [example.com], resources: ["*"]}`, "", lint.AggregationGroupUnknown},
		{"and one that it does not define", `{verbs: [get], apiGroups: [example.com, example.org], resources: ["*"]}`, lint.AggregationGroupUnknown, lint.AggregationGroupUnknown},
		{"and one of Kubernetes", `{verbs: [get], apiGroups: [example.org, apps], resources: ["*"]}`, lint.AggregationGrantsWildcard, lint.AggregationGrantsWildcard},
		{"and the first one", `{verbs: [get], apiGroups: ["", example.com], resources: ["*"]}`, lint.AggregationGrantsWildcard, lint.AggregationGrantsWildcard},
		{"writes its own group", `{verbs: [get, create], apiGroups: [example.com], resources: ["*"]}`, lint.AggregationGrantsWildcard, lint.AggregationGrantsWildcard},
		{"every verb", `{verbs: ["*"], apiGroups: [example.com], resources: ["*"]}`, lint.AggregationGrantsWildcard, lint.AggregationGrantsWildcard},
		{"every group", `{verbs: [get], apiGroups: ["*"], resources: ["*"]}`, lint.AggregationGrantsWildcard, lint.AggregationGrantsWildcard},
		{"every URL", `{verbs: [get], nonResourceURLs: ["*"]}`, lint.AggregationGrantsWildcard, lint.AggregationGrantsWildcard},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var want []lint.Code
			if tc.defined != "" {
				want = []lint.Code{tc.defined}
			}
			require.Equal(t, want, codesOf(lint.Check(read(t, role(tc.rule)+definition)).Findings))
			require.Equal(t, []lint.Code{tc.withoutTheCRD}, codesOf(lint.Check(read(t, role(tc.rule))).Findings))
		})
	}
}

// The API server takes digits and a percent sign, and nothing else.
func TestPercentageThatTheAPIServerRejects(t *testing.T) {
	for _, value := range []string{`"+5%"`, `"-5%"`, `"5 %"`, `"%"`, `"5"`, `"101%"`, "-1"} {
		for _, field := range []string{"minAvailable: ", "maxUnavailable: "} {
			found := lint.Check(read(t, deployment("3")+"---\n"+budget(field+value, web))).Findings
			require.Equal(t, []lint.Code{lint.BudgetValueInvalid}, codesOf(found), field+value)
		}
	}
}

const (
	testHook = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web-test-connection, labels: {app: web}, annotations: {helm.sh/hook: test}}\nspec: {}\n"
	hookJob  = "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: web-migrate, annotations: {helm.sh/hook: pre-upgrade}}\nspec: {template: {metadata: {labels: {app: web}}}}\n"
	job      = "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: web-migrate}\nspec: {template: {metadata: {labels: {app: web}}}}\n"
	cronJob  = "---\napiVersion: batch/v1\nkind: CronJob\nmetadata: {name: web-clean}\nspec: {jobTemplate: {spec: {template: {metadata: {labels: {app: web}}}}}}\n"
	daemons  = "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: web-logs}\nspec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}\n"
)

// A pod that is there for a moment, or that a drain leaves alone, makes no budget better than it is without the pod.
func TestHooksAndJobsHideNoBudgetThatNeverAllows(t *testing.T) {
	for name, more := range map[string]string{
		"Pod of helm test": testHook, "Job that is a Helm hook": hookJob, "Job": job, "CronJob": cronJob, "DaemonSet": daemons,
		"all of them": testHook + job + cronJob + daemons,
	} {
		t.Run(name, func(t *testing.T) {
			for rule, want := range map[string]lint.Code{"minAvailable: 1": lint.BudgetNeverAllows, "minAvailable: 51%": lint.BudgetRoundsToZero} {
				found := lint.Check(read(t, deployment("1")+"---\n"+budget(rule, web)+more)).Findings
				require.Equal(t, []lint.Code{want}, codesOf(found), "%s: %v", rule, found)
				require.Contains(t, found[0].Message, "there is 1 pod (Deployment web: 1)")
			}
		})
	}
	require.Empty(t, lint.Check(read(t, deployment("2")+"---\n"+budget("minAvailable: 1", web)+testHook+hookJob)).Findings)
	require.Empty(t, lint.Check(read(t, deployment("2")+"---\n"+budget("maxUnavailable: 1", web)+testHook+hookJob)).Findings,
		"the Job of a hook ends before anybody drains")
	require.Equal(t, []lint.Code{lint.BudgetOfPodsWithoutScale}, codesOf(lint.Check(read(t, deployment("2")+"---\n"+budget("maxUnavailable: 1", web)+job)).Findings))
	require.Empty(t, lint.Check(read(t, budget("minAvailable: 1", web)+testHook)).Findings, "it selects something")
}

// A dump has more pods than the autoscaler's minReplicas. It may take them away.
func TestDumpWithMorePodsThanMinReplicas(t *testing.T) {
	const workload = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, uid: u}
spec: {replicas: 4, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 2, maxReplicas: 6, scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: web}}
`
	pods := ""
	for i := range 4 {
		pods += fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: web-%d, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: web, uid: u, controller: true}]}\n"+
			"status: {phase: Running, conditions: [{type: Ready, status: \"True\"}]}\n", i)
	}
	for rule, want := range map[string]lint.Code{
		"minAvailable: 2": lint.BudgetBlocksAtMinReplicas, "minAvailable: 51%": lint.BudgetBlocksAtMinReplicas, "minAvailable: 6": lint.BudgetNeverAllows,
	} {
		found := lint.Check(read(t, workload+"---\n"+budget(rule, web)+pods)).Findings
		require.Equal(t, []lint.Code{want}, codesOf(found), "%s: %v", rule, found)
	}
	require.Empty(t, lint.Check(read(t, workload+"---\n"+budget("minAvailable: 1", web)+pods)).Findings)
}

// Pods that have ended, or are being deleted, are no pods of full health.
func TestPodsThatAreOver(t *testing.T) {
	for name, pod := range map[string]string{
		"ended":  "metadata: {name: old, labels: {app: web}}\nstatus: {phase: Succeeded}\n",
		"failed": "metadata: {name: old, labels: {app: web}}\nstatus: {phase: Failed}\n",
		"going":  "metadata: {name: old, labels: {app: web}, deletionTimestamp: \"2026-01-01T00:00:00Z\", deletionGracePeriodSeconds: 30}\nstatus: {phase: Running}\n",
	} {
		t.Run(name, func(t *testing.T) {
			found := lint.Check(read(t, deployment("1")+"---\n"+budget("minAvailable: 1", web)+"---\napiVersion: v1\nkind: Pod\n"+pod)).Findings
			require.Equal(t, []lint.Code{lint.BudgetNeverAllows}, codesOf(found), "%v", found)
		})
	}
}

// A kind that no package knows makes pods if it has a template and replicas, as Rollouts do.
func TestBudgetOfACustomWorkload(t *testing.T) {
	rollout := "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: web}\nspec:\n  replicas: 3\n" +
		"  selector: {matchLabels: {app: web}}\n  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}\n---\n"
	for rule, want := range map[string][]lint.Code{
		"minAvailable: 3": {lint.BudgetNeverAllows}, "minAvailable: 2": nil,
		"maxUnavailable: 0": {lint.BudgetNeverAllows}, "maxUnavailable: 1": nil,
	} {
		found := lint.Check(read(t, rollout+budget(rule, web))).Findings
		require.Equal(t, want, codesOf(found), "%s: %v", rule, found)
	}
}
