package manifests

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/test/aliasing"
)

// workloadYAML is a workload with one label and this spec.
func workloadYAML(apiVersion, kind, name, spec string) string {
	return fmt.Sprintf("---\napiVersion: %s\nkind: %s\nmetadata: {namespace: shop, name: %s}\nspec: {%s}\n", apiVersion, kind, name, spec)
}

const template = "selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: i}]}}"

func nodesYAML(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: {zone: z-%s}}\n", name, name)
	}
	return b.String()
}

func loaded(t *testing.T, text string) *Set {
	t.Helper()
	set, err := of(text)
	require.NoError(t, err)
	return set
}

// podsOn is "name@node" of each pod.
func podsOn(set *Set) []string {
	var names []string
	for _, p := range set.Pods {
		names = append(names, strings.TrimSuffix(p.Name+"@"+p.Spec.NodeName, "@"))
	}
	return names
}

// Which pods each kind of workload gets, and on which nodes.
func TestAtFullHealth(t *testing.T) {
	for _, tc := range []struct {
		name, reason, input string
		want                []string
	}{
		{"ReplicaSet", "as many as replicas, over the nodes", nodesYAML("n1", "n2") + workloadYAML("apps/v1", "ReplicaSet", "web", "replicas: 3, "+template),
			[]string{"web-00000@n1", "web-00001@n2", "web-00002@n1"}},
		{"no replicas", "the API server makes one of it", workloadYAML("apps/v1", "ReplicaSet", "web", template), []string{"web-00000"}},
		{"none wanted", "zero is a number", workloadYAML("apps/v1", "ReplicaSet", "web", "replicas: 0, "+template), nil},
		{"StatefulSet", "ordinals from 0", workloadYAML("apps/v1", "StatefulSet", "db", "replicas: 2, serviceName: db, "+template), []string{"db-0", "db-1"}},
		{"StatefulSet with a start", "ordinals from there", workloadYAML("apps/v1", "StatefulSet", "db", "replicas: 2, ordinals: {start: 5}, "+template), []string{"db-5", "db-6"}},
		{"ReplicationController", "its selector is a map", workloadYAML("v1", "ReplicationController", "old", "replicas: 1, selector: {app: a}, template: {metadata: {labels: {app: a}}}"), []string{"old-00000"}},
		{"DaemonSet", "one on each node, cordoned ones included", nodesYAML("n1") + "---\napiVersion: v1\nkind: Node\nmetadata: {name: n2}\nspec: {unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}\n" +
			workloadYAML("apps/v1", "DaemonSet", "agent", template), []string{"agent-n1@n1", "agent-n2@n2"}},
		{"DaemonSet for some nodes", "nodeSelector", nodesYAML("n1", "n2") + workloadYAML("apps/v1", "DaemonSet", "agent", strings.Replace(template, "spec: {", "spec: {nodeSelector: {zone: z-n2}, ", 1)), []string{"agent-n2@n2"}},
		{"DaemonSet without nodes", "there is nowhere to run", workloadYAML("apps/v1", "DaemonSet", "agent", template), nil},
		{"a taint", "pods stay away, unless they tolerate it", nodesYAML("n1") + "---\napiVersion: v1\nkind: Node\nmetadata: {name: n0}\nspec: {taints: [{key: gpu, value: x, effect: NoSchedule}]}\n" +
			workloadYAML("apps/v1", "ReplicaSet", "web", "replicas: 2, "+template) +
			workloadYAML("apps/v1", "DaemonSet", "agent", strings.Replace(template, "spec: {", "spec: {tolerations: [{key: gpu, value: x}], ", 1)),
			[]string{"web-00000@n1", "web-00001@n1", "agent-n0@n0", "agent-n1@n1"}},
		{"required affinity", "one of the terms has to hold", nodesYAML("n1", "n2", "n3") + workloadYAML("apps/v1", "ReplicaSet", "web", "replicas: 2, "+strings.Replace(template, "spec: {",
			"spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [z-n3]}]}, {matchFields: [{key: metadata.name, operator: In, values: [n2]}]}]}}}, ", 1)),
			[]string{"web-00000@n2", "web-00001@n3"}},
		{"cordoned", "no new pod", "---\napiVersion: v1\nkind: Node\nmetadata: {name: n0}\nspec: {unschedulable: true}\n" + nodesYAML("n1") + workloadYAML("apps/v1", "ReplicaSet", "web", template), []string{"web-00000@n1"}},
		{"two workloads", "the second begins where the first ended", nodesYAML("n1", "n2") + workloadYAML("apps/v1", "ReplicaSet", "a", template) + workloadYAML("apps/v1", "ReplicaSet", "b", template),
			[]string{"a-00000@n1", "b-00000@n2"}},
		{"Job", "as many as run in parallel", workloadYAML("batch/v1", "Job", "load", "parallelism: 2, completions: 5, template: {spec: {containers: []}}"), []string{"load-00000", "load-00001"}},
		{"the last pods of a Job", "the rest is done", workloadYAML("batch/v1", "Job", "load", "parallelism: 2, completions: 5, template: {spec: {containers: []}}") + "status: {succeeded: 4}\n", []string{"load-00000"}},
		{"a Job that ended", "nothing runs", workloadYAML("batch/v1", "Job", "load", "template: {spec: {containers: []}}") + "status: {conditions: [{type: Complete, status: \"True\"}]}\n", nil},
		{"a suspended Job", "nothing runs", workloadYAML("batch/v1", "Job", "load", "suspend: true, template: {spec: {containers: []}}"), nil},
		{"CronJob", "nothing is due", workloadYAML("batch/v1", "CronJob", "night", "schedule: \"0 0 * * *\", jobTemplate: {spec: {template: {spec: {containers: []}}}}"), nil},
		{"autoscaler", "at least minReplicas", workloadYAML("apps/v1", "StatefulSet", "db", template) +
			workloadYAML("autoscaling/v2", "HorizontalPodAutoscaler", "db", "minReplicas: 2, maxReplicas: 4, scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}"), []string{"db-0", "db-1"}},
		{"autoscaler below", "at most maxReplicas", workloadYAML("apps/v1", "StatefulSet", "db", "replicas: 9, "+template) +
			workloadYAML("autoscaling/v2", "HorizontalPodAutoscaler", "db", "maxReplicas: 1, scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}"), []string{"db-0"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set := loaded(t, tc.input)
			before := len(set.Pods)
			full, err := set.AtFullHealth()
			require.NoError(t, err)
			require.Equal(t, tc.want, podsOn(full), tc.reason)
			require.Len(t, set.Pods, before, "the set itself does not change")
			for _, p := range full.Pods {
				require.True(t, podstate.Ready(p))
				require.Equal(t, corev1.PodRunning, p.Status.Phase)
				require.NotNil(t, metav1.GetControllerOfNoCopy(p))
			}
		})
	}
}

