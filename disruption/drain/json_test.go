package drain_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
)

// Names of pods and budgets have the keys namespace and name, and what was written is read again.
func TestJSON(t *testing.T) {
	web, db := types.NamespacedName{Namespace: "shop", Name: "web"}, types.NamespacedName{Namespace: "shop", Name: "db"}
	eviction := disruption.Eviction{Verdict: disruption.RefusedNow, Budget: web, Blocking: []types.NamespacedName{web, db}, Reason: "full", Shortfall: 1}
	d := drain.Drain{
		Node: "n", Outcome: drain.Never, Rounds: [][]types.NamespacedName{{web, db}, {}},
		Skipped:      []drain.SkippedPod{{Pod: web, Code: drain.ReasonMirrorPod, Message: "a"}},
		Refused:      []drain.RefusedPod{{Pod: db, Code: drain.ReasonEvictionRefused, Message: "b", Eviction: eviction}, {Pod: db, Code: drain.ReasonStuckPod, Message: "c"}},
		NodesChecked: true,
		Pending:      []drain.PendingPod{{Pod: web, Message: "0/0 nodes are available."}},
		Needs:        []purekube.Need{{APIVersion: "v1", Kind: "X", Name: "x"}},
	}
	const webJSON, dbJSON = `{"namespace":"shop","name":"web"}`, `{"namespace":"shop","name":"db"}`
	for _, tc := range []struct {
		name      string
		of, again any
		want      string
	}{
		{"Drain", &d, &drain.Drain{}, `{"node":"n","outcome":"Never","rounds":[[` + webJSON + "," + dbJSON + `],[]],
			"skipped":[{"pod":` + webJSON + `,"code":"MirrorPod","message":"a"}],
			"refused":[{"pod":` + dbJSON + `,"code":"EvictionRefused","message":"b","eviction":
				{"verdict":"RefusedNow","budget":` + webJSON + `,"blocking":[` + webJSON + "," + dbJSON + `],"reason":"full","shortfall":1}},
				{"pod":` + dbJSON + `,"code":"StuckPod","message":"c"}],
			"nodesChecked":true,"pending":[{"pod":` + webJSON + `,"message":"0/0 nodes are available."}],
			"needs":[{"apiVersion":"v1","kind":"X","name":"x"}]}`},
		{"Drain of nothing", &drain.Drain{Node: "n"}, &drain.Drain{}, `{"node":"n","outcome":""}`},
		{"Eviction without a budget", &disruption.Eviction{Verdict: disruption.AllowedNoBudget}, &disruption.Eviction{}, `{"verdict":"AllowedNoBudget"}`},
		{"PodExplanation", &disruption.PodExplanation{Budgets: []types.NamespacedName{web}}, &disruption.PodExplanation{}, `{"budgets":[` + webJSON + `]}`},
		{"PodExplanation without budgets", &disruption.PodExplanation{}, &disruption.PodExplanation{}, `{}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := json.Marshal(tc.of)
			require.NoError(t, err)
			require.JSONEq(t, tc.want, string(got))
			require.NoError(t, json.Unmarshal(got, tc.again))
			require.Empty(t, cmp.Diff(tc.of, tc.again))
		})
	}
}
