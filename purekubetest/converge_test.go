package purekubetest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/aliasing"
	"github.com/purekube/purekube/ttl"
)

func texts(steps []Step) []string {
	var all []string
	for _, s := range steps {
		all = append(all, fmt.Sprintf("%d %s", s.Round, s))
	}
	return all
}

// What each package does on the way to rest, in order.
func TestConverge(t *testing.T) {
	deletedAt := Created.Add(time.Hour)
	t.Run("servicecidr: the clock goes on to the end of the grace period", func(t *testing.T) {
		s := NewCluster(t, Deleted(ServiceCIDR("old", "10.0.0.0/24"), deletedAt)).ServiceCIDR()
		s.Now = deletedAt
		atRest, steps := Converge(t, s)
		require.Equal(t, []string{"2 RemoveFinalizer old"}, texts(steps))
		require.Equal(t, deletedAt.Add(10*time.Second), steps[0].At)
		require.Empty(t, atRest.ServiceCIDRs)
		require.Len(t, s.ServiceCIDRs, 1, "the snapshot that was handed in does not change")
	})
	t.Run("resourceclaim: what an ended pod held goes", func(t *testing.T) {
		p := Pod("ml/p")
		claim := ClaimFor(p, "gpu")
		atRest, steps := Converge(t, NewCluster(t, Ended(p), claim).ResourceClaim())
		require.Equal(t, []string{"1 Release ml/p-gpu: p, deallocate", "1 RemoveFinalizer ml/p-gpu", "1 DeleteClaim ml/p-gpu"}, texts(steps))
		require.Empty(t, atRest.Claims)
	})
	t.Run("resourceclaim: a running pod keeps what it has", func(t *testing.T) {
		p := Pod("ml/p")
		claim := ClaimFor(p, "gpu")
		_, steps := Converge(t, NewCluster(t, p, claim).ResourceClaim())
		require.Empty(t, steps)
	})
	t.Run("ttl: a new node gets its annotation", func(t *testing.T) {
		n := Node("b")
		n.Annotations = nil
		atRest, steps := Converge(t, NewCluster(t, Node("a"), n).TTL())
		require.Equal(t, []string{"1 SetTTL b: 0s"}, texts(steps))
		require.Equal(t, "0", atRest.Nodes[1].Annotations[ttl.Annotation])
	})
	t.Run("rbacaggregate: rules are collected", func(t *testing.T) {
		source := ClusterRole("view-pods", rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}})
		source.Labels = map[string]string{"to-view": "true"}
		atRest, steps := Converge(t, NewCluster(t, AggregatedRole("view", "to-view"), source).RBACAggregate())
		require.Equal(t, []string{"1 SetRules view: 1 rule"}, texts(steps))
		require.Equal(t, source.Rules, atRest.ClusterRoles[0].Rules)
	})
	t.Run("disruption: the status is computed", func(t *testing.T) {
		w := Deployment("shop/web", 3)
		NotReady(w.Pods[0])
		atRest, steps := Converge(t, NewCluster(t, w.Objects(MaxUnavailable("shop/web", "1"))...).Disruption())
		require.Equal(t, []string{"1 UpdateStatus shop/web: 0 allowed, 2 healthy, 2 desired, 3 expected"}, texts(steps))
		require.Equal(t, int32(2), atRest.Budgets[0].Status.CurrentHealthy)
	})
}

// fatal is a testing.TB that keeps the message of the first failure.
type fatal struct {
	testing.TB
	message string
}

func (f *fatal) Helper() {}

func (f *fatal) Fatal(args ...any) {
	f.message = fmt.Sprint(args...)
	panic(f)
}

func (f *fatal) Fatalf(format string, args ...any) { f.Fatal(fmt.Sprintf(format, args...)) }

// failure is the message that the test of a user would fail with.
func failure(t *testing.T, test func(t testing.TB)) string {
	t.Helper()
	f := &fatal{TB: t}
	func() {
		defer func() {
			if r := recover(); r != nil && r != f {
				panic(r)
			}
		}()
		test(f)
	}()
	return f.message
}

