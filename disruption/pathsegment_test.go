package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/purekube/purekube"
)

// Users choose what the owner references of their pods name. Whoever makes the lookup puts it into a path.
func TestOwnerThatNoPathCanHoldIsNoNeed(t *testing.T) {
	const hostile = "../../../../../../api/v1/namespaces/prod/pods/db-0"
	const custom = "example.com/v1"
	for _, tc := range []struct{ name, apiVersion, kind, owner, field, text string }{
		{"another object", custom, "Game", hostile, "metadata.name", `invalid resource name "` + hostile + `": [may not contain '/']`},
		{"an encoded slash", custom, "Game", "..%2fdb-0", "metadata.name", `invalid resource name "..%2fdb-0": [may not contain '%']`},
		{"the parent", custom, "Game", "..", "metadata.name", `invalid resource name "..": [may not be '..']`},
		{"itself", custom, "Game", ".", "metadata.name", `invalid resource name ".": [may not be '.']`},
		{"no name", custom, "Game", "", "metadata.name", "resource name may not be empty"},
		{"kind", custom, "../Game", "chess", "kind", `invalid kind "../Game": [may not contain '/']`},
		{"group", "../v1", "Game", "chess", "apiVersion", `invalid apiVersion "../v1": [may not be '..']`},
		{"version", "example.com/%2e", "Game", "chess", "apiVersion", `invalid apiVersion "example.com/%2e": [may not contain '%']`},
		{"of a kind without a scale", "batch/v1", "Job", hostile, "metadata.name", `invalid resource name "` + hostile + `": [may not contain '/']`},
		{"a ReplicaSet, which is asked for as an object", "apps/v1", "ReplicaSet", hostile, "metadata.name", `invalid resource name "` + hostile + `": [may not contain '/']`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}, Pods: []*corev1.Pod{pod("p", by(tc.apiVersion, tc.kind, tc.owner))}}
			for _, release := range []purekube.Upstream{"", purekube.V1_36, purekube.V1_37} {
				r, err := Plan(s, key("web"), Options{MatchUpstream: release})
				require.ErrorIs(t, err, purekube.ErrPathSegment)
				var problem *purekube.ObjectError
				require.ErrorAs(t, err, &problem)
				require.Equal(t, []string{tc.kind, ns, tc.owner, tc.field}, []string{problem.Kind, problem.Namespace, problem.Name, problem.Field})
				require.Empty(t, r.Needs)
				status := written(t, r)
				require.Zero(t, status.DisruptionsAllowed)
				require.Equal(t, policyv1.SyncFailedReason, status.Conditions[0].Reason)
				require.Equal(t, tc.text, status.Conditions[0].Message, "client-go's text about a name is upstream's, too")
			}
		})
	}
}

// A Deployment that a ReplicaSet names is a name that users choose, too (D-22).
func TestDeploymentThatNoPathCanHoldIsNoNeed(t *testing.T) {
	s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}, Pods: []*corev1.Pod{pod("p", by("apps/v1", "ReplicaSet", "web-1"))}}
	s.ReplicaSets = append(s.ReplicaSets, replicaSet("web-1", "../db", nil))
	r, err := Plan(s, key("web"), Options{})
	require.ErrorIs(t, err, purekube.ErrPathSegment)
	require.Empty(t, r.Needs)
	require.Zero(t, written(t, r).DisruptionsAllowed)
}

// What a path can hold is asked for, whatever it looks like: whoever makes the request escapes it.
func TestOwnerThatAPathCanHoldIsANeed(t *testing.T) {
	for _, name := range []string{"a?watch=true", "a#b", "a\r\nb", "..."} {
		s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}, Pods: []*corev1.Pod{pod("p", by("example.com/v1", "Game", name))}}
		r, err := Plan(s, key("web"), Options{})
		require.NoError(t, err)
		require.Equal(t, []purekube.Need{{APIVersion: "example.com/v1", Kind: "Game", Namespace: ns, Name: name, Subresource: "scale"}}, r.Needs)
	}
}
