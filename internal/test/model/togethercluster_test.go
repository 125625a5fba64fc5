package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/apiserver"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
)

func newLoop(t testing.TB, seed uint64) *loop {
	l := &loop{t: t, random: rand.New(rand.NewPCG(seed, 5)), server: apiserver.New(), now: Start, fresh: 1000}
	l.server.Now, l.server.Changed = l.now, l.heard
	var objects []Object
	uid := func() int { l.fresh++; return l.fresh }

	prefixes := [][]string{{"10.0.0.0/24"}, {"10.0.0.0/24"}, {"10.0.0.0/25"}, {"10.0.0.128/25"}, {"10.0.0.0/26"}, {"10.0.1.0/24"}, {"10.0.0.0/23"},
		{"10.0.1.0/25", "fd00::/112"}, {"fd00::/112"}, {"fd00::/120", "10.0.1.0/24"}}
	addresses := []string{}
	for i := range 25 {
		addresses = append(addresses, fmt.Sprintf("10.0.0.%d", 1+i*10), fmt.Sprintf("10.0.1.%d", 2+i*10), fmt.Sprintf("fd00::%x", 1+i*20))
	}
	addresses = append(addresses, "10.0.0.127", "10.0.0.128", "10.0.0.255", "10.0.1.0", "fd00::100")
	for i, cidrs := range prefixes {
		objects = append(objects, newServiceCIDR(string(rune('a'+i)), uid(), cidrs))
	}
	var roles []*rbacv1.ClusterRole
	for i := range 40 {
		labels := []string{fmt.Sprintf("in-%d", l.random.IntN(6))}
		if i < 10 {
			roles = append(roles, aggregating(fmt.Sprintf("role-%d", i), uid(), fmt.Sprintf("in-%d", l.random.IntN(6)), labels...))
			continue
		}
		r := aggregating(fmt.Sprintf("role-%d", i), uid(), "", labels...)
		r.Rules = []rbacv1.PolicyRule{verbRule(fmt.Sprintf("verb-%d", i%25))}
		roles = append(roles, r)
	}
	for _, r := range roles {
		objects = append(objects, r)
	}
	for i := range 95 {
		n := newNode(fmt.Sprintf("node-%d", i), zero)
		n.UID = UID(uid())
		objects = append(objects, n)
	}
	for i := range 4 {
		s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("db%d", i), UID: UID(uid())}, Spec: appsv1.StatefulSetSpec{Replicas: ptr.To(int32(2 + i))}}
		b := newBudget(s.Name, uid())
		b.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(int32(1 + i%2)))
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("web%d", i), UID: UID(uid())}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(3 + 2*i))}}
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: d.Name + "-rs", UID: UID(uid()), OwnerReferences: controlledBy("Deployment", d.Name, uidNumber(d.UID))}, Spec: appsv1.ReplicaSetSpec{Replicas: d.Spec.Replicas}}
		w := newBudget(d.Name, uid())
		w.Spec.MinAvailable = ptr.To(intstr.FromString("50%"))
		objects = append(objects, s, b, d, rs, w)
	}
	objects = append(objects,
		&resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gpu", UID: UID(uid())}},
		&resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shared", UID: UID(uid())}})
	for _, o := range objects {
		l.server.Put(o)
	}
	l.right = []func(*View) string{
		func(v *View) string { return serviceCIDRsAreRightIn(v, goesSecondsAfter) },
		claimsServePods, budgetsAreExact, rulesHaveSources, nodesHaveOneTTL}

	var users, groups []string
	for i := range 5 {
		for _, kind := range []string{"one", "two", "both", "share", "team", "also"} {
			users = append(users, fmt.Sprintf("%s-%d", kind, i))
		}
		groups = append(groups, fmt.Sprintf("group-%d", i))
	}
	claimEvents := claimWorldOf(resourceclaim.Options{}, users...).without("terminated", "claim held by a driver", "pod deleted").Events
	for i, e := range claimEvents {
		if e.Name == "claim deleted" {
			claimEvents[i] = e.seldom()
		}
	}
	more := true // nodes, until there are 103
	l.events = slices.Concat(
		serviceCIDRWorld("", servicecidr.Options{}, prefixes, addresses).Events,
		claimEvents,
		podGroupEvents(groups, "gpu"),
		budgetWorld(disruption.Options{}).without("scaled", "budget changed", "preempted").Events,
		[]Event{
			{Name: "pod deleted", Do: func(v *View, do func(string, ...Change)) {
				for _, p := range All[*corev1.Pod](v) {
					if p.DeletionTimestamp == nil && p.Labels["app"] == "" {
						if p.Spec.NodeName == "" {
							do("the user deletes pod "+p.Name+", which has no node", Remove(p))
						} else {
							do("the user deletes pod "+p.Name, deletePod(v, p))
						}
					}
				}
			}},
			{Name: "shared claim made again", Do: func(v *View, do func(string, ...Change)) {
				if Get[*resourcev1.ResourceClaim](v, "ns", "shared") == nil {
					do("the user makes claim shared again", Put(&resourcev1.ResourceClaim{
						ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shared", UID: UID(v.Fresh)}}))
				}
			}},
			{Name: "nodes", Do: func(v *View, do func(string, ...Change)) {
				nodes := All[*corev1.Node](v)
				if len(nodes) <= 88 || len(nodes) >= 103 {
					more = len(nodes) <= 88
				}
				if more {
					n := newNode(fmt.Sprintf("node-%d", v.Fresh), bare)
					n.UID = UID(v.Fresh)
					do("node "+n.Name+" is added", Put(n))
				} else {
					n := nodes[v.Fresh%len(nodes)]
					do("node "+n.Name+" is deleted", Remove(n))
				}
			}},
			{Name: "role changed", Do: func(v *View, do func(string, ...Change)) {
				roles := All[*rbacv1.ClusterRole](v)
				r := roles[v.Fresh%len(roles)].DeepCopy()
				if r.AggregationRule == nil {
					r.Rules = []rbacv1.PolicyRule{verbRule(fmt.Sprintf("verb-%d", v.Fresh%25))}
					do("the user writes another rule into "+r.Name, Put(r))
				}
				r = r.DeepCopy()
				r.Labels = map[string]string{fmt.Sprintf("in-%d", v.Fresh/7%6): "true"}
				do("the user labels "+r.Name, Put(r))
			}},
			{Name: "role deleted or made", Do: func(v *View, do func(string, ...Change)) {
				r := roles[v.Fresh%len(roles)]
				if now := Get[*rbacv1.ClusterRole](v, "", r.Name); now != nil {
					do("the user deletes "+r.Name, Remove(now))
				} else {
					r = r.DeepCopy()
					r.UID = UID(v.Fresh)
					do("the user makes "+r.Name+" again", Put(r))
				}
			}},
		})
	l.all = []player{serviceCIDRPlayer(), claimPlayer(), budgetPlayer(), clusterRolePlayer(), nodePlayer()}
	for _, c := range l.all {
		c.begin(l)
	}
	return l
}

// seldom is the event in one of five cases: it ends much that is about to happen.
func (e Event) seldom() Event {
	always := e.Do
	e.Do = func(v *View, do func(string, ...Change)) {
		if v.Fresh%5 == 0 {
			always(v, do)
		}
	}
	return e
}

// nodesResource is the resource of nodes.
var nodesResource = corev1.SchemeGroupVersion.WithResource("nodes")