// A Deployment gets its ReplicaSet, and disruption finds all of them: one pod may go.
func TestBudgetOfAChart(t *testing.T) {
	chart := workloadYAML("apps/v1", "Deployment", "web", "replicas: 4, "+template) + workloadYAML("policy/v1", "PodDisruptionBudget", "web", "maxUnavailable: 25%, selector: {matchLabels: {app: a}}")
	set := loaded(t, nodesYAML("n1", "n2")+chart)
	full, err := set.AtFullHealth()
	require.NoError(t, err)
	require.Len(t, full.ReplicaSets, 1)
	require.Empty(t, set.ReplicaSets)
	require.Empty(t, set.Deployments[0].UID, "the set itself does not change")
	require.True(t, metav1.IsControlledBy(full.ReplicaSets[0], full.Deployments[0]))
	require.True(t, metav1.IsControlledBy(full.Pods[0], full.ReplicaSets[0]))
	require.Empty(t, aliasing.Shared(set.Deployments[0], full.Deployments[0]))
	require.Empty(t, aliasing.Shared(full.Pods[0], full.Pods[1]))

	e, err := disruption.NewIndex(full.Disruption(time.Unix(0, 0)), disruption.Options{}).Explain(disruption.BudgetKey("shop", "web"))
	require.NoError(t, err)
	require.Equal(t, disruption.Counts{ExpectedPods: 4, DesiredHealthy: 3, CurrentHealthy: 4, DisruptionsAllowed: 1}, e.Budget.Computed)
	d, _, err := drain.Node(disruption.NewIndex(full.Disruption(time.Unix(0, 0)), disruption.Options{}), "n1", drain.Options{})
	require.NoError(t, err)
	require.Equal(t, drain.InRounds, d.Outcome)
	require.Len(t, d.Rounds, 2)

	again, err := full.AtFullHealth()
	require.NoError(t, err)
	require.Equal(t, full.Objects(), again.Objects(), "nothing is missing any more")
	same, err := loaded(t, nodesYAML("n1", "n2")+chart).AtFullHealth()
	require.NoError(t, err)
	require.Equal(t, full.Objects(), same.Objects(), "the same input gives the same objects")
}