func TestFailures(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		test         func(testing.TB)
		want         string
	}{
		{"an error of a plan", "the pod names a template that is not there", func(t testing.TB) {
			p := Pod("ml/p")
			p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("none")}}
			Converge(t, NewCluster(t, p).ResourceClaim())
		}, "template not found"},
		{"a lookup", "the scale of the pod's controller is not in the snapshot", func(t testing.TB) {
			w := Deployment("shop/web", 1)
			Converge(t, NewCluster(t, w.Pods[0], MaxUnavailable("shop/web", "1")).Disruption())
		}, "is not in the snapshot"},
		{"a nil object", "no cluster holds one", func(t testing.TB) {
			Converge(t, disruption.Snapshot{Pods: []*corev1.Pod{nil}})
		}, "a nil object"},
		{"a kind that no package plans with", "it would be left out without a word", func(t testing.TB) {
			NewCluster(t, &corev1.Secret{})
		}, "no package reads a *v1.Secret"},
		{"a workload that has no answer", "its pods would be missing without a word", func(t testing.TB) {
			d := Deployment("shop/web", 1).Controllers[0].(*appsv1.Deployment)
			d.Spec.Selector = nil
			NewCluster(t, d).AtFullHealth()
		}, "Deployment shop/web: spec.selector: required"},
		{"a node twice", "a DaemonSet would have two pods on it", func(t testing.TB) {
			NewCluster(t, Node("a")).AtFullHealth("a")
		}, "Node a: the cluster has a node of this name"},
		{"nothing that counts", "a test over nothing would pass", load("kind: Service\napiVersion: v1\nmetadata: {name: a}\n"),
			"none of the 1 objects is of a kind that purekube reads"},
		{"no manifests", "a test over nothing would pass", func(t testing.TB) { Load(t, "testdata/none.yaml") }, "testdata/none.yaml: no such file or directory"},
		{"a field that does not exist", "it would be left out without a word", func(t testing.TB) { Load(t, "testdata/unknown-field.yaml") }, `testdata/unknown-field.yaml:1: document 1: PodDisruptionBudget default/b: spec.maxUnavailabel: unknown field`},
		{"a key twice", "the last one would count", load("kind: Node\napiVersion: v1\nmetadata: {name: a}\nspec: {unschedulable: true, unschedulable: false}\n"), `key "unschedulable" already set`},
		{"an empty file", "a test over nothing would pass", load("# nothing\n"), "no Kubernetes object in it"},
		{"an empty list", "the same", load("apiVersion: v1\nkind: List\nitems: []\n"), "no Kubernetes object in it"},
		{"JSON that is cut off", "the rest would be left out without a word", load(`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}`), "unexpected EOF"},
		{"a page of a list", "the rest would be left out without a word", load(`{"apiVersion":"v1","kind":"List","metadata":{"continue":"abc"},"items":[{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}]}`), "metadata.continue"},
		{"no name", "no cluster holds one", load("kind: Node\napiVersion: v1\n"), "Node: metadata.name: required"},
		{"two of one name", "nobody can say which one counts", load("kind: Pod\napiVersion: v1\nmetadata: {name: a}\n---\nkind: Pod\napiVersion: v1\nmetadata: {name: a, namespace: default}\n"),
			"document 2: Pod default/a: the input has this object more than once"},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Contains(t, failure(t, tc.test), tc.want, tc.reason) })
	}
}

// load is a test that loads a file with this text.
func load(text string) func(testing.TB) {
	return func(t testing.TB) {
		path := filepath.Join(t.TempDir(), "in.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		Load(t, path)
	}
}

// A Service is no reason to fail, and a list and documents are one cluster.
func TestLoad(t *testing.T) {
	c := Load(t, "testdata/cluster.json", "testdata/cluster.yaml")
	require.Len(t, c.Nodes, 2)
	require.Len(t, c.Pods, 1)
	require.Len(t, c.Budgets, 1)
	require.Equal(t, "default", c.Pods[0].Namespace, "as with kubectl")
}

// A chart has no pods, and a budget over it allows nothing until it gets them.
func TestAtFullHealth(t *testing.T) {
	web := Deployment("shop/web", 3)
	c := NewCluster(t, web.Controllers[0], MaxUnavailable("shop/web", "1"))
	full := c.AtFullHealth("a", "b")
	require.Len(t, full.Pods, 3)
	require.Equal(t, []string{"a", "b", "a"}, []string{full.Pods[0].Spec.NodeName, full.Pods[1].Spec.NodeName, full.Pods[2].Spec.NodeName})
	require.Empty(t, c.Pods, "the cluster itself does not change")
	require.Empty(t, c.Nodes)
	_, steps := Converge(t, full.Disruption())
	require.Equal(t, []string{"1 UpdateStatus shop/web: 1 allowed, 3 healthy, 2 desired, 3 expected"}, texts(steps))
}

// A role that a team labels reaches admin by way of view and edit.
func TestWithBuiltinClusterRoles(t *testing.T) {
	team := ClusterRole("team", rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"example.com"}, Resources: []string{"widgets"}})
	team.Labels = map[string]string{"rbac.authorization.k8s.io/aggregate-to-view": "true"}
	_, steps := Converge(t, NewCluster(t, team).WithBuiltinClusterRoles().RBACAggregate())
	require.Len(t, steps, 3)
}

// What the builders make is at rest: a test that changes one thing sees what that thing brings.
func TestBuildersAreAtRest(t *testing.T) {
	deployment, set := Deployment("shop/web", 4, "a", "b"), StatefulSet("db", 2, "a")
	claim := ClaimFor(set.Pods[0], "disk")
	c := NewCluster(t, deployment.Objects(set.Objects(claim, Claim("free"), MinAvailable("shop/web", "50%"), MaxUnavailable("db", "1"),
		Node("a"), Node("b"), ServiceCIDR("services", "10.0.0.0/24", "fd00::/112"), Address("10.0.0.7", "shop/web"), Address("fd00::7", "db"),
		AggregatedRole("view", "to-view"), ClusterRole("other"))...)...)
	_, steps := Converge(t, c.ResourceClaim())
	require.Empty(t, steps)
	_, steps = Converge(t, c.TTL())
	require.Empty(t, steps)
	_, steps = Converge(t, c.ServiceCIDR())
	require.Empty(t, steps)
	_, steps = Converge(t, c.RBACAggregate())
	require.Empty(t, steps)
	// A new budget has no status yet.
	disruptionAtRest, steps := Converge(t, c.Disruption())
	require.Len(t, steps, 2)
	require.Equal(t, []int32{1, 2}, []int32{disruptionAtRest.Budgets[0].Status.DisruptionsAllowed, disruptionAtRest.Budgets[1].Status.DisruptionsAllowed})

	require.Empty(t, cmp.Diff([]string{"a", "b", "a", "b"}, []string{deployment.Pods[0].Spec.NodeName, deployment.Pods[1].Spec.NodeName, deployment.Pods[2].Spec.NodeName, deployment.Pods[3].Spec.NodeName}))
	require.Empty(t, aliasing.Shared(deployment.Pods[0], deployment.Pods[1]), "a test may change one and not the other")
}
