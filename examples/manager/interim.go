package main

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// interim is an Index made of a Snapshot: right, and slow.
type interim[S, K any, R any] struct {
	s      S
	plan   func(S, K) (R, error)
	change func(s, changed S, gone bool) (S, []K)
}

func (x *interim[S, K, R]) Plan(key K) (R, error) { return x.plan(x.s, key) }

func (x *interim[S, K, R]) With(changed S) (*interim[S, K, R], []K) {
	s, affected := x.change(x.s, changed, false)
	return &interim[S, K, R]{s, x.plan, x.change}, affected
}

func (x *interim[S, K, R]) Without(gone S) (*interim[S, K, R], []K) {
	s, affected := x.change(x.s, gone, true)
	return &interim[S, K, R]{s, x.plan, x.change}, affected
}

// merge adds, replaces or takes away objects one after the other.
func merge[T any, P interface {
	*T
	metav1.Object
}, K any](objects *[]P, changed []P, gone bool, affected *[]K, by func(before, after P) []K) {
	for _, o := range changed {
		same := func(p P) bool { return p.GetNamespace() == o.GetNamespace() && p.GetName() == o.GetName() }
		var before, after P
		if i := slices.IndexFunc(*objects, same); i >= 0 {
			before = (*objects)[i]
		}
		next := slices.DeleteFunc(slices.Clone(*objects), same)
		if !gone {
			after = o
			next = append(next, o)
		}
		*objects = next
		*affected = append(*affected, by(before, after)...)
	}
}

func later(now, changed time.Time) time.Time {
	if changed.IsZero() {
		return now
	}
	return changed
}

func newServiceCIDRIndex(o servicecidr.Options) *interim[servicecidr.Snapshot, string, servicecidr.Result] {
	type S = servicecidr.Snapshot
	return &interim[S, string, servicecidr.Result]{
		plan: func(s S, k string) (servicecidr.Result, error) { return servicecidr.Plan(s, k, o) },
		change: func(s, c S, gone bool) (S, []string) {
			var a []string
			s.Now = later(s.Now, c.Now)
			merge(&s.ServiceCIDRs, c.ServiceCIDRs, gone, &a, func(b, n *networkingv1.ServiceCIDR) []string {
				return servicecidr.AffectedByServiceCIDR(s, b, n, o)
			})
			merge(&s.IPAddresses, c.IPAddresses, gone, &a, func(b, n *networkingv1.IPAddress) []string {
				return servicecidr.AffectedByIPAddress(s, b, n, o)
			})
			return s, a
		},
	}
}

type ttlIndex = interim[ttl.Snapshot, string, ttl.Result]

func newTTLIndex(o ttl.Options) *interim[ttl.Snapshot, string, ttl.Result] {
	type S = ttl.Snapshot
	return &interim[S, string, ttl.Result]{
		plan: func(s S, k string) (ttl.Result, error) { return ttl.Plan(s, k, o) },
		change: func(s, c S, gone bool) (S, []string) {
			var a []string
			if len(c.Nodes) == 0 && c.Step >= 0 {
				return s, nil
			}
			if c.Step < 0 { // recover
				s.Step = o.Table.Recover(s.Nodes)
				for _, n := range s.Nodes {
					a = append(a, n.Name)
				}
				return s, a
			}
			merge(&s.Nodes, c.Nodes, gone, &a, func(b, n *corev1.Node) []string {
				keys := ttl.AffectedByNode(s, b, n, o)
				s.Step, _, _ = ttl.PlanAll(s, o)
				return keys
			})
			return s, a
		},
	}
}

func newRBACIndex(o rbacaggregate.Options) *interim[rbacaggregate.Snapshot, string, rbacaggregate.Result] {
	type S = rbacaggregate.Snapshot
	return &interim[S, string, rbacaggregate.Result]{
		plan: func(s S, k string) (rbacaggregate.Result, error) { return rbacaggregate.Plan(s, k, o) },
		change: func(s, c S, gone bool) (S, []string) {
			var a []string
			merge(&s.ClusterRoles, c.ClusterRoles, gone, &a, func(b, n *rbacv1.ClusterRole) []string {
				return rbacaggregate.AffectedByClusterRole(s, b, n, o)
			})
			return s, a
		},
	}
}

func newResourceClaimIndex(o resourceclaim.Options, base resourceclaim.Snapshot) *interim[resourceclaim.Snapshot, resourceclaim.Key, resourceclaim.Result] {
	type S = resourceclaim.Snapshot
	type K = resourceclaim.Key
	return &interim[S, K, resourceclaim.Result]{
		s:    base,
		plan: func(s S, k K) (resourceclaim.Result, error) { return resourceclaim.Plan(s, k, o) },
		change: func(s, c S, gone bool) (S, []K) {
			var a []K
			s.Now = later(s.Now, c.Now)
			if c.Confirmed != nil {
				s.Confirmed = c.Confirmed
			}
			if c.ConfirmedClaims != nil {
				s.ConfirmedClaims = c.ConfirmedClaims
			}
			if c.Assumed != nil {
				s.Assumed = c.Assumed
			}
			merge(&s.Pods, c.Pods, gone, &a, func(b, n *corev1.Pod) []K { return resourceclaim.AffectedByPod(s, b, n, o) })
			merge(&s.Claims, c.Claims, gone, &a, func(b, n *resourcev1.ResourceClaim) []K { return resourceclaim.AffectedByClaim(s, b, n, o) })
			merge(&s.Templates, c.Templates, gone, &a, func(b, n *resourcev1.ResourceClaimTemplate) []K {
				return resourceclaim.AffectedByTemplate(s, b, n, o)
			})
			return s, a
		},
	}
}
