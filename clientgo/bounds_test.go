package clientgo

import (
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/internal/test/bounds"
	"github.com/purekube/purekube/internal/test/largecluster"
	"github.com/purekube/purekube/ttl"
)

// happening is an event in a large cluster that is idle, and the requests that it leads to.
type happening struct {
	name, reason string
	what         func(m *inMemory, c largecluster.Cluster)
	want         map[string]int
}

var happenings = []struct {
	controller string
	cluster    func(objects int) largecluster.Cluster
	events     []happening
}{{
	controller: "ttl",
	cluster: func(n int) largecluster.Cluster {
		step := ttl.NewIndex(ttl.Snapshot{Nodes: largecluster.Nodes(n, "0").Nodes}, ttl.Options{}).Step()
		return largecluster.Nodes(n, strconv.Itoa(int(ttl.Steps()[step].TTL.Seconds())))
	},
	events: []happening{{
		name: "a heartbeat", reason: "the annotation is right",
		what: func(m *inMemory, c largecluster.Cluster) {
			n := c.Nodes[5].DeepCopy()
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			m.server.Put(n)
		},
		want: map[string]int{},
	}, {
		name: "a node is deleted", reason: "there are still enough for the step",
		what: func(m *inMemory, c largecluster.Cluster) { m.server.Remove(c.Nodes[6]) },
		want: map[string]int{},
	}, {
		name: "a node is created", reason: "it has no annotation",
		what: func(m *inMemory, _ largecluster.Cluster) {
			m.server.Put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "new"}})
		},
		want: map[string]int{"patch nodes": 1},
	}},
}, {
	controller: "servicecidr",
	cluster:    func(n int) largecluster.Cluster { return largecluster.Addresses(n/100, n-n/100, 0) },
	events: []happening{{
		name: "a ServiceCIDR is created", reason: "its finalizer, its condition",
		what: func(m *inMemory, _ largecluster.Cluster) { m.server.Put(serviceCIDR()) },
		want: map[string]int{"patch servicecidrs": 1, "patch servicecidrs/status": 1},
	}, {
		name: "an address is created", reason: "a ServiceCIDR has nothing to say about it",
		what: func(m *inMemory, _ largecluster.Cluster) { m.server.Put(address()) },
		want: map[string]int{},
	}, {
		name: "the ServiceCIDR is deleted", reason: "its address keeps it: the condition says so",
		what: func(m *inMemory, _ largecluster.Cluster) {
			resource := networkingv1.SchemeGroupVersion.WithResource("servicecidrs")
			deleted := m.live[liveKey(resource, "", "new")].DeepCopyObject().(*networkingv1.ServiceCIDR)
			deleted.DeletionTimestamp = &metav1.Time{Time: time.Now()}
			m.server.Put(deleted)
		},
		want: map[string]int{"patch servicecidrs/status": 1},
	}, {
		name: "the address is deleted", reason: "it was the last, which the API server confirms, so the finalizer goes",
		what: func(m *inMemory, _ largecluster.Cluster) { m.server.Remove(address()) },
		want: map[string]int{"list servicecidrs": 1, "list ipaddresses": 1, "patch servicecidrs": 1},
	}},
}, {
	controller: "resourceclaim",
	cluster:    func(n int) largecluster.Cluster { return largecluster.Claims(n/2, 0) },
	events: []happening{{
		name: "a pod is created", reason: "its claim, and the claim's name in its status",
		what: func(m *inMemory, c largecluster.Cluster) {
			p := c.Pods[5].DeepCopy()
			p.Name, p.UID, p.Spec.NodeName, p.Status = "new", "uid-new", "", corev1.PodStatus{Phase: corev1.PodPending}
			m.server.Put(p)
		},
		want: map[string]int{"create resourceclaims": 1, "patch pods/status": 1},
	}, {
		name: "a pod ends", reason: "reservation and allocation, finalizer, and the claim itself",
		what: func(m *inMemory, c largecluster.Cluster) {
			p := c.Pods[6].DeepCopy()
			p.Status.Phase = corev1.PodSucceeded
			m.server.Put(p)
		},
		want: map[string]int{"patch resourceclaims/status": 1, "patch resourceclaims": 1, "delete resourceclaims": 1},
	}, {
		name: "a pod is deleted", reason: "a lookup confirms it; the garbage collector deletes the claim",
		what: func(m *inMemory, c largecluster.Cluster) { m.server.Remove(c.Pods[7]) },
		want: map[string]int{"get pods": 1, "patch resourceclaims/status": 1, "patch resourceclaims": 1},
	}},
}, {
	controller: "rbacaggregate",
	cluster:    func(n int) largecluster.Cluster { return largecluster.ClusterRoles(n - 33) },
	events: []happening{{
		name: "a ClusterRole is created", reason: "no selector matches it",
		what: func(m *inMemory, _ largecluster.Cluster) { m.server.Put(role("other", nil)) },
		want: map[string]int{},
	}, {
		name: "a source of view is created", reason: "view, edit and admin get its rules",
		what: func(m *inMemory, _ largecluster.Cluster) {
			m.server.Put(role("new", map[string]string{"to-view": "true"}))
		},
		want: map[string]int{"patch clusterroles": 3},
	}},
}, {
	controller: "disruption",
	// A budget has 20 pods, a ReplicaSet and a Deployment.
	cluster: func(n int) largecluster.Cluster { return largecluster.Budgets(n/23, 1) },
	events: []happening{{
		name: "a pod becomes unready", reason: "the counts of its budget",
		what: func(m *inMemory, c largecluster.Cluster) {
			p := c.Pods[5].DeepCopy()
			p.Status.Conditions = nil
			m.server.Put(p)
		},
		want: map[string]int{"patch poddisruptionbudgets/status": 1},
	}, {
		name: "a budget is created", reason: "its first status",
		what: func(m *inMemory, c largecluster.Cluster) {
			b := c.Budgets[3].DeepCopy()
			b.Name, b.UID, b.Status = "new", "uid-new", policyv1.PodDisruptionBudgetStatus{}
			m.server.Put(b)
		},
		want: map[string]int{"patch poddisruptionbudgets/status": 1},
	}},
}}

