package disruption

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

func TestControllers(t *testing.T) {
	three := ptr.To(int32(3))
	for _, tc := range []struct {
		name, reason string
		pods         []*corev1.Pod
		s            Snapshot
		want         int32 // expected pods
		wantErr      string
		wantNeeds    []purekube.Need
	}{{
		name: "ReplicationController", reason: "group core",
		pods: []*corev1.Pod{pod("a", by("v1", "ReplicationController", "rc"))},
		s:    Snapshot{ReplicationControllers: []*corev1.ReplicationController{replicationController("rc", three)}},
		want: 3,
	}, {
		name: "ReplicaSet", reason: "without a Deployment it stands for itself",
		pods: []*corev1.Pod{pod("a", by("apps/v1", "ReplicaSet", "rs"))},
		s:    Snapshot{ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", three)}},
		want: 3,
	}, {
		name: "ReplicaSet of an old group", reason: "extensions is where ReplicaSets came from",
		pods: []*corev1.Pod{pod("a", by("extensions/v1beta1", "ReplicaSet", "rs"))},
		s:    Snapshot{ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", three)}},
		want: 3,
	}, {
		name: "Deployment through ReplicaSet", reason: "the Deployment's replicas count, not the ReplicaSet's",
		pods: []*corev1.Pod{pod("a", by("apps/v1", "ReplicaSet", "rs"))},
		s: Snapshot{ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "d", ptr.To(int32(8)))},
			Deployments: []*appsv1.Deployment{deployment("d", three)}},
		want: 3,
	}, {
		name: "Deployment with two ReplicaSets", reason: "a rollout's Deployment counts once",
		pods: []*corev1.Pod{pod("a", by("apps/v1", "ReplicaSet", "old")), pod("b", by("apps/v1", "ReplicaSet", "new"))},
		s: Snapshot{ReplicaSets: []*appsv1.ReplicaSet{replicaSet("old", "d", ptr.To(int32(1))), replicaSet("new", "d", ptr.To(int32(2)))},
			Deployments: []*appsv1.Deployment{deployment("d", three)}},
		want: 3,
	}, {
		name: "ReplicaSet of something else", reason: "only a Deployment takes its place",
		pods: []*corev1.Pod{pod("a", by("apps/v1", "ReplicaSet", "rs"))},
		s: Snapshot{ReplicaSets: []*appsv1.ReplicaSet{{
			ObjectMeta: owned(meta("rs"), "argoproj.io/v1alpha1", "Rollout", "r"), Spec: appsv1.ReplicaSetSpec{Replicas: three}}}},
		want: 3,
	}, {
		name: "StatefulSet", reason: "group apps",
		pods: []*corev1.Pod{pod("a", by("apps/v1", "StatefulSet", "ss"))},
		s:    Snapshot{StatefulSets: []*appsv1.StatefulSet{statefulSet("ss", three)}},
		want: 3,
	}, {
		name: "different kinds add up", reason: "a budget may span workloads",
		pods: []*corev1.Pod{pod("a", by("apps/v1", "StatefulSet", "ss")), pod("b", by("v1", "ReplicationController", "rc")),
			pod("c", by("apps/v1", "StatefulSet", "ss"))},
		s: Snapshot{StatefulSets: []*appsv1.StatefulSet{statefulSet("ss", three)},
			ReplicationControllers: []*corev1.ReplicationController{replicationController("rc", ptr.To(int32(5)))}},
		want: 8,
	}, {
		name: "D-12 replicas absent", reason: "the API's default is 1; upstream panics",
		pods: []*corev1.Pod{pod("a", by("apps/v1", "StatefulSet", "ss")), pod("b", by("v1", "ReplicationController", "rc")),
			pod("c", by("apps/v1", "ReplicaSet", "rs")), pod("d", by("apps/v1", "ReplicaSet", "rs2"))},
		s: Snapshot{StatefulSets: []*appsv1.StatefulSet{statefulSet("ss", nil)},
			ReplicationControllers: []*corev1.ReplicationController{replicationController("rc", nil)},
			ReplicaSets:            []*appsv1.ReplicaSet{replicaSet("rs", "", nil), replicaSet("rs2", "d", three)},
			Deployments:            []*appsv1.Deployment{deployment("d", nil)}},
		want: 4,
	}, {
		name: "custom controller", reason: "its scale was looked up",
		pods: []*corev1.Pod{pod("a", by("db.example.com/v1", "Cluster", "pg"))},
		s:    Snapshot{Answers: map[purekube.Need]purekube.Answer{scaleNeed("db.example.com", "Cluster", ns, "pg"): scaleOf("uid-pg", 3)}},
		want: 3,
	}, {
		name: "custom controller not looked up", reason: "one question per controller, not per pod",
		pods: []*corev1.Pod{pod("a", by("db.example.com/v1", "Cluster", "pg")), pod("b", by("db.example.com/v1", "Cluster", "pg")),
			pod("c", by("db.example.com/v1", "Cluster", "aa"))},
		wantNeeds: []purekube.Need{
			{APIVersion: "db.example.com/v1", Kind: "Cluster", Namespace: ns, Name: "aa", Subresource: "scale"},
			{APIVersion: "db.example.com/v1", Kind: "Cluster", Namespace: ns, Name: "pg", Subresource: "scale"},
		},
	}, {
		name: "two versions of one kind", reason: "a scale has no version: one question",
		pods: []*corev1.Pod{pod("a", by("db.example.com/v1", "Cluster", "pg")), pod("b", by("db.example.com/v2", "Cluster", "pg"))},
		wantNeeds: []purekube.Need{
			{APIVersion: "db.example.com/v1", Kind: "Cluster", Namespace: ns, Name: "pg", Subresource: "scale"},
		},
	}, {
		name: "two versions of one kind, the later first", reason: "the same question, whichever pod comes first",
		pods: []*corev1.Pod{pod("a", by("db.example.com/v2", "Cluster", "pg")), pod("b", by("db.example.com/v1", "Cluster", "pg"))},
		wantNeeds: []purekube.Need{
			{APIVersion: "db.example.com/v1", Kind: "Cluster", Namespace: ns, Name: "pg", Subresource: "scale"},
		},
	}, {
		name: "one kind and name in two groups", reason: "two controllers, told apart by their UIDs",
		pods: []*corev1.Pod{pod("a", by("db.example.com/v1", "Cluster", "pg")), pod("b", by("db.example.org/v1", "Cluster", "pg"), func(p *corev1.Pod) {
			p.OwnerReferences[1].UID = "uid-of-the-other"
		})},
		s: Snapshot{Answers: map[purekube.Need]purekube.Answer{scaleNeed("db.example.com", "Cluster", ns, "pg"): scaleOf("uid-pg", 3),
			scaleNeed("db.example.org", "Cluster", ns, "pg"): scaleOf("uid-of-the-other", 2)}},
		want: 5,
	}, {
		name: "custom controller gone", reason: "looked up and not found",
		pods:    []*corev1.Pod{pod("a", by("db.example.com/v1", "Cluster", "pg"))},
		s:       Snapshot{Answers: map[purekube.Need]purekube.Answer{scaleNeed("db.example.com", "Cluster", ns, "pg"): {}}},
		wantErr: `found no controllers for pod "a"`,
	}, {
		name: "custom controller replaced", reason: "the one of that name now is another",
		pods:    []*corev1.Pod{pod("a", by("db.example.com/v1", "Cluster", "pg"))},
		s:       Snapshot{Answers: map[purekube.Need]purekube.Answer{scaleNeed("db.example.com", "Cluster", ns, "pg"): scaleOf("other", 3)}},
		wantErr: `found no controllers for pod "a"`,
	}, {
		name: "scale not available", reason: "the text of the lookup's error",
		pods: []*corev1.Pod{pod("a", by("v1", "Node", "n1"))},
		s: Snapshot{Answers: map[purekube.Need]purekube.Answer{scaleNeed("", "Node", ns, "n1"): {
			Err: errors.New("nodes does not implement the scale subresource")}}},
		wantErr: "nodes does not implement the scale subresource",
	}, {
		name: "several fail", reason: "the first by the pod's name, whatever the order of the snapshot",
		pods:    []*corev1.Pod{pod("b", by("x/v1", "Y", "1")), pod("a", by("x/v1", "Y", "2")), pod("c", by("x/v1", "Y", "3"))},
		s:       Snapshot{Answers: map[purekube.Need]purekube.Answer{scaleNeed("x", "Y", ns, "1"): {}, scaleNeed("x", "Y", ns, "2"): {}, scaleNeed("x", "Y", ns, "3"): {}}},
		wantErr: `found no controllers for pod "a"`,
	}, {
		name: "one is unknown and a later one fails", reason: "the first failure by name is named, and that may be the first one's",
		pods:      []*corev1.Pod{pod("a", by("x/v1", "Y", "1")), pod("b", by("x/v1", "Y", "2"))},
		s:         Snapshot{Answers: map[purekube.Need]purekube.Answer{scaleNeed("x", "Y", ns, "2"): {}}},
		wantNeeds: []purekube.Need{{APIVersion: "x/v1", Kind: "Y", Namespace: ns, Name: "1", Subresource: "scale"}},
	}, {
		name: "one fails and a later one is unknown", reason: "no answer would change the outcome, so none is asked for",
		pods:    []*corev1.Pod{pod("a", by("x/v1", "Y", "1")), pod("b", by("x/v1", "Y", "2"))},
		s:       Snapshot{Answers: map[purekube.Need]purekube.Answer{scaleNeed("x", "Y", ns, "1"): {}}},
		wantErr: `found no controllers for pod "a"`,
	}, {
		name: "workload not in the snapshot", reason: "known kinds have scales too; not in the cache is not gone",
		pods: []*corev1.Pod{pod("a", by("apps/v1", "StatefulSet", "ss"))},
		wantNeeds: []purekube.Need{
			{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: ns, Name: "ss", Subresource: "scale"}},
	}, {
		name: "ReplicationController not in the snapshot", reason: "not in the cache is not gone",
		pods: []*corev1.Pod{pod("a", by("v1", "ReplicationController", "rc"))},
		wantNeeds: []purekube.Need{
			{APIVersion: "v1", Kind: "ReplicationController", Namespace: ns, Name: "rc", Subresource: "scale"}},
	}, {
		name: "ReplicationController of another UID", reason: "a new one of the old name is not the pod's controller",
		pods: []*corev1.Pod{pod("a", by("v1", "ReplicationController", "rc"))},
		s: Snapshot{ReplicationControllers: []*corev1.ReplicationController{{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "rc", UID: "new"}}},
			Answers: map[purekube.Need]purekube.Answer{scaleNeed("", "ReplicationController", ns, "rc"): scaleOf("new", 3)}},
		wantErr: `found no controllers for pod "a"`,
	}, {
		name: "workload of another UID", reason: "a new StatefulSet of the old name is not the pod's controller",
		pods: []*corev1.Pod{pod("a", by("apps/v1", "StatefulSet", "ss"))},
		s: Snapshot{StatefulSets: []*appsv1.StatefulSet{{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "ss", UID: "new"}}},
			Answers: map[purekube.Need]purekube.Answer{scaleNeed("apps", "StatefulSet", ns, "ss"): scaleOf("new", 3)}},
		wantErr: `found no controllers for pod "a"`,
	}, {
		name: "kinds of another group", reason: "a StatefulSet elsewhere is no StatefulSet",
		pods: []*corev1.Pod{pod("a", by("example.com/v1", "StatefulSet", "x")), pod("b", by("example.com/v1", "ReplicaSet", "x")),
			pod("c", by("example.com/v1", "ReplicationController", "x"))},
		s: Snapshot{StatefulSets: []*appsv1.StatefulSet{statefulSet("x", three)}, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("x", "", three)},
			ReplicationControllers: []*corev1.ReplicationController{replicationController("x", three)}},
		wantNeeds: []purekube.Need{
			{APIVersion: "example.com/v1", Kind: "ReplicaSet", Namespace: ns, Name: "x", Subresource: "scale"},
			{APIVersion: "example.com/v1", Kind: "ReplicationController", Namespace: ns, Name: "x", Subresource: "scale"},
			{APIVersion: "example.com/v1", Kind: "StatefulSet", Namespace: ns, Name: "x", Subresource: "scale"}},
	}, {
		name: "other kinds of the groups", reason: "a workload of that name and UID is of another kind",
		pods: []*corev1.Pod{pod("a", by("apps/v1", "Queue", "x")), pod("b", by("v1", "Cache", "y"))},
		s: Snapshot{StatefulSets: []*appsv1.StatefulSet{statefulSet("x", three)}, ReplicaSets: []*appsv1.ReplicaSet{replicaSet("x", "", three)},
			ReplicationControllers: []*corev1.ReplicationController{replicationController("y", three)}},
		wantNeeds: []purekube.Need{
			{APIVersion: "apps/v1", Kind: "Queue", Namespace: ns, Name: "x", Subresource: "scale"},
			{APIVersion: "v1", Kind: "Cache", Namespace: ns, Name: "y", Subresource: "scale"}},
	}, {
		name: "apiVersion that does not parse", reason: "upstream's text",
		pods:    []*corev1.Pod{pod("a", by("a/b/c", "StatefulSet", "ss"))},
		wantErr: "unexpected GroupVersion string: a/b/c",
	}, {
		name: "apiVersion that does not parse, with the kind of the core group", reason: "it is of no group, and so not of the core group",
		pods:    []*corev1.Pod{pod("a", by("a/b/c", "ReplicationController", "rc"))},
		s:       Snapshot{ReplicationControllers: []*corev1.ReplicationController{replicationController("rc", three)}},
		wantErr: "unexpected GroupVersion string: a/b/c",
	}, {
		name: "apiVersion of the Deployment that does not parse", reason: "upstream's text",
		pods: []*corev1.Pod{pod("a", by("apps/v1", "ReplicaSet", "rs"))},
		s: Snapshot{ReplicaSets: []*appsv1.ReplicaSet{{
			ObjectMeta: owned(meta("rs"), "a/b/c", "Deployment", "d"), Spec: appsv1.ReplicaSetSpec{Replicas: three}}}},
		wantErr: "unexpected GroupVersion string: a/b/c",
	}} {
		for mode, o := range bothModes {
			for rule, change := range map[string]func(*policyv1.PodDisruptionBudget){
				"maxUnavailable": maxUnavailable("1"), "minAvailable": minAvailable("50%")} {
				t.Run(tc.name+"/"+mode+"/"+rule, func(t *testing.T) {
					s := tc.s
					s.Now, s.Pods, s.Budgets = now, tc.pods, []*policyv1.PodDisruptionBudget{budget(change)}
					r, err := Plan(s, key("web"), o)
					if tc.wantNeeds != nil {
						require.NoError(t, err)
						require.Empty(t, cmp.Diff(Result{Needs: tc.wantNeeds}, r), tc.reason)
						return
					}
					st := written(t, r)
					if tc.wantErr != "" {
						require.ErrorContains(t, err, tc.wantErr, tc.reason)
						require.Equal(t, tc.wantErr, st.Conditions[0].Message, tc.reason)
						require.Equal(t, policyv1.SyncFailedReason, st.Conditions[0].Reason)
						require.Equal(t, "Failed to calculate the number of expected pods: "+tc.wantErr, r.Events[0].Message)
						return
					}
					require.NoError(t, err)
					require.Equal(t, tc.want, st.ExpectedPods, tc.reason)
				})
			}
		}
	}
}

