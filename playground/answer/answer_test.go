package answer_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/playground/answer"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func sample(t *testing.T, name string) []byte {
	text, err := os.ReadFile("../samples/" + name)
	require.NoError(t, err)
	return text
}

// says is each node and each budget in a word or three.
func says(a answer.Answer) (all []string) {
	if a.Drains != nil {
		for _, n := range a.Drains.Nodes {
			all = append(all, n.Name+" "+n.Says)
		}
	}
	for _, b := range a.Budgets {
		all = append(all, b.Name+" "+b.State)
	}
	return all
}

func TestSamples(t *testing.T) {
	for name, want := range map[string][]string{
		"1-cluster.yaml": {"worker-1 never", "worker-2 never", "worker-3 never", "worker-4 now", "shop/checkout never", "shop/basket blocks", "shop/search allows"},
		"2-rounds.json":  {"node-a in 3 rounds", "node-b now", "shop/web allows"},
		"3-chart.yaml":   {"node-2 never", "node-1 in 2 rounds", "node-3 now", "shop/db never", "shop/web allows"},
		"4-room.yaml":    {"node-b leaves pods pending", "node-a now", "shop/web allows"},
		"5-unknown.yaml": nil,
	} {
		a := answer.Ask(sample(t, name), question, noon)
		require.Equal(t, want, says(a), name)
		require.Empty(t, a.Problems, name)
		require.Equal(t, name == "5-unknown.yaml", len(a.Refusals) == 1, name)
		require.Equal(t, name == "3-chart.yaml", a.AtFullHealth, name)
	}
}

// What was not read to its end is not answered, and says so, also where it ends between two objects.
func TestCutOff(t *testing.T) {
	text := string(sample(t, "2-rounds.json"))
	for _, end := range []int{len(text) - 3, strings.LastIndex(text, `    {
      "apiVersion"`)} {
		a := answer.Ask([]byte(text[:end]), question, noon)
		require.Nil(t, a.Drains)
		require.Empty(t, a.Budgets)
		require.Len(t, a.Refusals, 2)
		require.Equal(t, "The input was not read to its end.", a.Refusals[0].Why)
	}
}

// Who knows that the cluster has no budgets says so.
func TestNone(t *testing.T) {
	a := answer.Ask(sample(t, "5-unknown.yaml"), question, noon)
	require.Equal(t, []string{"PodDisruptionBudget"}, a.Refusals[0].Missing)
	with := question
	with.None = a.Refusals[0].Missing
	a = answer.Ask(sample(t, "5-unknown.yaml"), with, noon)
	require.Empty(t, a.Refusals)
	require.Equal(t, []string{"node-a now", "node-b now"}, says(a))
	with.None = []string{"NoSuchKind"}
	require.Len(t, answer.Ask(sample(t, "5-unknown.yaml"), with, noon).Refusals, 1)
}

// A cluster that was not asked for its pods has some. A chart has none, and its pods are made.
func TestNoPods(t *testing.T) {
	text := strings.ReplaceAll(string(sample(t, "3-chart.yaml")), "namespace: shop}", "namespace: shop, uid: x, resourceVersion: '1'}")
	a := answer.Ask([]byte(text), question, noon)
	require.False(t, a.AtFullHealth)
	require.Nil(t, a.Drains)
	require.Len(t, a.Refusals, 1)
	require.Contains(t, a.Refusals[0].Missing, "Pod")

	// Nor are pods made where something could not be read, or the input has a list of pods.
	for _, more := range []string{"---\nkind: [", "---\n{apiVersion: v1, kind: PodList, items: []}\n", "---\n{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: 1}\n"} {
		a := answer.Ask(append(sample(t, "3-chart.yaml"), more...), question, noon)
		require.False(t, a.AtFullHealth, more)
	}
	with := question
	with.Nodes = 5
	require.Equal(t, 5, answer.Ask(sample(t, "3-chart.yaml"), with, noon).MadeNodes)
	// Without pods of one workload, no answer is given.
	broken := strings.Replace(string(sample(t, "3-chart.yaml")), "labels: {app: db}", "labels: {app: other}", 1)
	a = answer.Ask([]byte(broken), question, noon)
	require.NotEmpty(t, a.Problems)
	require.Len(t, a.Refusals, 2)
	require.Nil(t, a.Drains)
	require.Empty(t, a.Budgets)
}

// A budget that cannot be read may select any pod of its namespace.
func TestUnreadableBudget(t *testing.T) {
	text := string(sample(t, "1-cluster.yaml"))
	for i := range 2 {
		text += fmt.Sprintf("- {apiVersion: v1, kind: Pod, metadata: {name: p-%d, namespace: other}, spec: {nodeName: worker-9, containers: [{name: main, image: x}]}, status: {phase: Succeeded}}\n", i)
	}
	text = strings.Replace(text, "maxUnavailable: 1,", "maxUnavailable: [1],", 1)
	a := answer.Ask([]byte(text), question, noon)
	require.Len(t, a.Refusals, 1)
	require.Contains(t, a.Refusals[0].Why, "Not answered for 4 nodes")
	require.Len(t, a.Drains.Nodes, 1)
	require.Equal(t, "worker-9", a.Drains.Nodes[0].Name)
	for _, b := range a.Budgets {
		require.NotEqual(t, "shop/basket allows", b.Name+" "+b.State)
	}
}