// Pods that are there count, and stay as they are.
func TestPodsThatAreThere(t *testing.T) {
	rs := "---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {namespace: shop, name: web, uid: rs-1}\nspec: {replicas: 3, " + template + "}\n"
	pod := func(name, uid, status string) string {
		return fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {namespace: shop, name: %s, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: %s, controller: true}]}\nstatus: {phase: %s}\n", name, uid, status)
	}
	set := loaded(t, rs+pod("web-00000", "rs-1", "Pending")+pod("web-ended", "rs-1", "Failed")+pod("web-other", "rs-0", "Running"))
	full, err := set.AtFullHealth()
	require.NoError(t, err)
	require.Equal(t, []string{"web-00000", "web-ended", "web-other", "web-00001", "web-00002"}, podsOn(full))
	require.Equal(t, set.Pods, full.Pods[:3])
}

// In the middle of a rollout the newest ReplicaSet gets the rest.
func TestRollout(t *testing.T) {
	rs := func(name string, replicas int, created string) string {
		return fmt.Sprintf("---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {namespace: shop, name: %s, uid: %s, creationTimestamp: %s, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d, controller: true}]}\nspec: {replicas: %d, %s}\n",
			name, name, created, replicas, template)
	}
	set := loaded(t, strings.Replace(workloadYAML("apps/v1", "Deployment", "web", "replicas: 5, "+template), "name: web}", "name: web, uid: d}", 1)+
		rs("web-new", 1, "2026-01-02T00:00:00Z")+rs("web-old", 2, "2026-01-01T00:00:00Z"))
	full, err := set.AtFullHealth()
	require.NoError(t, err)
	require.Equal(t, []string{"web-new-00000", "web-new-00001", "web-new-00002", "web-old-00000", "web-old-00001"}, podsOn(full))
	require.Len(t, full.ReplicaSets, 2)
}