// A UID that another object has as well hides no controller, and a pod with a made-up reference is not overlooked.
func TestD39_ControllersOfOneUID(t *testing.T) {
	three, five := ptr.To(int32(3)), ptr.To(int32(5))
	rs, other := replicaSet("rs", "", three), replicaSet("other", "", five)
	other.UID = "uid-rs"
	ofOther := func(p *corev1.Pod) {
		by("apps/v1", "ReplicaSet", "other")(p)
		metav1.GetControllerOfNoCopy(p).UID = "uid-rs"
	}
	both := Snapshot{ReplicaSets: []*appsv1.ReplicaSet{rs, other}}
	ofD := replicaSet("other", "d", five)
	ofD.UID = "uid-rs"
	withoutUIDs := Snapshot{ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", three), replicaSet("other", "", five)}}
	for _, o := range withoutUIDs.ReplicaSets {
		o.UID = ""
	}
	ofNoUID := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			by("apps/v1", "ReplicaSet", name)(p)
			metav1.GetControllerOfNoCopy(p).UID = ""
		}
	}
	idle := Snapshot{ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "d", three)}, Deployments: []*appsv1.Deployment{deployment("d", ptr.To(int32(0)))}}
	deployed := Snapshot{ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "d", three)}, Deployments: []*appsv1.Deployment{deployment("d", three)}}
	looked := func(s Snapshot, n purekube.Need, a purekube.Answer) Snapshot {
		s.Answers = map[purekube.Need]purekube.Answer{n: a}
		return s
	}
	ofRS, ofDeployment := by("apps/v1", "ReplicaSet", "rs"), by("apps/v1", "Deployment", "d")
	for _, tc := range []struct {
		name, reason   string
		s              Snapshot
		pods           []*corev1.Pod
		want, upstream string
	}{
		{name: "two ReplicaSets", reason: "both want their pods", s: both,
			pods: []*corev1.Pod{pod("a", ofRS), pod("b", ofOther)}, want: "8", upstream: "3"},
		{name: "two ReplicaSets, the other way round", reason: "no name of a pod decides", s: both,
			pods: []*corev1.Pod{pod("b", ofRS), pod("a", ofOther)}, want: "8", upstream: "5"},
		{name: "an unknown ReplicaSet", reason: "it may be there", s: Snapshot{ReplicaSets: []*appsv1.ReplicaSet{rs}},
			pods: []*corev1.Pod{pod("a", ofRS), pod("b", ofOther)}, want: "ReplicaSet other?", upstream: "3"},
		{name: "a ReplicaSet that does not exist", reason: "the pod has no controller, as if it came first",
			s:    looked(Snapshot{ReplicaSets: []*appsv1.ReplicaSet{rs}}, objectNeed(ns, "other"), purekube.Answer{}),
			pods: []*corev1.Pod{pod("a", ofRS), pod("b", ofOther)}, want: `found no controllers for pod "b"`, upstream: "3"},
		{name: "a pod of the Deployment itself", reason: "it is the one that counts already: no lookup", s: deployed,
			pods: []*corev1.Pod{pod("a", ofRS), pod("b", ofDeployment)}, want: "3", upstream: "3"},
		{name: "a pod of the Deployment itself, the other way round", reason: "no name of a pod decides", s: deployed,
			pods: []*corev1.Pod{pod("b", ofRS), pod("a", ofDeployment)}, want: "3", upstream: "Deployment d?"},
		{name: "a pod of the Deployment itself, which wants none", reason: "a scale of 0 is known as well", s: idle,
			pods: []*corev1.Pod{pod("a", ofRS), pod("b", ofDeployment)}, want: "0", upstream: "0"},
		{name: "a Deployment of two scales", reason: "of the object and the answer the larger one counts",
			s:    looked(deployed, scaleNeed("apps", "Deployment", ns, "d"), scaleOf("uid-d", 5)),
			pods: []*corev1.Pod{pod("a", ofRS), pod("b", ofDeployment)}, want: "5", upstream: "3"},
		{name: "a Deployment of two scales, the other way round", reason: "no name of a pod decides",
			s:    looked(deployed, scaleNeed("apps", "Deployment", ns, "d"), scaleOf("uid-d", 5)),
			pods: []*corev1.Pod{pod("b", ofRS), pod("a", ofDeployment)}, want: "5", upstream: "3"},
		{name: "a Deployment whose answer is the smaller one", reason: "the object counts",
			s:    looked(deployed, scaleNeed("apps", "Deployment", ns, "d"), scaleOf("uid-d", 2)),
			pods: []*corev1.Pod{pod("a", ofRS), pod("b", ofDeployment)}, want: "3", upstream: "3"},
		{name: "a ReplicaSet with a Deployment has the UID", reason: "the Deployment counts beside the other ReplicaSet",
			s:    Snapshot{ReplicaSets: []*appsv1.ReplicaSet{rs, ofD}, Deployments: deployed.Deployments},
			pods: []*corev1.Pod{pod("a", ofRS), pod("b", ofOther)}, want: "6", upstream: "3"},
		{name: "no UIDs", reason: "manifests that no API server has seen", s: withoutUIDs,
			pods: []*corev1.Pod{pod("a", ofNoUID("rs")), pod("b", ofNoUID("other"))}, want: "8", upstream: "8"},
	} {
		for mode, want := range map[string]string{"default": tc.want, "upstream": tc.upstream} {
			t.Run(tc.name+"/"+mode, func(t *testing.T) {
				s := tc.s
				s.Now, s.Pods, s.Budgets = now, tc.pods, []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}
				r, err := Plan(s, key("web"), bothModes[mode])
				switch {
				case len(r.Needs) > 0:
					require.Len(t, r.Needs, 1, tc.reason)
					require.Equal(t, want, r.Needs[0].Kind+" "+r.Needs[0].Name+"?", tc.reason)
				case err != nil:
					require.ErrorContains(t, err, want, tc.reason)
				default:
					require.Equal(t, want, fmt.Sprint(written(t, r).ExpectedPods), tc.reason)
				}
			})
		}
	}
}

