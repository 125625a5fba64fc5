package restson

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube/manifests"
)

func read(t *testing.T, text string) *manifests.Set {
	t.Helper()
	set, _ := manifests.Load(manifests.Options{Stdin: strings.NewReader("---\n" + text)}, "-")
	return set
}

func TestControllerKinds(t *testing.T) {
	set := read(t, `
{apiVersion: v1, kind: Pod, metadata: {name: a, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: r, controller: true}]}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: d, uid: d, controller: true}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, ownerReferences: [{apiVersion: example.com/v1, kind: StatefulSet, name: s, uid: s, controller: true}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: c, ownerReferences: [{apiVersion: v1, kind: ReplicationController, name: rc, uid: rc, controller: true}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: d, ownerReferences: [{apiVersion: apps/v1, kind: ReplicationController, name: rc, uid: rc, controller: true}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: e, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: s, uid: s}]}}`)
	require.Len(t, set.Pods, 5)
	require.Equal(t, []schema.GroupKind{manifests.ReplicaSet, manifests.Deployment, manifests.ReplicationController}, ControllerKinds(set))
}

func TestNodes(t *testing.T) {
	set := read(t, `
{apiVersion: v1, kind: Node, metadata: {name: known}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: shop}, spec: {nodeName: known}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: train}, spec: {nodeName: other}}
---
{apiVersion: v1, kind: Pod, metadata: {name: c, namespace: shop}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: shop}, spec: {minAvailable: [], selector: {}}}`)
	require.Len(t, set.Pods, 3)
	require.Equal(t, map[string]bool{"other": true}, UnknownNodes(set))
	nodes, namespaces := NodesWithoutBudgets(set)
	require.Equal(t, map[string]bool{"known": true}, nodes)
	require.Equal(t, map[string]bool{"shop": true}, namespaces)
}
