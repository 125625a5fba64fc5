package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const selectiveChart = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 2, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {nodeSelector: {disk: ssd}, containers: [{name: c}]}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: a}}}
`

// A nodeSelector in a template is nothing that added nodes fail.
func TestAddedNodesFitANodeSelector(t *testing.T) {
	got := plan(t, nil, selectiveChart, "plan", "-core", "disruption", "-at-full-health", "-nodes", "3", "-")
	require.Equal(t, exitPlanned, got.status, got.stderr)
	require.Contains(t, got.stdout, "Note: ReplicaSet default/web-")
	require.Empty(t, got.stderr)
}

// What -at-full-health makes pods of is not ignored, and added nodes are no input objects.
func TestWhatFullHealthUses(t *testing.T) {
	others := `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec: {selector: {matchLabels: {app: b}}, template: {metadata: {labels: {app: b}}, spec: {containers: [{name: c}]}}}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec: {replicas: 1, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c}]}}}
---
`
	got := plan(t, nil, others+selectiveChart, "plan", "-core", "disruption", "-")
	require.Contains(t, got.stdout, "these kinds: 1 DaemonSet.apps, 1 argoproj.io/v1alpha1 Rollout")
	got = plan(t, nil, others+selectiveChart, "plan", "-core", "disruption", "-at-full-health", "-nodes", "2", "-")
	require.NotContains(t, got.stdout, "does not use these kinds")

	service := "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"
	got = plan(t, nil, service, "plan", "-core", "disruption", "-at-full-health", "-nodes", "3", "-")
	require.Contains(t, got.stderr, "the input object is not of a kind")
}