// In the middle of a rollout a ReplicaSet has fewer replicas than its Deployment, so that its own scale
// would allow too much.
func TestD22_WhatControlsAReplicaSetDecides(t *testing.T) {
	const wanted, own = 10, 7
	rs := replicaSet("web-rs", "web", ptr.To(int32(own)))
	orphan := replicaSet("web-rs", "", ptr.To(int32(own)))
	of := func(kind string) purekube.Need {
		n := purekube.Need{APIVersion: "apps/v1", Kind: kind, Namespace: ns, Name: "web", Subresource: "scale"}
		if kind == "ReplicaSet" {
			n.Name, n.Subresource = "web-rs", ""
		}
		return n
	}
	deploymentKey, replicaSetKey := scaleNeed("apps", "Deployment", ns, "web"), objectNeed(ns, "web-rs")
	renewed := deployment("web", ptr.To(int32(wanted)))
	renewed.UID = "new"
	ofAnotherGroup := replicaSet("web-rs", "web", ptr.To(int32(own)))
	ofAnotherGroup.OwnerReferences[1].APIVersion = "example.com/v1"
	replacement := replicaSet("web-rs", "web", ptr.To(int32(own)))
	replacement.UID = "new"
	for _, tc := range []struct {
		name, reason string
		replicaSets  []*appsv1.ReplicaSet
		deployments  []*appsv1.Deployment
		scales       map[purekube.Need]purekube.Answer
		need         *purekube.Need
		expected     int32
		err          string
	}{
		{name: "Deployment missing", reason: "its scale counts", replicaSets: []*appsv1.ReplicaSet{rs}, need: ptr.To(of("Deployment"))},
		{name: "Deployment looked up", reason: "its scale counts", replicaSets: []*appsv1.ReplicaSet{rs},
			scales: map[purekube.Need]purekube.Answer{deploymentKey: scaleOf("uid-web", wanted)}, expected: wanted},
		{name: "Deployment gone", reason: "the ReplicaSet stands for itself", replicaSets: []*appsv1.ReplicaSet{rs},
			scales: map[purekube.Need]purekube.Answer{deploymentKey: {}}, expected: own},
		{name: "Deployment replaced", reason: "the one of that name now is another", replicaSets: []*appsv1.ReplicaSet{rs},
			scales: map[purekube.Need]purekube.Answer{deploymentKey: scaleOf("new", 1)}, expected: own},
		{name: "Deployment of another UID in the snapshot", reason: "caches lag", replicaSets: []*appsv1.ReplicaSet{rs},
			deployments: []*appsv1.Deployment{renewed}, need: ptr.To(of("Deployment"))},
		{name: "Deployment not to be had", reason: "nothing is guessed", replicaSets: []*appsv1.ReplicaSet{rs},
			scales: map[purekube.Need]purekube.Answer{deploymentKey: {Err: errors.New("timeout")}}, err: "Deployment shop/web: scale: timeout"},
		{name: "Deployment of another group", reason: "the ReplicaSet stands for itself", replicaSets: []*appsv1.ReplicaSet{ofAnotherGroup}, expected: own},
		{name: "ReplicaSet of another UID in the snapshot", reason: "caches lag", replicaSets: []*appsv1.ReplicaSet{replacement}, need: ptr.To(of("ReplicaSet"))},
		{name: "ReplicaSet missing", reason: "the object is asked for: what controls it decides",
			deployments: []*appsv1.Deployment{deployment("web", ptr.To(int32(wanted)))}, need: ptr.To(of("ReplicaSet"))},
		{name: "ReplicaSet looked up", reason: "it names its Deployment", deployments: []*appsv1.Deployment{deployment("web", ptr.To(int32(wanted)))},
			scales: map[purekube.Need]purekube.Answer{replicaSetKey: {Object: rs}}, expected: wanted},
		{name: "ReplicaSet looked up, Deployment missing", reason: "one lookup after the other",
			scales: map[purekube.Need]purekube.Answer{replicaSetKey: {Object: rs}}, need: ptr.To(of("Deployment"))},
		{name: "both looked up", reason: "one lookup after the other",
			scales:   map[purekube.Need]purekube.Answer{replicaSetKey: {Object: rs}, deploymentKey: scaleOf("uid-web", wanted)},
			expected: wanted},
		{name: "ReplicaSet of nobody", reason: "stands for itself", scales: map[purekube.Need]purekube.Answer{replicaSetKey: {Object: orphan}}, expected: own},
		{name: "ReplicaSet gone", reason: "the pod has no controller", scales: map[purekube.Need]purekube.Answer{replicaSetKey: {}},
			err: `Pod shop/web-a: metadata.ownerReferences: found no controllers for pod "web-a"`},
		{name: "ReplicaSet replaced", reason: "the one of that name now is another", scales: map[purekube.Need]purekube.Answer{replicaSetKey: {Object: replacement}},
			err: `Pod shop/web-a: metadata.ownerReferences: found no controllers for pod "web-a"`},
		{name: "ReplicaSet not to be had", reason: "nothing is guessed", scales: map[purekube.Need]purekube.Answer{replicaSetKey: {Err: errors.New("timeout")}},
			err: "ReplicaSet shop/web-rs: scale: timeout"},
		{name: "only its scale was looked up", reason: "it says nothing if a Deployment controls it",
			scales: map[purekube.Need]purekube.Answer{replicaSetKey: scaleOf("uid-web-rs", own)},
			err:    "ReplicaSet shop/web-rs: scale: the answer is a *v1.Scale, want a *v1.ReplicaSet"},
	} {
		// Pods may name a ReplicaSet by the group that it came from. It is asked for by the one that it is in.
		for _, group := range []string{"apps/v1", "extensions/v1beta1"} {
			t.Run(tc.name+"/"+group, func(t *testing.T) {
				s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}, Pods: pods(7, 7, by(group, "ReplicaSet", "web-rs")),
					ReplicaSets: tc.replicaSets, Deployments: tc.deployments, Answers: tc.scales}
				r, err := Plan(s, key("web"), Options{})
				if tc.need != nil {
					require.NoError(t, err)
					require.Empty(t, cmp.Diff(Result{Needs: []purekube.Need{*tc.need}}, r), tc.reason)
					return
				}
				if tc.err != "" {
					require.EqualError(t, err, tc.err, tc.reason)
					require.Zero(t, written(t, r).DisruptionsAllowed)
					return
				}
				require.NoError(t, err)
				require.Equal(t, tc.expected, written(t, r).ExpectedPods, tc.reason)
			})
		}
	}
	t.Run("upstream", func(t *testing.T) {
		const looked = own + 1
		s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}, Pods: pods(7, 7, byWeb),
			Answers: map[purekube.Need]purekube.Answer{scaleNeed("apps", "ReplicaSet", ns, "web-rs"): scaleOf("uid-web-rs", looked)}}
		for _, s.ReplicaSets = range [][]*appsv1.ReplicaSet{nil, {rs}, {ofAnotherGroup}, {replacement}} {
			require.EqualValues(t, looked, statusOf(t, s, Options{MatchUpstream: purekube.V1_36}).ExpectedPods, "the ReplicaSet's scale answers for it")
		}
		s.ReplicaSets, s.Deployments = []*appsv1.ReplicaSet{ofAnotherGroup}, []*appsv1.Deployment{deployment("web", ptr.To(int32(looked+1)))}
		require.EqualValues(t, looked, statusOf(t, s, Options{MatchUpstream: purekube.V1_36}).ExpectedPods,
			"no Deployment of apps controls it, although one has that name and UID")
	})
}

