package lint_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/purekube/purekube/internal/lint"
	"github.com/purekube/purekube/manifests"
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

// A workload with 0 replicas has no pods now. Its budget selects something all the same, and is not judged by their number.
func TestScaledToZero(t *testing.T) {
	require.Empty(t, lint.Check(read(t, deployment("0")+"---\n"+budget("minAvailable: 1", web))).Findings)
	require.Empty(t, lint.Check(read(t, deployment("0")+"---\n"+autoscaler("web", "1", "1")+"---\n"+budget("minAvailable: 1", web))).Findings,
		"an autoscaler leaves it alone")
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
		{"every resource", "view", `{verbs: [get], apiGroups: [example.com], resources: ["*"]}`, []lint.Code{lint.AggregationGrantsWildcard}},
		{"every URL", "view", `{verbs: [get], nonResourceURLs: ["*"]}`, []lint.Code{lint.AggregationGrantsWildcard}},
		{"no label of an aggregated role", "nobody", `{verbs: ["*"], apiGroups: ["*"], resources: ["*"]}`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, codesOf(lint.Check(read(t, role(tc.to, tc.rule))).Findings))
		})
	}
	require.Empty(t, lint.Check(&manifests.Set{ClusterRoles: manifests.BuiltinClusterRoles()}).Findings)
}
