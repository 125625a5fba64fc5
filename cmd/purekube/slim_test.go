package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/scenario"
	"github.com/purekube/purekube/manifests"
	"github.com/purekube/purekube/manifests/lint"
)

// What the slimmer takes out of objects changes no answer: about the scenario files, which have what the rules read, and the fleet.
func TestSlimChangesNoAnswer(t *testing.T) {
	files, err := filepath.Glob("../../conformance/*/*.yaml")
	require.NoError(t, err)
	drains, err := filepath.Glob("../../conformance/disruption/drain/*.yaml")
	require.NoError(t, err)
	files = append(files, drains...)
	slimmed := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		s, err := scenario.Parse(file, text)
		require.NoError(t, err)
		want, err := s.Set()
		require.NoError(t, err)
		got, err := s.Set()
		require.NoError(t, err)
		slimmed += slimAll(got.Set)
		require.Equal(t, answersAbout(t, want.Set), answersAbout(t, got.Set), file)
	}
	require.Greater(t, slimmed, 150)
	for _, file := range []string{fleetFile, podsFile(t)} {
		want, err := manifests.Load(manifests.Options{}, file)
		require.NoError(t, err)
		got, err := manifests.Load(manifests.Options{Transform: (&slimmer{}).slim}, file)
		require.NoError(t, err)
		require.NotEqual(t, want.Pods, got.Pods)
		require.Equal(t, answersAbout(t, want), answersAbout(t, got), file)
	}
}

func slimAll(set *manifests.Set) int {
	s := &slimmer{}
	for _, o := range set.Objects() {
		s.slim(o)
	}
	return len(set.Pods)
}

// answersAbout are the plans and the drains as JSON, and what lint finds.
func answersAbout(t *testing.T, set *manifests.Set) string {
	t.Helper()
	var out bytes.Buffer
	for _, found := range lint.Check(set).Findings {
		found.At = manifests.Ref{} // of the same file
		fmt.Fprintln(&out, found)
	}
	for _, args := range []string{"plan --explain -o json", "drain all --ignore-daemonsets --force -o json", "drain all --ignore-daemonsets --force --delete-emptydir-data -o json"} {
		inv, err := parse(append(strings.Fields(args), "-f", "-"), system{stdout: &out, now: noonClock})
		require.NoError(t, err)
		c := &cluster{Set: set}
		rep := inv.report(c)
		if inv.command.name == "drain" {
			f := newFleet(c, inv.settings)
			drains, err := inv.drain.each(f, inv.drain.names(f))
			rep.addProblems(err, purekube.Key{}, c)
			require.NoError(t, rep.writeDrainsJSON(&visibleWriter{w: &out}, drains, inv.drain.blockers(f, f.index, played(drains)), false))
			continue
		}
		require.NoError(t, rep.writeJSON(&visibleWriter{w: &out}))
	}
	return out.String()
}

// podsFile has pods with everything that decides where a pod runs and whether kubectl drain evicts it.
func podsFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pods.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`
---
{apiVersion: v1, kind: Node, metadata: {name: a, uid: a, resourceVersion: "1"}, spec: {taints: [{key: k, effect: NoSchedule}]},
  status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}, conditions: [{type: Ready, status: "True"}], images: [{names: [x]}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: b, uid: b, resourceVersion: "1", labels: {disk: ssd}},
  status: {allocatable: {cpu: 700m, memory: 1Gi, pods: "10"}, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: c, uid: c, resourceVersion: "1"},
  status: {allocatable: {cpu: "4", memory: 4Gi, pods: "10"}, conditions: [{type: Ready, status: "True"}]}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: shop, uid: db}, spec: {replicas: 6, podManagementPolicy: Parallel}}
---
apiVersion: v1
kind: Pod
metadata:
  name: db-0
  namespace: shop
  labels: {app: db}
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: db, controller: true}]
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}
  managedFields: [{manager: m, operation: Update, time: "2026-11-21T10:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {}}}]
spec:
  nodeName: c
  initContainers: [{name: sidecar, image: x, restartPolicy: Always, resources: {requests: {cpu: 300m}}}]
  containers: [{name: main, image: x, resources: {requests: {cpu: 500m}}}]
  tolerations: [{key: k, operator: Exists}]
  overhead: {cpu: 100m}
status:
  phase: Running
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: v1
kind: Pod
metadata:
  name: db-1
  namespace: shop
  labels: {app: db}
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: db, controller: true}]
spec:
  nodeName: b
  nodeSelector: {disk: ssd}
  containers: [{name: main, image: x, ports: [{containerPort: 80, hostPort: 8080}], resources: {requests: {cpu: 10m}}}]
status:
  phase: Running
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: v1
kind: Pod
metadata:
  name: db-2
  namespace: shop
  labels: {app: db}
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: db, controller: true}]
spec:
  nodeName: c
  containers: [{name: main, image: x, env: [{name: A, value: b}], resources: {requests: {cpu: 10m}, limits: {cpu: 7}}}]
  volumes: [{name: files, emptyDir: {}}, {name: config, configMap: {name: c}}]
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: DoesNotExist}]}]}}}
status:
  phase: Running
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: v1
kind: Pod
metadata:
  name: db-3
  namespace: shop
  labels: {app: db}
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: db, controller: true}]
spec:
  nodeName: c
  containers: [{name: main, image: x, ports: [{containerPort: 80, hostPort: 8080}], resources: {requests: {cpu: 10m}}}]
status:
  phase: Running
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: v1
kind: Pod
metadata:
  name: db-4
  namespace: shop
  labels: {app: db}
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: db, controller: true}]
spec:
  nodeName: a
  containers: [{name: main, image: x, resources: {requests: {cpu: 500m}}}]
status:
  phase: Running
  conditions: [{type: Ready, status: "True"}]
  containerStatuses: [{name: main, ready: true, restartCount: 0, image: x, imageID: x, allocatedResources: {cpu: 1900m}, resources: {requests: {cpu: 1900m}}}]
---
apiVersion: v1
kind: Pod
metadata:
  name: db-5
  namespace: shop
  labels: {app: db}
  ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: db, uid: db, controller: true}]
spec:
  nodeName: b
  containers: [{name: main, image: x, resources: {limits: {memory: 100Gi}}}]
status:
  phase: Running
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: v1
kind: Pod
metadata: {name: static, namespace: shop, annotations: {kubernetes.io/config.mirror: x}, ownerReferences: [{apiVersion: v1, kind: Node, name: b, uid: b, controller: true}]}
spec: {nodeName: b, containers: [{name: main, image: x}]}
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
`), 0o600))
	return file
}
