package manifests

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
)

// A workload with a field that could not be read may have other replicas than were read. With the default of one
// replica, the budget of 60 % of 5 pods let four of them go.
func TestWorkloadThatWasReadInPart(t *testing.T) {
	const rest = `
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: db}
spec: {minAvailable: 60%, selector: {matchLabels: {app: db}}}`
	const pod = `
---
apiVersion: v1
kind: Pod
metadata: {name: db-N, labels: {app: db}, ownerReferences: [{apiVersion: APIVERSION, kind: KIND, name: db, uid: u, controller: true}]}
spec: {nodeName: a}
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}`
	for kind, apiVersion := range map[string]string{
		"StatefulSet": "apps/v1", "ReplicaSet": "apps/v1", "ReplicationController": "v1",
	} {
		t.Run(kind, func(t *testing.T) {
			text := "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: db, uid: u}\nspec: {REPLICAS: 5, selector: SELECTOR}" + rest
			selector := "{matchLabels: {app: db}}"
			if kind == "ReplicationController" {
				selector = "{app: db}"
			}
			text = strings.Replace(text, "SELECTOR", selector, 1)
			for n := range 5 {
				text += strings.NewReplacer("db-N", "db-"+string(rune('0'+n)), "APIVERSION", apiVersion, "KIND", kind).Replace(pod)
			}
			allowed := func(replicas string) (int32, []purekube.Need) {
				set, _ := Load(Options{Stdin: strings.NewReader(strings.Replace(text, "REPLICAS", replicas, 1))}, "-")
				x := disruption.NewIndex(set.Disruption(time.Unix(0, 0)), disruption.Options{})
				e, err := x.CheckEviction(types.NamespacedName{Namespace: "default", Name: "db-0"}, disruption.Recomputed)
				require.NoError(t, err)
				explained, _ := x.Explain(disruption.BudgetKey("default", "db"))
				return explained.Budget.Computed.DisruptionsAllowed, e.Needs
			}
			n, needs := allowed("replicas")
			require.Equal(t, int32(2), n)
			require.Empty(t, needs)
			n, needs = allowed("replicaz")
			require.Zero(t, n)
			require.Len(t, needs, 1, "its scale is a lookup")
		})
	}
}