// A workload without an answer is an error with its field, and the others get their pods.
func TestWorkloadsWithoutAnAnswer(t *testing.T) {
	good := workloadYAML("apps/v1", "StatefulSet", "good", template)
	for _, tc := range []struct{ name, reason, input, want string }{
		{"no selector", "the API server requires it", workloadYAML("apps/v1", "Deployment", "x", "template: {metadata: {labels: {app: a}}}"), "Deployment shop/x: spec.selector: required"},
		{"an empty selector", "it would select all pods", workloadYAML("apps/v1", "ReplicaSet", "x", "selector: {}, template: {metadata: {labels: {app: a}}}"), "ReplicaSet shop/x: spec.selector: must not be empty"},
		{"a selector that selects others", "the API server rejects it", workloadYAML("apps/v1", "StatefulSet", "x", "selector: {matchLabels: {app: b}}, template: {metadata: {labels: {app: a}}}"), "StatefulSet shop/x: spec.template.metadata.labels: must match spec.selector"},
		{"a selector that does not compile", "an operator that does not exist", workloadYAML("apps/v1", "DaemonSet", "x", "selector: {matchExpressions: [{key: a, operator: Is}]}, template: {}"), "DaemonSet shop/x: spec.selector: "},
		{"negative replicas", "the API server rejects them", workloadYAML("apps/v1", "Deployment", "x", "replicas: -1, "+template), "Deployment shop/x: spec.replicas: must be 0 or more, is -1"},
		{"too many replicas", "memory is bounded", workloadYAML("apps/v1", "ReplicaSet", "x", "replicas: 2147483647, "+template), "ReplicaSet shop/x: spec.replicas: 2147483647 pods, and 0 of other workloads, are more than 150000: none is made"},
		{"no template", "there is nothing to make pods of", workloadYAML("v1", "ReplicationController", "x", "replicas: 1"), "ReplicationController shop/x: spec.template: required"},
		{"no node fits", "the pods would be pending", nodesYAML("n1") + workloadYAML("apps/v1", "ReplicaSet", "x", "replicas: 1, "+strings.Replace(template, "spec: {", "spec: {nodeSelector: {zone: none}, ", 1)),
			"ReplicaSet shop/x: spec.template.spec: no node of the set fits its nodeSelector, affinity and tolerations"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			full, err := loaded(t, good+tc.input).AtFullHealth()
			require.ErrorContains(t, err, tc.want, tc.reason)
			var object *purekube.ObjectError
			require.True(t, errors.As(err, &object))
			require.Len(t, full.Pods, 1, "only that of the good one")
		})
	}
}

// Two autoscalers of one workload work against each other. The lowest numbers count, in any order: with fewer pods, a
// budget allows fewer disruptions.
func TestTwoAutoscalers(t *testing.T) {
	autoscaler := func(name, bounds string) string {
		return workloadYAML("autoscaling/v2", "HorizontalPodAutoscaler", name,
			bounds+", scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: web}")
	}
	low, high := autoscaler("low", "minReplicas: 2, maxReplicas: 4"), autoscaler("high", "minReplicas: 3, maxReplicas: 6")
	for _, objects := range []string{low + high, high + low} {
		for replicas, want := range map[string]int{"": 2, "replicas: 3, ": 3, "replicas: 9, ": 4} {
			full, err := loaded(t, workloadYAML("apps/v1", "StatefulSet", "web", replicas+template)+objects).AtFullHealth()
			require.NoError(t, err)
			require.Len(t, full.Pods, want)
		}
	}
}

// A workload or an autoscaler that could not be read has pods that nobody knows.
func TestUnreadableWorkloadsHidePods(t *testing.T) {
	const twice = `"metadata": {"name": "x"}, "spec": {"replicas": 1, "replicas": 2}}`
	for _, tc := range []struct {
		name, reason, input string
		hides               bool
	}{
		{"replicas of another type", "it has any number of pods", workloadYAML("apps/v1", "Deployment", "x", `replicas: "three", `+template), true},
		{"an old version", "it has pods", workloadYAML("extensions/v1beta1", "Deployment", "x", template), true},
		{"an autoscaler", "it says how many pods there are", workloadYAML("autoscaling/v2", "HorizontalPodAutoscaler", "x", "minReplicas: one"), true},
		{"a custom kind", "it may be a workload", `{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", ` + twice, true},
		{"no version", "it may be a custom workload", workloadYAML(`""`, "Rollout", "x", template), true},
		{"a budget", "it has no pods", budgetYAML("x", "maxUnavailable: {}"), false},
		{"a ConfigMap", "it has no pods", `{"apiVersion": "v1", "kind": "ConfigMap", ` + twice, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set, err := of(tc.input)
			require.Error(t, err)
			require.False(t, set.Hides(Pod))
			full, err := set.AtFullHealth()
			require.NoError(t, err)
			require.Equal(t, tc.hides, full.Hides(Pod), tc.reason)
			require.False(t, set.Hides(Pod), "the set itself does not change")
			_, known := full.HidesIn(Pod)
			require.Equal(t, !tc.hides, known)
		})
	}
}