func serviceCIDR() *networkingv1.ServiceCIDR {
	return &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: "new"},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{"172.16.0.0/24"}},
	}
}

func address() *networkingv1.IPAddress {
	return &networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Name: "172.16.0.7", Labels: map[string]string{
			networkingv1.LabelManagedBy: "ipallocator.k8s.io", networkingv1.LabelIPAddressFamily: "IPv4",
		}},
		Spec: networkingv1.IPAddressSpec{
			ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: "shop", Name: "web"},
		},
	}
}

func role(name string, labels map[string]string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Rules:      []rbacv1.PolicyRule{largecluster.Rule(999_999_999)},
	}
}

// The requests that follow an event, reads and writes, are the same in a cluster of any size. PUREKUBE_BOUNDS says how
// many objects are tried, up to 100,000: the API server in memory has a copy of each.
func TestRequestsOfAnEvent(t *testing.T) {
	most := 100_000
	if testing.Short() {
		most = 1000
	}
	for _, tc := range happenings {
		t.Run(tc.controller, func(t *testing.T) {
			for _, n := range bounds.Sizes(t, most) {
				synctest.Test(t, func(t *testing.T) {
					c := tc.cluster(n)
					m := newInMemory(c)
					cluster := Cluster{Informers: m.informer, Client: m, Lookup: LookupFor(m, nil), ServiceCIDRs: m.lists}
					r, err := NewRunner(tc.controller, cluster, PackageOptions{})
					require.NoError(t, err)
					m.start()
					var running sync.WaitGroup
					running.Go(func() { assert.NoError(t, r.Run(logr.NewContext(t.Context(), logr.Discard()))) })
					m.happens(func() {}) // what there is to do to begin with
					for _, e := range tc.events {
						got := m.happens(func() { e.what(m, c) })
						require.Equal(t, e.want, got, "%s, %d objects: %s", e.name, n, e.reason)
						t.Logf("%d objects, %s: %v", n, e.name, got)
					}
					r.Stop()
					running.Wait()
				})
			}
		})
	}
}
