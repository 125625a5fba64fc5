package disruption

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// fromFile reads a dump of a real cluster.
func fromFile(t *testing.T, name string, at time.Time) Snapshot {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	var list struct{ Items []runtime.RawExtension }
	require.NoError(t, yaml.Unmarshal(text, &list))
	s := Snapshot{Now: at}
	for _, item := range list.Items {
		var kind struct{ Kind string }
		require.NoError(t, yaml.Unmarshal(item.Raw, &kind))
		var object any
		switch kind.Kind {
		case "PodDisruptionBudget":
			b := &policyv1.PodDisruptionBudget{}
			s.Budgets, object = append(s.Budgets, b), b
		case "Pod":
			p := &corev1.Pod{}
			s.Pods, object = append(s.Pods, p), p
		case "ReplicaSet":
			rs := &appsv1.ReplicaSet{}
			s.ReplicaSets, object = append(s.ReplicaSets, rs), rs
		case "Deployment":
			d := &appsv1.Deployment{}
			s.Deployments, object = append(s.Deployments, d), d
		case "StatefulSet":
			ss := &appsv1.StatefulSet{}
			s.StatefulSets, object = append(s.StatefulSets, ss), ss
		default:
			t.Fatalf("%s in %s", kind.Kind, name)
		}
		require.NoError(t, yaml.UnmarshalStrict(item.Raw, object))
	}
	return s
}

// What the real controllers made of a cluster is right already.
func TestRealClusterAtRest(t *testing.T) {
	s := fromFile(t, "converged.yaml", time.Date(2026, 11, 21, 1, 10, 30, 0, time.UTC))
	require.Len(t, s.Budgets, 5)
	for mode, o := range bothModes {
		outcomes, err := PlanAll(s, o)
		require.NoError(t, err)
		for _, out := range outcomes {
			require.NoError(t, out.Err)
			require.Empty(t, out.Result.Actions, "%s: %v", mode, out.Key)
			require.Empty(t, out.Result.Needs)
		}
	}
}

func TestRealClusterAfterChanges(t *testing.T) {
	s := fromFile(t, "drift.yaml", time.Date(2026, 11, 21, 1, 11, 7, 0, time.UTC))
	got := map[string]string{}
	outcomes, err := PlanAll(s, Options{})
	require.NoError(t, err)
	for _, out := range outcomes {
		require.NoError(t, out.Err)
		for _, a := range out.Result.Actions {
			got[out.Key.Name] = a.(UpdateStatus).String()
		}
	}
	require.Empty(t, cmp.Diff(map[string]string{
		// Of 7 wanted 6 are left, 3 of them ready; 30 % of 7 are 3 that may be missing.
		"web": "UpdateStatus shop/web: 0 allowed, 3 healthy, 4 desired, 7 expected",
		// minAvailable is a number, so the pods that are left are what is expected.
		"db": "UpdateStatus shop/db: 1 allowed, 4 healthy, 3 desired, 4 expected",
	}, got))
}
