package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/manifests/lint"
	"github.com/purekube/purekube/purekubetest"
)

// keda is a ScaledObject for web with these annotations and these fields of its spec.
func keda(annotations, fields string) string {
	return "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\n" +
		"metadata: {name: web, annotations: {" + annotations + "}}\nspec: {" + fields + "scaleTargetRef: {name: web}}\n---\n"
}

// The lower bound of a ScaledObject counts as the minReplicas of a HorizontalPodAutoscaler does. The budget demands 3
// pods.
func TestScaledObjects(t *testing.T) {
	const never, idle = lint.BudgetNeverAllows, lint.BudgetBlocksAtMinReplicas
	for _, tc := range []struct {
		name, reason, replicas, objects string
		want                            []lint.Code
	}{
		{"4 at least", "one may go", "", keda("", "minReplicaCount: 4, "), nil},
		{"3 at least", "all must stay at the minimum", "", keda("", "minReplicaCount: 3, "), []lint.Code{idle}},
		{"raised by hand", "KEDA takes the pods away", "10", keda("", "minReplicaCount: 3, "), []lint.Code{idle}},
		{"no minimum", "the first pod that runs must stay", "10", keda("", ""), []lint.Code{idle}},
		{"3 at most", "never more than 3", "", keda("", "minReplicaCount: 2, maxReplicaCount: 3, "), []lint.Code{never}},
		{"100 at most by default", "no more than that", "", keda("", "minReplicaCount: 101, "), []lint.Code{never}},
		{"idle at 0", "with no pod, nothing is in the way", "", keda("", "minReplicaCount: 4, idleReplicaCount: 0, "), nil},
		{"idle at 3", "while idle, all must stay", "", keda("", "minReplicaCount: 4, idleReplicaCount: 3, "),
			[]lint.Code{idle}},
		{"idle not below the minimum", "KEDA rejects it: replicas is 1", "",
			keda("", "minReplicaCount: 4, idleReplicaCount: 4, "), []lint.Code{never}},
		{"idle without a minimum", "KEDA rejects it: replicas is 1", "", keda("", "idleReplicaCount: 0, "),
			[]lint.Code{never}},
		{"negative", "rejected: replicas is 4", "4", keda("", "minReplicaCount: -1, "), nil},
		{"not a number", "rejected: replicas is 4", "4", keda("", "minReplicaCount: many, "), nil},
		{"from 0 replicas", "KEDA starts pods where a HorizontalPodAutoscaler does not", "0",
			keda("", "minReplicaCount: 3, "), []lint.Code{idle}},
		{"paused", "the replicas of the workload stay", "3",
			keda(`autoscaling.keda.sh/paused: "true"`, "minReplicaCount: 4, "), []lint.Code{never}},
		{"paused with another text", "KEDA takes it for true", "3",
			keda("autoscaling.keda.sh/paused: soon", "minReplicaCount: 4, "), []lint.Code{never}},
		{"not paused", "", "3", keda(`autoscaling.keda.sh/paused: "false"`, "minReplicaCount: 4, "), nil},
		{"paused at 3", "all must stay", "9", keda(`autoscaling.keda.sh/paused-replicas: "3"`, "minReplicaCount: 4, "),
			[]lint.Code{never}},
		{"paused at 5", "two may go", "1", keda(`autoscaling.keda.sh/paused-replicas: "5"`, ""), nil},
		{"paused at 0", "judged without KEDA", "4", keda(`autoscaling.keda.sh/paused-replicas: "0"`, ""), nil},
		{"two", "the lower minimum counts", "", keda("", "minReplicaCount: 4, ") +
			"apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: more}\n" +
			"spec: {minReplicaCount: 3, scaleTargetRef: {name: web, kind: Deployment}}\n---\n", []lint.Code{idle}},
		{"beside an autoscaler", "the lower minimum counts", "",
			keda("", "minReplicaCount: 4, ") + autoscaler("web", "3", "9") + "---\n", []lint.Code{idle}},
		{"from 0 replicas beside an autoscaler", "KEDA starts pods", "0",
			keda("", "minReplicaCount: 4, ") + autoscaler("web", "3", "9") + "---\n", []lint.Code{idle}},
		{"of another kind", "it scales nothing here", "4",
			"apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: web}\n" +
				"spec: {minReplicaCount: 1, scaleTargetRef: {name: web, kind: StatefulSet}}\n---\n", nil},
		{"of another namespace", "it scales nothing here", "4",
			"apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: web, namespace: x}\n" +
				"spec: {minReplicaCount: 1, scaleTargetRef: {name: web}}\n---\n", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found := lint.Check(read(t, tc.objects+deployment(tc.replicas)+"---\n"+budget("minAvailable: 3", web))).Findings
			require.Equal(t, tc.want, codesOf(found), "%s: %v", tc.reason, found)
		})
	}
	set := &manifests.Set{ScaledObjects: []*manifests.ScaledObject{nil, {}}}
	require.Empty(t, lint.Check(set).Findings)
}