// The wrong sum would be small, so that nearly everything could be disrupted.
func TestD23_SumOfScalesBeyondInt32(t *testing.T) {
	huge := ptr.To(int32(math.MaxInt32))
	s := Snapshot{
		Now:     now,
		Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))},
		Pods:    []*corev1.Pod{pod("a", by("apps/v1", "StatefulSet", "a")), pod("b", by("apps/v1", "StatefulSet", "b")), pod("c", by("apps/v1", "StatefulSet", "c"))},
		StatefulSets: []*appsv1.StatefulSet{
			statefulSet("a", huge), statefulSet("b", huge), statefulSet("c", ptr.To(int32(4)))},
	}
	require.Empty(t, cmp.Diff(
		Counts{ExpectedPods: math.MaxInt32, DesiredHealthy: math.MaxInt32, CurrentHealthy: 3},
		countsOf(statusOf(t, s, Options{}))), "the numbers stay at the largest there is")
	require.Empty(t, cmp.Diff(
		Counts{ExpectedPods: 2, DesiredHealthy: 1, CurrentHealthy: 3, DisruptionsAllowed: 2},
		countsOf(statusOf(t, s, Options{MatchUpstream: purekube.V1_36}))), "upstream adds in 32 bits: 2^31−1 + 2^31−1 + 4 is 2")

	half := s
	half.Budgets = []*policyv1.PodDisruptionBudget{budget(minAvailable("50%"))}
	require.Empty(t, cmp.Diff(
		Counts{ExpectedPods: 2, DesiredHealthy: 1, CurrentHealthy: 3, DisruptionsAllowed: 2},
		countsOf(statusOf(t, half, Options{MatchUpstream: purekube.V1_36}))), "upstream takes the share of what wrapped around")

	one := s
	one.Budgets = []*policyv1.PodDisruptionBudget{budget(minAvailable("200%"))}
	one.Pods = s.Pods[:1]
	require.Empty(t, cmp.Diff(
		Counts{ExpectedPods: math.MaxInt32, DesiredHealthy: math.MaxInt32, CurrentHealthy: 1},
		countsOf(statusOf(t, one, Options{}))), "200 % of 2^31−1 stays at the largest number")
	require.Empty(t, cmp.Diff(
		Counts{ExpectedPods: math.MaxInt32, DesiredHealthy: -2, CurrentHealthy: 1, DisruptionsAllowed: 3},
		countsOf(statusOf(t, one, Options{MatchUpstream: purekube.V1_36}))), "2^32−2 is −2 in 32 bits")

	// A share of the sum is one of the exact sum, 2^32+2.
	for _, tc := range []struct {
		name, reason string
		budget       *policyv1.PodDisruptionBudget
		want         int32
	}{
		{"30% available", "1,288,490,189.4, rounded up", budget(minAvailable("30%")), 1288490190},
		{"70% unavailable", "3,006,477,108.6, rounded up, less than the sum", budget(maxUnavailable("70%")), 1288490189},
		{"200% available", "more than a figure can be", budget(minAvailable("200%")), math.MaxInt32},
		{"2147483647% available", "beyond 64 bits", budget(minAvailable("2147483647%")), math.MaxInt32},
		{"2147483647% unavailable", "never below 0", budget(maxUnavailable("2147483647%")), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s.Budgets = []*policyv1.PodDisruptionBudget{tc.budget}
			require.Equal(t, tc.want, countsOf(statusOf(t, s, Options{})).DesiredHealthy, tc.reason)
		})
	}

	t.Run("a share beyond 64 bits", func(t *testing.T) {
		s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(minAvailable("2147483647%"))}}
		for i := range 300 {
			name := fmt.Sprint("db", i)
			s.StatefulSets = append(s.StatefulSets, statefulSet(name, huge))
			s.Pods = append(s.Pods, pod(name, by("apps/v1", "StatefulSet", name)))
		}
		require.EqualValues(t, math.MaxInt32, statusOf(t, s, Options{}).DesiredHealthy, "21 million times 300 times 2^31−1")
	})
}
