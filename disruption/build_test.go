package disruption

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/shop"
)

// What the tests here and those of the other package build.
var (
	now, epoch = shop.Now, shop.Epoch

	ago                   = shop.Ago
	meta                  = shop.Meta
	owned                 = shop.Owned
	pod                   = shop.Pod
	by                    = shop.By
	unready               = shop.Unready
	deleting              = shop.Deleting
	created               = shop.Created
	phase                 = shop.Phase
	labelled              = shop.Labelled
	pods                  = shop.Pods
	deployment            = shop.Deployment
	replicaSet            = shop.ReplicaSet
	statefulSet           = shop.StatefulSet
	replicationController = shop.ReplicationController
	budget                = shop.Budget
	value                 = shop.Value
	maxUnavailable        = shop.MaxUnavailable
	minAvailable          = shop.MinAvailable
	named                 = shop.Named
	disrupted             = shop.Disrupted
	selecting             = shop.Selecting
	nn                    = shop.NamespacedName
	scaleNeed             = shop.ScaleNeed
	objectNeed            = shop.ObjectNeed
	scaleOf               = shop.ScaleOf
)

const ns = shop.Namespace

// key is a budget's, podNamed a pod's, and nn the name of either.
func key(name string) purekube.Key { return purekube.Key{Kind: budgetKind, Namespace: ns, Name: name} }

func podNamed(name string) purekube.Key {
	return purekube.Key{Kind: podKind, Namespace: ns, Name: name}
}

// web is a snapshot of one budget over pods of the Deployment web.
func web(b *policyv1.PodDisruptionBudget, replicas int32, ps ...*corev1.Pod) Snapshot {
	return Snapshot{
		Now: now, Budgets: []*policyv1.PodDisruptionBudget{b}, Pods: ps,
		ReplicaSets: []*appsv1.ReplicaSet{replicaSet("web-rs", "web", ptr.To(replicas))},
		Deployments: []*appsv1.Deployment{deployment("web", ptr.To(replicas))},
	}
}

var byWeb = by("apps/v1", "ReplicaSet", "web-rs")

// statusOf plans the budget web and returns the status that it asks to write.
func statusOf(t *testing.T, s Snapshot, o Options) policyv1.PodDisruptionBudgetStatus {
	t.Helper()
	r, err := Plan(s, key("web"), o)
	require.NoError(t, err)
	return written(t, r)
}

func written(t *testing.T, r Result) policyv1.PodDisruptionBudgetStatus {
	t.Helper()
	require.Empty(t, r.Needs)
	require.Len(t, r.Actions, 1)
	require.IsType(t, UpdateStatus{}, r.Actions[0])
	return r.Actions[0].(UpdateStatus).Budget.Status
}

func reasons(r Result) []string {
	var all []string
	for _, e := range r.Events {
		all = append(all, e.Reason)
	}
	return all
}

var bothModes = map[string]Options{"default": {}, "upstream": {MatchUpstream: purekube.V1_36}}

// affectedBy are the keys that an index names when objects take the place of others, or go if nothing does. The
// snapshot is the one after that.
func affectedBy(s, before, after Snapshot, o Options) []purekube.Key {
	x, _ := NewIndex(s, o).Without(after)
	x, _ = x.With(before)
	if reflect.ValueOf(after).IsZero() {
		_, affected := x.Without(before)
		return affected
	}
	_, affected := x.With(after)
	return affected
}

// The snapshot of one object, if it is there.

func ofPod(o *corev1.Pod) (s Snapshot) {
	if o != nil {
		s.Pods = []*corev1.Pod{o}
	}
	return s
}

func ofDeployment(o *appsv1.Deployment) (s Snapshot) {
	if o != nil {
		s.Deployments = []*appsv1.Deployment{o}
	}
	return s
}

func ofReplicaSet(o *appsv1.ReplicaSet) (s Snapshot) {
	if o != nil {
		s.ReplicaSets = []*appsv1.ReplicaSet{o}
	}
	return s
}

func ofStatefulSet(o *appsv1.StatefulSet) (s Snapshot) {
	if o != nil {
		s.StatefulSets = []*appsv1.StatefulSet{o}
	}
	return s
}

func ofReplicationController(o *corev1.ReplicationController) (s Snapshot) {
	if o != nil {
		s.ReplicationControllers = []*corev1.ReplicationController{o}
	}
	return s
}