// An autoscaler of a kind that no package knows counts as that of a Deployment.
func TestAutoscaledRollout(t *testing.T) {
	const target = "scaleTargetRef: {apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: web}}\n---\n"
	rollout := func(replicas string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: web}\nspec:\n  " + replicas + "\n" +
			"  selector: {matchLabels: {app: web}}\n" +
			"  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}\n---\n"
	}
	const hpa = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\n" +
		"spec: {minReplicas: 3, maxReplicas: 9, " + target
	const scaled = "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: web}\n" +
		"spec: {minReplicaCount: 3, maxReplicaCount: 9, " + target
	for _, autoscaler := range []string{hpa, scaled} {
		for rule, want := range map[string][]lint.Code{
			"minAvailable: 2": nil, "minAvailable: 3": {lint.BudgetBlocksAtMinReplicas},
			"minAvailable: 9": {lint.BudgetNeverAllows},
		} {
			for _, replicas := range []string{"", "replicas: 1", "replicas: 12"} {
				found := lint.Check(read(t, rollout(replicas)+autoscaler+budget(rule, web))).Findings
				require.Equal(t, want, codesOf(found), "%s, %s: %v", rule, replicas, found)
			}
		}
	}
}

// Of the pods at an autoscaler's maximum, only some are made. What is found is the same as with all of them.
func TestPodsAtTheMaximum(t *testing.T) {
	atLeast, never := lint.BudgetBlocksAtMinReplicas, lint.BudgetNeverAllows
	for _, tc := range []struct {
		most, rule string
		want       lint.Code
		says       string
	}{
		{"50000", "minAvailable: 20000", atLeast, "there are 3 pods"},
		{"20001", "minAvailable: 20000", atLeast, "there are 3 pods"},
		{"20000", "minAvailable: 20000", never, "is 20000, and at full health there are 20000 pods (Deployment web: 20000)"},
		{"101", "minAvailable: 100", atLeast, "there are 3 pods"},
		{"100", "minAvailable: 100", never, "there are 100 pods"},
		{"50000", "minAvailable: 100%", never, "is 100%"},
		{"50000", "maxUnavailable: 0", never, "is 0"},
		{"2147483647", "minAvailable: 99%", atLeast, "there are 3 pods"},
	} {
		found := lint.Check(read(t, deployment("")+"---\n"+autoscaler("web", "3", tc.most)+"---\n"+budget(tc.rule, web))).Findings
		require.Equal(t, []lint.Code{tc.want}, codesOf(found), "%s, %s: %v", tc.most, tc.rule, found)
		require.Contains(t, found[0].Message, tc.says, "%s, %s", tc.most, tc.rule)
	}
}

// A cluster with 200 autoscalers has room for them, although not for all their maxima at once.
func TestMaximaOfManyAutoscalers(t *testing.T) {
	var all strings.Builder
	for i := range 200 {
		all.WriteString(strings.ReplaceAll(deployment("3")+"---\n"+autoscaler("web", "3", "1000")+"---\n"+
			budget("minAvailable: 2", web)+"---\n", "web", fmt.Sprintf("web-%d", i)))
	}
	require.Empty(t, lint.Check(read(t, all.String())).Findings)
}

// What the finding says: with the default, crash-looping pods are not evicted while too few pods are healthy.
func TestWhatAPolicyDoes(t *testing.T) {
	for name, tc := range map[string]struct {
		policy *policyv1.UnhealthyPodEvictionPolicyType
		finds  bool
		want   disruption.Verdict
	}{
		"not set":         {nil, true, disruption.RefusedNow},
		"IfHealthyBudget": {ptr.To(policyv1.IfHealthyBudget), false, disruption.RefusedNow},
		"AlwaysAllow":     {ptr.To(policyv1.AlwaysAllow), false, disruption.AllowedUnhealthy},
	} {
		t.Run(name, func(t *testing.T) {
			app, budget := purekubetest.Deployment("shop/web", 3, "a", "b", "c"), purekubetest.MaxUnavailable("shop/web", "1")
			budget.Spec.UnhealthyPodEvictionPolicy = tc.policy
			purekubetest.NotReady(app.Pods[0])
			purekubetest.NotReady(app.Pods[1])
			cluster := purekubetest.NewCluster(t, app.Objects(budget)...)
			index := disruption.NewIndex(cluster.Disruption(), disruption.Options{})
			eviction, err := index.CheckEviction(types.NamespacedName{Namespace: "shop", Name: app.Pods[0].Name},
				disruption.Recomputed)
			require.NoError(t, err)
			require.Equal(t, tc.want, eviction.Verdict)

			found := codesOf(lint.Check(&cluster.Set).Findings)
			require.Equal(t, tc.finds, len(found) == 1 && found[0] == lint.UnhealthyPodEvictionPolicy, "%v", found)
		})
	}
}

// A policy that the API server rejects is no choice, and a budget without pods has none to evict.
func TestPolicyThatIsInvalid(t *testing.T) {
	found := lint.Check(read(t, deployment("3")+"---\n"+bareBudget("maxUnavailable: 1",
		"unhealthyPodEvictionPolicy: alwaysAllow", web))).Findings
	require.Equal(t, []lint.Code{lint.BudgetValueInvalid}, codesOf(found))
	require.Equal(t, `is "alwaysAllow": must be AlwaysAllow or IfHealthyBudget`, found[0].Message)
	require.Equal(t, "spec.unhealthyPodEvictionPolicy", found[0].Field)
	require.Equal(t, []lint.Code{lint.BudgetSelectsNothing},
		codesOf(lint.Check(read(t, bareBudget("maxUnavailable: 1", web))).Findings))
	require.Equal(t, []lint.Code{lint.UnhealthyPodEvictionPolicy},
		codesOf(lint.Check(read(t, deployment("0")+"---\n"+bareBudget("maxUnavailable: 1",
			web))).Findings), "it will have pods")
}