// What helps is said in the command's words, also where something else is in the way then.
func TestFixes(t *testing.T) {
	text := string(sample(t, "1-cluster.yaml")) + "- {apiVersion: v1, kind: Pod, metadata: {name: bare, namespace: shop}, spec: {nodeName: worker-3, containers: [{name: main, image: x}]}}\n"
	a := answer.Ask([]byte(text), question, noon)
	var fixes []string
	for _, b := range a.Drains.Blockers {
		fixes = append(fixes, b.Fixes...)
	}
	require.Contains(t, fixes, "with --force: no longer in the way, but something else is")
	require.Contains(t, fixes, "with maxUnavailable 2: drains now")
}

// A budget without a name may be of any namespace: no drain is answered.
func TestBudgetOfAnyNamespace(t *testing.T) {
	text := string(sample(t, "1-cluster.yaml")) + "- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {}, spec: {maxUnavailable: 1}}\n"
	a := answer.Ask([]byte(text), question, noon)
	require.Nil(t, a.Drains)
	require.Equal(t, []string{"An object that is a PodDisruptionBudget, or may be one, could not be read."}, whys(a))
	require.Len(t, a.Budgets, 3, "what the other budgets allow is known")
	require.Equal(t, []string{"line 141: document 1, item 18: PodDisruptionBudget: metadata.name: required"}, a.Problems)
}

// A dump of yesterday is answered for yesterday: a pod that was terminating is not stuck.
func TestTimeOfTheInput(t *testing.T) {
	a := answer.Ask([]byte(strings.Replace(string(sample(t, "1-cluster.yaml")), "metadata: {name: worker-1}", `metadata: {name: worker-1, uid: x, resourceVersion: "1", creationTimestamp: "2026-11-26T12:00:00Z"}`, 1)), question, noon)
	require.Equal(t, []string{"The time is taken to be 2026-11-26T12:00:00Z, the newest in the input."}, a.Notes)
}

// What a page shows is bounded.
func TestBounds(t *testing.T) {
	var all []object
	for i := range 1000 {
		name := fmt.Sprintf("n-%04d", i)
		all = append(all, object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": name, "namespace": "x", "labels": object{"a": name}}, "spec": object{"nodeName": name, "containers": []object{{"name": "c", "image": "i"}}}},
			object{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": object{"name": name, "namespace": "x"}, "spec": object{"minAvailable": 1, "selector": object{"matchLabels": object{"a": name}}}})
	}
	with := question
	with.Force = true
	a := answer.Ask([]byte(write(t, all)), with, noon)
	require.Len(t, a.Drains.Nodes, 200)
	require.Equal(t, 800, a.Drains.MoreNodes)
	require.Equal(t, 1000, a.Drains.Totals[0].Nodes)
	require.Len(t, a.Budgets, 200)
	require.LessOrEqual(t, len(a.Lint), 200)
	require.LessOrEqual(t, len(a.Drains.Blockers), 20)
	out, err := json.Marshal(a)
	require.NoError(t, err)
	require.Less(t, len(out), 500_000)
}

func TestNothing(t *testing.T) {
	for _, text := range []string{"", " \n", "# only a comment\n", "hello", "{", "\x00\x01", "\x1f\x8b"} {
		a := answer.Ask([]byte(text), question, noon)
		require.Nil(t, a.Drains, "%q", text)
		require.NotEmpty(t, a.Problems, "%q", text)
	}
}

// A Node with a field that could not be read may have a taint that keeps the evicted pods away.
func TestNodeThatWasReadInPart(t *testing.T) {
	text := string(sample(t, "4-room.yaml"))
	spoiled := strings.Replace(text, "kind: Node\n", "kind: Node\n  spce: {taints: [{key: gpu, effect: NoSchedule}]}\n", 1)
	require.NotEqual(t, text, spoiled)
	a := answer.Ask([]byte(spoiled), question, noon)
	require.Nil(t, a.Drains)
	require.Len(t, a.Refusals, 1)
	require.Equal(t, "An object that is a Node, or may be one, could not be read.", a.Refusals[0].Why)
	require.Equal(t, []string{"shop/web allows"}, says(a), "a plan does not rest on nodes")
}

// Changes are played for 100 of the nodes that a cause stops, and the text says so.
func TestFixThatWasNotPlayedForAllNodes(t *testing.T) {
	text := `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: db}
spec: {maxUnavailable: 0, selector: {}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, uid: u}
spec: {replicas: 101, podManagementPolicy: Parallel, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}}}
`
	for i := range 101 {
		text += fmt.Sprintf(`---
apiVersion: v1
kind: Pod
metadata: {name: db-%d, labels: {app: db}, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: u, controller: true}]}
spec: {nodeName: n%d}
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
`, i, i)
	}
	a := answer.Ask([]byte(text), question, noon)
	require.Equal(t, []string{"with maxUnavailable 1: 100 of 100 simulated nodes drain now"}, a.Drains.Blockers[0].Fixes)
}

// A lookup that is open does not stop a node: it is not known whether it drains.
func TestLookupLeavesNodesUnknown(t *testing.T) {
	a := answer.Ask([]byte(`
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: db}
spec: {maxUnavailable: 1, selector: {}}
---
apiVersion: v1
kind: Pod
metadata: {name: db, ownerReferences: [{apiVersion: example.com/v1, kind: Game, name: db, uid: u, controller: true}]}
spec: {nodeName: node-n}
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
`), question, noon)
	require.Empty(t, a.Refusals)
	require.Empty(t, a.Problems)
	require.Len(t, a.Drains.Blockers, 1)
	require.Equal(t, "leaves 1 node unknown (node-n)", a.Drains.Blockers[0].Stops)
}
