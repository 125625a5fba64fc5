package disruption

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// What recreates evicted pods is the controller itself, as far as the snapshot and the answers to lookups have it.
func TestWorkloadOf(t *testing.T) {
	ref := func(apiVersion, kind, name string) *metav1.OwnerReference {
		return &metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID("uid-" + name)}
	}
	another := func(r *metav1.OwnerReference) *metav1.OwnerReference {
		r.UID = "uid-of-another"
		return r
	}
	numbered := statefulSet("numbered", ptr.To(int32(4)))
	numbered.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	numbered.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5}
	going := statefulSet("going", ptr.To(int32(2)))
	going.DeletionTimestamp = ptr.To(ago(0))
	lookedUp := replicaSet("looked-up", "web", ptr.To(int32(7)))
	ofADeployment := replicationController("of-a-deployment", ptr.To(int32(3)))
	ofADeployment.ObjectMeta = owned(ofADeployment.ObjectMeta, "apps/v1", "Deployment", "web")
	ofARollout := replicaSet("of-a-rollout", "", ptr.To(int32(2)))
	ofARollout.ObjectMeta = owned(ofARollout.ObjectMeta, "argoproj.io/v1alpha1", "Rollout", "web")
	ofAForeignDeployment := replicaSet("of-a-foreign-deployment", "", ptr.To(int32(2)))
	ofAForeignDeployment.ObjectMeta = owned(ofAForeignDeployment.ObjectMeta, "example.com/v1", "Deployment", "web")
	s := Snapshot{
		Now:                    now,
		ReplicationControllers: []*corev1.ReplicationController{replicationController("rc", ptr.To(int32(3))), ofADeployment},
		StatefulSets:           []*appsv1.StatefulSet{statefulSet("plain", nil), numbered, going},
		ReplicaSets:            []*appsv1.ReplicaSet{replicaSet("rs", "web", ptr.To(int32(2))), ofARollout, ofAForeignDeployment},
		Deployments:            []*appsv1.Deployment{deployment("web", ptr.To(int32(9)))},
		Answers: map[purekube.Need]purekube.Answer{
			objectNeed(ns, "looked-up"):                   {Object: lookedUp},
			objectNeed(ns, "recreated"):                   {Object: lookedUp},
			objectNeed(ns, "gone"):                        {},
			objectNeed(ns, "failed"):                      {Err: errors.New("timeout")},
			scaleNeed("example.com", "Game", ns, "game"):  scaleOf("uid-game", 6),
			scaleNeed("example.com", "Game", ns, "other"): scaleOf("uid-of-another", 6),
			{APIVersion: "a/b/c", Kind: "ReplicationController", Namespace: ns, Name: "missing", Subresource: "scale"}: scaleOf("uid-missing", 6),
		},
	}
	ownRS := Workload{Recreates: true, Replicas: 2, Object: s.ReplicaSets[0], Deployment: s.Deployments[0]}
	need := func(n purekube.Need) Workload { return Workload{Need: &n} }
	for _, tc := range []struct {
		name, reason string
		ref          *metav1.OwnerReference
		want         Workload
	}{
		{"none", "the pod has no controller", nil, Workload{}},
		{"no apiVersion", "nobody knows what it is", ref("a/b/c", "ReplicaSet", "rs"), Workload{}},
		{"a ReplicationController", "as it says", ref("v1", "ReplicationController", "rc"),
			Workload{Recreates: true, Replicas: 3, Object: s.ReplicationControllers[0]}},
		{"the ReplicationController of another group", "another kind", ref("apps/v1", "ReplicationController", "rc"),
			need(scaleNeed("apps", "ReplicationController", ns, "rc"))},
		{"another kind of the core group", "not the ReplicationController of that name and UID", ref("v1", "Node", "rc"), Workload{MayRecreate: true}},
		{"a ReplicationController that the snapshot lacks", "its scale says", ref("v1", "ReplicationController", "missing"),
			need(scaleNeed("", "ReplicationController", ns, "missing"))}, // the answer for a/b/c is not one for the core group
		{"another ReplicationController of that name", "the cache may be behind: as upstream, the scale says", another(ref("v1", "ReplicationController", "rc")),
			need(scaleNeed("", "ReplicationController", ns, "rc"))},
		{"a StatefulSet", "without replicas it wants one, and makes one after the other", ref("apps/v1", "StatefulSet", "plain"),
			Workload{Recreates: true, Replicas: 1, Object: s.StatefulSets[0]}},
		{"a parallel StatefulSet", "with the ordinals that it says", ref("apps/v1", "StatefulSet", "numbered"),
			Workload{Recreates: true, Replicas: 4, Parallel: true, FirstOrdinal: 5, Object: numbered}},
		{"a StatefulSet that is being deleted", "it creates nothing", ref("apps/v1", "StatefulSet", "going"), Workload{Replicas: 2, Object: going}},
		{"the StatefulSet of another group", "another kind", ref("example.com/v1", "StatefulSet", "plain"),
			need(scaleNeed("example.com", "StatefulSet", ns, "plain"))},
		{"a StatefulSet that the snapshot lacks", "its scale says", ref("apps/v1", "StatefulSet", "missing"), need(scaleNeed("apps", "StatefulSet", ns, "missing"))},
		{"another StatefulSet of that name", "the same", another(ref("apps/v1", "StatefulSet", "plain")), need(scaleNeed("apps", "StatefulSet", ns, "plain"))},
		{"a ReplicaSet", "what it wants itself, and not its Deployment", ref("apps/v1", "ReplicaSet", "rs"), ownRS},
		{"a ReplicaSet of another controller", "no Deployment, although one has the name and UID of the Rollout", ref("apps/v1", "ReplicaSet", "of-a-rollout"),
			Workload{Recreates: true, Replicas: 2, Object: ofARollout}},
		{"a ReplicaSet of a Deployment of another group", "no Deployment, although one has that name and UID", ref("apps/v1", "ReplicaSet", "of-a-foreign-deployment"),
			Workload{Recreates: true, Replicas: 2, Object: ofAForeignDeployment}},
		{"a ReplicationController of a Deployment", "no Deployment controls one", ref("v1", "ReplicationController", "of-a-deployment"),
			Workload{Recreates: true, Replicas: 3, Object: ofADeployment}},
		{"a ReplicaSet of the old group", "the same", ref("extensions/v1beta1", "ReplicaSet", "rs"), ownRS},
		{"the ReplicaSet of another group", "another kind", ref("example.com/v1", "ReplicaSet", "rs"),
			need(scaleNeed("example.com", "ReplicaSet", ns, "rs"))},
		{"a ReplicaSet that the snapshot lacks", "it may be there (D-22)", ref("apps/v1", "ReplicaSet", "missing"), need(objectNeed(ns, "missing"))},
		{"another ReplicaSet of that name", "the pod's may be there", another(ref("apps/v1", "ReplicaSet", "rs")), need(objectNeed(ns, "rs"))},
		{"a ReplicaSet that was looked up", "as the answer says", ref("apps/v1", "ReplicaSet", "looked-up"),
			Workload{Recreates: true, Replicas: 7, Object: lookedUp, Deployment: s.Deployments[0]}},
		{"another one was found", "the pod's is gone", ref("apps/v1", "ReplicaSet", "recreated"), Workload{}},
		{"none was found", "it is gone", ref("apps/v1", "ReplicaSet", "gone"), Workload{}},
		{"the lookup failed", "nobody knows", ref("apps/v1", "ReplicaSet", "failed"), Workload{MayRecreate: true}},
		{"a custom resource", "as its scale says", ref("example.com/v1", "Game", "game"), Workload{Recreates: true, Replicas: 6}},
		{"another custom resource of that name", "the pod's is gone", ref("example.com/v1", "Game", "other"), Workload{}},
		{"a custom resource that nobody looked up", "its scale is needed", ref("example.com/v1", "Game", "new"),
			need(scaleNeed("example.com", "Game", ns, "new"))},
		{"a Job", "it has no scale, and recreates what failed", ref("batch/v1", "Job", "job"), Workload{MayRecreate: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, NewIndex(s, Options{}).WorkloadOf(ns, tc.ref), tc.reason)
		})
	}
	replaced := deployment("web", ptr.To(int32(9)))
	replaced.UID = "uid-of-another"
	withAnother, _ := NewIndex(s, Options{}).With(Snapshot{Deployments: []*appsv1.Deployment{replaced}})
	require.Nil(t, withAnother.WorkloadOf(ns, ref("apps/v1", "ReplicaSet", "rs")).Deployment, "it does not control the ReplicaSet")
	upstream := NewIndex(s, Options{MatchUpstream: purekube.V1_36})
	require.Equal(t, ownRS, upstream.WorkloadOf(ns, ref("apps/v1", "ReplicaSet", "rs")))
	require.Equal(t, need(scaleNeed("apps", "ReplicaSet", ns, "missing")), upstream.WorkloadOf(ns, ref("apps/v1", "ReplicaSet", "missing")), "upstream asks for its scale")
	require.Equal(t, need(scaleNeed("apps", "ReplicaSet", ns, "rs")), upstream.WorkloadOf(ns, another(ref("apps/v1", "ReplicaSet", "rs"))), "the snapshot has another one")
}