// The pods of a workload without an answer may be in any namespace, also where a pod could not be read in another one.
func TestWorkloadWithoutAnAnswerHidesPods(t *testing.T) {
	set, err := of(workloadYAML("apps/v1", "StatefulSet", "web", "replicas: -1, "+template) +
		"\n---\n" + `{"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "other", "name": "x"}, "spec": {"priority": "high"}}`)
	require.Error(t, err)
	namespaces, known := set.HidesIn(Pod)
	require.True(t, known)
	require.Equal(t, map[string]bool{"other": true}, namespaces)
	full, err := set.AtFullHealth()
	require.Error(t, err)
	require.True(t, full.Hides(Pod))
	_, known = full.HidesIn(Pod)
	require.False(t, known)
	_, known = set.HidesIn(Pod)
	require.True(t, known, "the set itself does not change")
}

// Nil objects are left where they are.
func TestNilObjects(t *testing.T) {
	set := &Set{
		Nodes: []*corev1.Node{nil}, Pods: []*corev1.Pod{nil}, Deployments: []*appsv1.Deployment{nil}, ReplicaSets: []*appsv1.ReplicaSet{nil},
	}
	full, err := set.AtFullHealth()
	require.NoError(t, err)
	require.Len(t, full.Pods, 1)
	require.Len(t, set.WithBuiltinClusterRoles().ClusterRoles, 6)
}

// Added nodes fit every workload: which labels the nodes of a cluster have is not known from a chart.
func TestAddedNodesFitEveryWorkload(t *testing.T) {
	selective := strings.Replace(template, "spec: {", "spec: {nodeSelector: {disk: ssd}, ", 1)
	set := loaded(t, nodesYAML("node-1")+workloadYAML("apps/v1", "ReplicaSet", "web", "replicas: 2, "+selective)+workloadYAML("apps/v1", "DaemonSet", "agent", selective))
	full, err := set.WithNodes(2).AtFullHealth()
	require.NoError(t, err)
	require.Equal(t, []string{"web-00000@node-2", "web-00001@node-3", "agent-node-2@node-2", "agent-node-3@node-3"}, podsOn(full))
	require.Len(t, full.Notes, 1)
	require.Contains(t, full.Notes[0].String(), "ReplicaSet shop/web: spec.template.spec: every added node is taken to fit")
	require.Len(t, set.Nodes, 1, "the set itself does not change")
	_, err = set.AtFullHealth()
	require.ErrorContains(t, err, "no node of the set fits", "a node of the input has the labels that it has")
}

// BenchmarkDeployments: in a dump each Deployment has its ReplicaSets. The time grows with the Deployments, and not with
// Deployments times ReplicaSets.
func BenchmarkDeployments(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			set := &Set{}
			labels := map[string]string{"app": "a"}
			spec := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
			for i := range n {
				d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("d%d", i), UID: types.UID(fmt.Sprintf("d%d", i))}}
				d.Spec.Selector, d.Spec.Template = &metav1.LabelSelector{MatchLabels: labels}, spec
				r := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: d.Name + "-1"}}
				r.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
				r.Spec.Selector, r.Spec.Template = d.Spec.Selector, spec
				set.Deployments, set.ReplicaSets = append(set.Deployments, d), append(set.ReplicaSets, r)
			}
			for b.Loop() {
				full, err := set.AtFullHealth()
				if err != nil || len(full.Pods) != n {
					b.Fatal(len(full.Pods), err)
				}
			}
		})
	}
}
