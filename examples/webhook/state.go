package main

import (
	"sync"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/servicecidr"
)

// indexes are the objects that decisions rest on, at one moment. An index never changes, so a review reads them
// without a lock, and what happens meanwhile makes other ones.
type indexes struct {
	cidrs   *servicecidr.Index
	roles   *rbacaggregate.Index
	budgets *disruption.Index
}

// state is the indexes as they are now.
type state struct {
	current  atomic.Pointer[indexes]
	changing sync.Mutex
	// deciding is held by a decision that is right only once: see assumed.
	deciding sync.Mutex
	assumed  assumed
}

func newState() *state {
	s := &state{assumed: newAssumed()}
	s.current.Store(&indexes{
		cidrs: servicecidr.NewIndex(servicecidr.Snapshot{}, servicecidr.Options{}),
		roles: rbacaggregate.NewIndex(rbacaggregate.Snapshot{}, rbacaggregate.Options{}),
		// An eviction is decided by what the budget's status should say, not by what was written last.
		budgets: disruption.NewIndex(disruption.Snapshot{}, disruption.Options{}),
	})
	return s
}

func (s *state) now() *indexes { return s.current.Load() }

// snapshots are objects sorted by what decides with them.
type snapshots struct {
	cidrs   servicecidr.Snapshot
	roles   rbacaggregate.Snapshot
	budgets disruption.Snapshot
}

// add sorts one object in. Objects of other kinds are not watched.
func (s *snapshots) add(o runtime.Object) {
	switch o := o.(type) {
	case *networkingv1.ServiceCIDR:
		s.cidrs.ServiceCIDRs = append(s.cidrs.ServiceCIDRs, o)
	case *networkingv1.IPAddress:
		s.cidrs.IPAddresses = append(s.cidrs.IPAddresses, o)
	case *rbacv1.ClusterRole:
		s.roles.ClusterRoles = append(s.roles.ClusterRoles, o)
	case *policyv1.PodDisruptionBudget:
		s.budgets.Budgets = append(s.budgets.Budgets, o)
	case *corev1.Pod:
		s.budgets.Pods = append(s.budgets.Pods, o)
	case *corev1.ReplicationController:
		s.budgets.ReplicationControllers = append(s.budgets.ReplicationControllers, o)
	case *appsv1.ReplicaSet:
		s.budgets.ReplicaSets = append(s.budgets.ReplicaSets, o)
	case *appsv1.Deployment:
		s.budgets.Deployments = append(s.budgets.Deployments, o)
	case *appsv1.StatefulSet:
		s.budgets.StatefulSets = append(s.budgets.StatefulSets, o)
	}
}

func snapshotsOf(objects []runtime.Object) snapshots {
	var s snapshots
	for _, o := range objects {
		s.add(o)
	}
	return s
}

// put adds objects, or replaces those of their names. A review needs no affected keys: it plans nothing.
func (s *state) put(objects ...runtime.Object) {
	s.changing.Lock()
	defer s.changing.Unlock()
	seen := make([]runtime.Object, len(objects))
	for i, o := range objects {
		seen[i] = s.assumed.seen(o)
	}
	s.set(seen...)
}

// remove takes objects away.
func (s *state) remove(objects ...runtime.Object) {
	s.changing.Lock()
	defer s.changing.Unlock()
	for _, o := range objects {
		s.assumed.gone(o)
	}
	x, of := *s.now(), snapshotsOf(objects)
	x.cidrs, _ = x.cidrs.Without(of.cidrs)
	x.roles, _ = x.roles.Without(of.roles)
	x.budgets, _ = x.budgets.Without(of.budgets)
	s.current.Store(&x)
}

// set makes the next indexes. One change follows the other; reviews go on meanwhile.
func (s *state) set(objects ...runtime.Object) {
	x, of := *s.now(), snapshotsOf(objects)
	x.cidrs, _ = x.cidrs.With(of.cidrs)
	x.roles, _ = x.roles.With(of.roles)
	x.budgets, _ = x.budgets.With(of.budgets)
	s.current.Store(&x)
}