// MaxPods counts the pods that name the controller, and those of a name that several pods have: once at least, however
// the Index has learned of them.
func TestWorkloadOfCountsPods(t *testing.T) {
	byRS := by("apps/v1", "ReplicaSet", "rs")
	s := Snapshot{Now: now, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", ptr.To(int32(2)))}, Pods: []*corev1.Pod{
		pod("a", byRS), pod("b", byRS, unready), pod("other", by("apps/v1", "ReplicaSet", "another")), pod("alone"),
	}}
	ref := &metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "uid-rs"}
	require.Equal(t, 2, NewIndex(s, Options{}).WorkloadOf(ns, ref).MaxPods)
	require.Zero(t, NewIndex(s, Options{}).WorkloadOf("elsewhere", ref).MaxPods)
	// A name of which one pod, the first or the second one, names the controller, and a name of which both do.
	stranger := by("apps/v1", "ReplicaSet", "another")
	twins := []*corev1.Pod{pod("both", byRS), pod("both", byRS), pod("first", byRS), pod("first", stranger), pod("second", stranger), pod("second", byRS)}
	added, _ := NewIndex(s, Options{}).With(Snapshot{Pods: twins})
	s.Pods = append(s.Pods, twins[0], twins[2], twins[4])
	replaced, _ := NewIndex(s, Options{}).With(Snapshot{Pods: twins})
	s.Pods = append(s.Pods, twins[1], twins[3], twins[5])
	for _, x := range []*Index{NewIndex(s, Options{}), added, replaced} {
		known, ambiguous := x.PodsOfController(ns, ref)
		require.Len(t, known, 2)
		require.Len(t, ambiguous, 3)
		require.GreaterOrEqual(t, x.WorkloadOf(ns, ref).MaxPods, 5, "one of each name is there")
	}
}
