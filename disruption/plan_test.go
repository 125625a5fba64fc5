package disruption

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

func TestCounts(t *testing.T) {
	type figs = Counts
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		o            Options
		want         figs
	}{{
		name: "BR-25-01 minAvailable number", reason: "expected is the number of pods, not the scale",
		s:    web(budget(minAvailable("2")), 9, pods(4, 3, byWeb)...),
		want: figs{ExpectedPods: 4, DesiredHealthy: 2, CurrentHealthy: 3, DisruptionsAllowed: 1},
	}, {
		name: "BR-25-01 minAvailable number counts unmanaged pods", reason: "no controller is asked",
		s:    web(budget(minAvailable("2")), 9, pod("a"), pod("b"), pod("c")),
		want: figs{ExpectedPods: 3, DesiredHealthy: 2, CurrentHealthy: 3, DisruptionsAllowed: 1},
	}, {
		name: "BR-25-01 minAvailable percentage", reason: "of the scale, rounded up: half of 5 is 3",
		s:    web(budget(minAvailable("50%")), 5, pods(4, 4, byWeb)...),
		want: figs{ExpectedPods: 5, DesiredHealthy: 3, CurrentHealthy: 4, DisruptionsAllowed: 1},
	}, {
		name: "BR-25-02 maxUnavailable number", reason: "the scale less the number",
		s:    web(budget(maxUnavailable("1")), 5, pods(5, 5, byWeb)...),
		want: figs{ExpectedPods: 5, DesiredHealthy: 4, CurrentHealthy: 5, DisruptionsAllowed: 1},
	}, {
		name: "BR-25-02 maxUnavailable percentage", reason: "30 % of 7 are 3 in Kubernetes",
		s:    web(budget(maxUnavailable("30%")), 7, pods(7, 6, byWeb)...),
		want: figs{ExpectedPods: 7, DesiredHealthy: 4, CurrentHealthy: 6, DisruptionsAllowed: 2},
	}, {
		name: "BR-25-02 maxUnavailable percentage rounded down", reason: "30 % of 7 are 2 by the stricter rule",
		s:    web(budget(maxUnavailable("30%")), 7, pods(7, 6, byWeb)...),
		o:    Options{MaxUnavailableRounding: RoundDown},
		want: figs{ExpectedPods: 7, DesiredHealthy: 5, CurrentHealthy: 6, DisruptionsAllowed: 1},
	}, {
		name: "BR-25-03 too few are healthy", reason: "never below 0",
		s:    web(budget(maxUnavailable("1")), 5, pods(5, 1, byWeb)...),
		want: figs{ExpectedPods: 5, DesiredHealthy: 4, CurrentHealthy: 1},
	}, {
		name: "BR-25-03 scaled to nothing", reason: "none are expected, so none may be disrupted, though one is still there",
		s:    web(budget(maxUnavailable("1")), 0, pods(1, 1, byWeb)...),
		want: figs{CurrentHealthy: 1},
	}, {
		name: "neither", reason: "nothing is expected, so nothing is allowed",
		s:    web(budget(), 5, pods(5, 5, byWeb)...),
		want: figs{CurrentHealthy: 5},
	}, {
		name: "both", reason: "maxUnavailable wins",
		s:    web(budget(minAvailable("1"), maxUnavailable("1")), 5, pods(5, 5, byWeb)...),
		want: figs{ExpectedPods: 5, DesiredHealthy: 4, CurrentHealthy: 5, DisruptionsAllowed: 1},
	}, {
		name: "pods that are going do not count as healthy", reason: "they will not be there in a moment",
		s: web(budget(maxUnavailable("1")), 3,
			pod("a", byWeb), pod("b", byWeb, deleting), pod("c", byWeb)),
		want: figs{ExpectedPods: 3, DesiredHealthy: 2, CurrentHealthy: 2},
	}, {
		name: "unmanaged pods", reason: "nobody expects them, but they are healthy",
		s: web(budget(maxUnavailable("1")), 2,
			pod("a", byWeb), pod("b", byWeb), pod("c")),
		want: figs{ExpectedPods: 2, DesiredHealthy: 1, CurrentHealthy: 3, DisruptionsAllowed: 2},
	}, {
		name: "no selector", reason: "no selector covers no pod",
		s:    web(budget(minAvailable("1"), selecting(nil)), 2, pods(2, 2, byWeb)...),
		want: figs{DesiredHealthy: 1},
	}, {
		name: "empty selector", reason: "an empty selector covers the namespace",
		s: web(budget(minAvailable("1"), selecting(&metav1.LabelSelector{})), 2,
			pod("a", labelled(nil)), pod("b"), pod("c", func(p *corev1.Pod) { p.Namespace = "elsewhere" })),
		want: figs{ExpectedPods: 2, DesiredHealthy: 1, CurrentHealthy: 2, DisruptionsAllowed: 1},
	}} {
		for mode, o := range bothModes {
			t.Run(tc.name+"/"+mode, func(t *testing.T) {
				o.MaxUnavailableRounding = tc.o.MaxUnavailableRounding
				require.Empty(t, cmp.Diff(tc.want, countsOf(statusOf(t, tc.s, o))), tc.reason)
			})
		}
	}
}

func TestControllers(t *testing.T) {
	three := ptr.To(int32(3))
	twin := replicaSet("other", "d", three)
	twin.UID = "uid-rs"
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
		name: "two of one UID", reason: "which no API server has: nothing is looked up for a UID that is counted, and the first pod by name has it counted",
		pods: []*corev1.Pod{pod("b", by("apps/v1", "ReplicaSet", "other"), func(p *corev1.Pod) { p.OwnerReferences[1].UID = "uid-rs" }),
			pod("a", by("apps/v1", "ReplicaSet", "rs"))},
		s:    Snapshot{ReplicaSets: []*appsv1.ReplicaSet{replicaSet("rs", "", three), twin}, Deployments: []*appsv1.Deployment{deployment("d", three)}},
		want: 3,
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
		name: "scale not available", reason: "the text of the look-up's error",
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
		{name: "ReplicaSet looked up, Deployment missing", reason: "one look-up after the other",
			scales: map[purekube.Need]purekube.Answer{replicaSetKey: {Object: rs}}, need: ptr.To(of("Deployment"))},
		{name: "both looked up", reason: "one look-up after the other",
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
			err:    "ReplicaSet shop/web-rs: scale: the look-up brought a *v1.Scale and not a *v1.ReplicaSet"},
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

// The default refuses it, and says of which object. Upstream computes with it.
func TestWhatAnAPIServerDoesNotAdmit(t *testing.T) {
	twoOf := func(replicas int32, change func(*policyv1.PodDisruptionBudget)) Snapshot {
		return web(budget(change), replicas, pods(2, 2, byWeb)...)
	}
	alone := func(b *policyv1.PodDisruptionBudget) Snapshot {
		return Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{b}, Pods: []*corev1.Pod{pod("a", by("apps/v1", "StatefulSet", "a"))},
			StatefulSets: []*appsv1.StatefulSet{statefulSet("a", ptr.To(int32(-4)))}}
	}
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		err          string
		upstream     Counts
	}{
		{name: "negative minAvailable", reason: "more may go than there are", s: twoOf(2, minAvailable("-1")),
			err:      "PodDisruptionBudget shop/web: spec.minAvailable: must not be negative",
			upstream: Counts{ExpectedPods: 2, DesiredHealthy: -1, CurrentHealthy: 2, DisruptionsAllowed: 3}},
		{name: "negative percentage", reason: "-50 % of 4 are -2", s: twoOf(4, minAvailable("-50%")),
			err:      "PodDisruptionBudget shop/web: spec.minAvailable: must not be negative",
			upstream: Counts{ExpectedPods: 4, DesiredHealthy: -2, CurrentHealthy: 2, DisruptionsAllowed: 4}},
		{name: "negative maxUnavailable", reason: "more than all have to stay", s: twoOf(2, maxUnavailable("-1")),
			err:      "PodDisruptionBudget shop/web: spec.maxUnavailable: must not be negative",
			upstream: Counts{ExpectedPods: 2, DesiredHealthy: 3, CurrentHealthy: 2}},
		{name: "percentage beyond int32", reason: "2^31 % of 100 are 2^31, which is -2^31 in 32 bits, and so is what is healthy beyond that",
			s: twoOf(100, minAvailable("2147483648%")), err: "PodDisruptionBudget shop/web: spec.minAvailable: percentage out of range",
			upstream: Counts{ExpectedPods: 100, DesiredHealthy: math.MinInt32, CurrentHealthy: 2}},
		{name: "negative replicas of a Deployment", reason: "they would be subtracted from what others want", s: twoOf(-4, maxUnavailable("1")),
			err:      "Deployment shop/web: spec.replicas: must not be negative",
			upstream: Counts{ExpectedPods: -4, CurrentHealthy: 2}},
		{name: "negative replicas of a StatefulSet", reason: "they would be subtracted from what others want", s: alone(budget(maxUnavailable("1"))),
			err:      "StatefulSet shop/a: spec.replicas: must not be negative",
			upstream: Counts{ExpectedPods: -4, CurrentHealthy: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := Plan(tc.s, key("web"), Options{})
			require.EqualError(t, err, tc.err, tc.reason)
			st := written(t, r)
			require.Zero(t, st.DisruptionsAllowed)
			require.Equal(t, policyv1.SyncFailedReason, st.Conditions[0].Reason)
			require.Equal(t, tc.err, st.Conditions[0].Message, "upstream has no text for it")
			require.Empty(t, cmp.Diff(tc.upstream, countsOf(statusOf(t, tc.s, bothModes["upstream"]))), tc.reason)
		})
	}
}

func TestBR2504_DisruptedPods(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		age          time.Duration // of the entry
		change       []func(*corev1.Pod)
		kept         bool
		healthy      int32 // of the two pods
		recheck      time.Duration
		events       []string
	}{
		{name: "BR-25-04 just evicted", reason: "the pod is as good as gone", age: 0, kept: true, healthy: 1, recheck: 2 * time.Minute},
		{name: "BR-25-04 within two minutes", reason: "the pod is as good as gone", age: 119 * time.Second, kept: true, healthy: 1, recheck: time.Second},
		{name: "BR-25-04 over", reason: "it was not deleted: it counts again", age: 121 * time.Second, healthy: 2, events: []string{"NotDeleted"}},
		{name: "BR-25-04 being deleted", reason: "the entry has done its work", age: time.Second, change: []func(*corev1.Pod){deleting}, healthy: 1},
		{name: "BR-25-04 not ready", reason: "it does not count as it is", age: 0, change: []func(*corev1.Pod){unready}, kept: true, healthy: 1, recheck: 2 * time.Minute},
		{name: "BR-25-04 not covered", reason: "another budget's affair", age: time.Second, change: []func(*corev1.Pod){labelled(nil)}, healthy: 1},
		{name: "BR-25-04 from the future", reason: "clocks differ between machines", age: -time.Minute, kept: true, healthy: 1, recheck: 3 * time.Minute},
	} {
		for mode, o := range bothModes {
			t.Run(tc.name+"/"+mode, func(t *testing.T) {
				s := web(budget(minAvailable("1"), disrupted(map[string]metav1.Time{
					"a": ago(tc.age), "gone": ago(time.Second)})), 2,
					pod("a", append(tc.change, byWeb)...), pod("b", byWeb))
				r, err := Plan(s, key("web"), o)
				require.NoError(t, err)
				st := written(t, r)
				require.Equal(t, tc.healthy, st.CurrentHealthy, tc.reason)
				if tc.kept {
					require.Equal(t, map[string]metav1.Time{"a": ago(tc.age)}, st.DisruptedPods)
					require.Equal(t, now.Add(tc.recheck), r.RecheckAt)
				} else {
					require.Empty(t, st.DisruptedPods)
					require.Zero(t, r.RecheckAt)
				}
				require.Equal(t, tc.events, reasons(r))
			})
		}
	}
}

func TestTimeoutsAreOptions(t *testing.T) {
	s := web(budget(minAvailable("1"), disrupted(map[string]metav1.Time{"a": ago(30 * time.Second)})), 1, pod("a", byWeb, target("True", "x", 30*time.Second)))
	for _, tc := range []struct {
		name, reason string
		timeout      *time.Duration
		over         bool
	}{
		{name: "default", reason: "two minutes", over: false},
		{name: "shorter", reason: "the time is over", timeout: ptr.To(20 * time.Second), over: true},
		{name: "zero", reason: "none", timeout: ptr.To(time.Duration(0)), over: true},
		{name: "longer", reason: "the time is not over", timeout: ptr.To(time.Hour), over: false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wait := ptr.Deref(tc.timeout, 2*time.Minute) - 30*time.Second
			r, err := Plan(s, key("web"), Options{DeletionTimeout: tc.timeout})
			require.NoError(t, err)
			require.Equal(t, tc.over, len(written(t, r).DisruptedPods) == 0, tc.reason)
			if !tc.over {
				require.Equal(t, now.Add(wait), r.RecheckAt)
			}
			r, err = Plan(s, podNamed("a"), Options{StaleDisruptionTimeout: tc.timeout})
			require.NoError(t, err)
			require.Equal(t, tc.over, len(r.Actions) == 1, tc.reason)
			if !tc.over {
				require.Equal(t, now.Add(wait), r.RecheckAt)
			}
		})
	}
}

func TestBR2504_TheFirstEntryToEndIsWhenToLookAgain(t *testing.T) {
	s := web(budget(minAvailable("1"), disrupted(map[string]metav1.Time{
		"web-a": ago(30 * time.Second), "web-b": ago(90 * time.Second), "web-c": ago(time.Second)})), 3, pods(3, 3, byWeb)...)
	r, err := Plan(s, key("web"), Options{})
	require.NoError(t, err)
	require.Equal(t, now.Add(30*time.Second), r.RecheckAt)
	require.Len(t, written(t, r).DisruptedPods, 3)
}

func TestD13_NothingUnavailableAndNoScale(t *testing.T) {
	for _, zero := range []string{"0", "0%", "00%"} {
		s := web(budget(maxUnavailable(zero)), 3, pods(3, 2, by("v1", "Node", "n1"))...)
		s.Answers = map[purekube.Need]purekube.Answer{scaleNeed("", "Node", ns, "n1"): {Err: errors.New("nodes does not implement the scale subresource")}}

		r, err := Plan(s, key("web"), Options{})
		require.NoError(t, err)
		require.Empty(t, r.Events)
		require.Empty(t, cmp.Diff(Counts{ExpectedPods: 3, DesiredHealthy: 3, CurrentHealthy: 2}, countsOf(written(t, r))))
		require.Equal(t, policyv1.InsufficientPodsReason, written(t, r).Conditions[0].Reason)

		r, err = Plan(s, key("web"), Options{MatchUpstream: purekube.V1_36})
		require.Error(t, err)
		require.Equal(t, policyv1.SyncFailedReason, written(t, r).Conditions[0].Reason)
	}
	t.Run("not looked up yet", func(t *testing.T) {
		r, err := Plan(web(budget(maxUnavailable("0")), 3, pods(3, 2, by("x/v1", "Y", "n1"))...), key("web"), Options{})
		require.NoError(t, err)
		require.Len(t, r.Needs, 1, "the numbers would be others if the scale can be had")
	})
	t.Run("a string that is no percentage", func(t *testing.T) {
		for _, text := range []string{"0", "x%"} {
			s := web(budget(func(b *policyv1.PodDisruptionBudget) { b.Spec.MaxUnavailable = ptr.To(intstr.FromString(text)) }), 3, pods(3, 3, by("v1", "Node", "n1"))...)
			s.Answers = map[purekube.Need]purekube.Answer{scaleNeed("", "Node", ns, "n1"): {}}
			_, err := Plan(s, key("web"), Options{})
			require.EqualError(t, err, `Pod shop/web-a: metadata.ownerReferences: found no controllers for pod "web-a"`, "it does not say 0; the scale comes first")
		}
	})
	t.Run("some may be unavailable", func(t *testing.T) {
		for _, some := range []string{"1", "1%"} {
			s := web(budget(maxUnavailable(some)), 3, pods(3, 3, by("v1", "Node", "n1"))...)
			s.Answers = map[purekube.Need]purekube.Answer{scaleNeed("", "Node", ns, "n1"): {Err: errors.New("nodes does not implement the scale subresource")}}
			r, err := Plan(s, key("web"), Options{})
			require.Error(t, err, "the answer needs the scale")
			require.Zero(t, written(t, r).DisruptionsAllowed)
		}
	})
}

func TestD14_EntryOfAPredecessor(t *testing.T) {
	for _, tc := range []struct {
		name, reason    string
		created         time.Duration
		kept, upstreams bool
	}{
		{name: "created after the entry", reason: "web-0 was evicted, deleted and made anew", created: 10 * time.Second, upstreams: true},
		{name: "created with the entry", reason: "times have whole seconds: it may be the one that was evicted", created: 30 * time.Second, kept: true, upstreams: true},
		{name: "created before the entry", reason: "it is the one that was evicted", created: time.Hour, kept: true, upstreams: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := web(budget(minAvailable("1"), disrupted(map[string]metav1.Time{"a": ago(30 * time.Second)})), 1, pod("a", byWeb, created(tc.created)))
			for _, mode := range []struct {
				o    Options
				kept bool
			}{{Options{}, tc.kept}, {Options{MatchUpstream: purekube.V1_36}, tc.upstreams}} {
				r, err := Plan(s, key("web"), mode.o)
				require.NoError(t, err)
				st := written(t, r)
				if mode.kept {
					require.Contains(t, st.DisruptedPods, "a", tc.reason)
					require.Zero(t, st.CurrentHealthy)
				} else {
					require.Empty(t, st.DisruptedPods, tc.reason)
					require.EqualValues(t, 1, st.CurrentHealthy)
					require.Zero(t, r.RecheckAt)
					require.Empty(t, r.Events, "the one that was evicted is deleted")
				}
			}
		})
	}
}

// With a clock that is behind the pods, the entry that an eviction just wrote would look like a
// predecessor's, and a budget of 1 would let all pods go.
func TestD24_AClockBehindThePods(t *testing.T) {
	for name, at := range map[string]time.Time{"zero": {}, "a fixture's": epoch.Add(-time.Hour)} {
		t.Run(name, func(t *testing.T) {
			s := web(budget(maxUnavailable("1")), 3, pods(3, 3, byWeb)...)
			s.Now = at
			allowed := 0
			for _, p := range s.Pods {
				e, err := CheckEviction(s, nn(p.Name), Recomputed, Options{})
				require.NoError(t, err)
				if e.Update != nil {
					allowed++
					s.Budgets[0] = e.Update
				}
			}
			require.Equal(t, 1, allowed)
		})
	}
	t.Run("the very moment", func(t *testing.T) {
		s := web(budget(minAvailable("1"), disrupted(map[string]metav1.Time{"a": ago(time.Second)})), 1, pod("a", byWeb, created(0)))
		require.Empty(t, statusOf(t, s, Options{}).DisruptedPods, "a pod that was created now is not from the future")
	})
}

func TestD15_NotDeletedNamesTheBudget(t *testing.T) {
	s := web(budget(minAvailable("1"), disrupted(map[string]metav1.Time{"b": ago(time.Hour), "a": ago(time.Hour)})), 2, pod("b", byWeb), pod("a", byWeb))
	r, err := Plan(s, key("web"), Options{})
	require.NoError(t, err)
	want := func(pod, budget string) purekube.Event {
		return purekube.Event{
			Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: ns, Name: pod, UID: types.UID("uid-" + pod), ResourceVersion: "7"},
			Type:      "Warning", Reason: "NotDeleted", Message: "Pod was expected by PDB " + budget + " to be deleted but it wasn't",
		}
	}
	require.Empty(t, cmp.Diff([]purekube.Event{want("a", "shop/web"), want("b", "shop/web")}, r.Events))
	r, err = Plan(s, key("web"), Options{MatchUpstream: purekube.V1_36})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]purekube.Event{want("a", "shop/shop"), want("b", "shop/shop")}, r.Events), "upstream prints the namespace twice")
}

func TestD18_TheFailSafeStatusIsWrittenOnce(t *testing.T) {
	for mode, o := range bothModes {
		s := web(budget(maxUnavailable("x%")), 2, pods(2, 2, byWeb)...)
		r, err := Plan(s, key("web"), o)
		require.Error(t, err)
		s.Budgets[0] = r.Actions[0].(UpdateStatus).Budget
		again, err := Plan(s, key("web"), o)
		require.Error(t, err, "the problem is still there")
		require.NotEmpty(t, again.Events)
		if mode == "default" {
			require.Empty(t, again.Actions)
		} else {
			require.Equal(t, s.Budgets[0].Status, written(t, again), "upstream writes it on every pass")
		}
		s.Budgets[0].Status.DisruptionsAllowed = 1
		again, _ = Plan(s, key("web"), o)
		require.Zero(t, written(t, again).DisruptionsAllowed, "a figure that is not safe is put right")
	}
}

func TestD19_AnEntryOfExactlyTwoMinutes(t *testing.T) {
	s := web(budget(minAvailable("1"), disrupted(map[string]metav1.Time{"a": ago(DefaultDeletionTimeout)})), 2, pod("a", byWeb), pod("b", byWeb))
	r, err := Plan(s, key("web"), Options{})
	require.NoError(t, err)
	require.Empty(t, written(t, r).DisruptedPods)
	require.EqualValues(t, 2, written(t, r).CurrentHealthy)
	require.Equal(t, []string{"NotDeleted"}, reasons(r))
	require.Zero(t, r.RecheckAt)

	r, err = Plan(s, key("web"), Options{MatchUpstream: purekube.V1_36})
	require.NoError(t, err)
	require.Contains(t, written(t, r).DisruptedPods, "a", "upstream keeps the entry")
	require.EqualValues(t, 2, written(t, r).CurrentHealthy, "and counts the pod")
	require.Empty(t, r.Events)
	require.Equal(t, now.Add(1), r.RecheckAt, "upstream looks again at once")
}

func TestBR2506_FailSafe(t *testing.T) {
	old := policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: 4, DisruptionsAllowed: 2, CurrentHealthy: 6, DesiredHealthy: 4, ExpectedPods: 7,
		DisruptedPods: map[string]metav1.Time{"gone": ago(time.Hour)},
		Conditions: []metav1.Condition{
			{Type: "example.com/Audited", Status: metav1.ConditionTrue, LastTransitionTime: ago(time.Hour), Reason: "Yes"},
			{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionTrue, ObservedGeneration: 4,
				LastTransitionTime: ago(time.Hour), Reason: policyv1.SufficientPodsReason},
		},
	}
	for _, tc := range []struct {
		name, reason  string
		change        func(*policyv1.PodDisruptionBudget)
		message       string
		event, prefix string
		err           string
	}{{
		name: "selector", reason: "which pods it covers is not known",
		change:  selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}),
		message: `"Like" is not a valid label selector operator`,
		event:   "NoPods", prefix: "Failed to get pods: ",
		err: `PodDisruptionBudget shop/web: spec.selector: "Like" is not a valid label selector operator`,
	}, {
		name: "percentage", reason: "what it demands is not known",
		change:  maxUnavailable("many"),
		message: "invalid value for IntOrString: invalid type: string is not a percentage",
		event:   "CalculateExpectedPodCountFailed", prefix: "Failed to calculate the number of expected pods: ",
		err: "PodDisruptionBudget shop/web: spec.maxUnavailable: invalid value for IntOrString: invalid type: string is not a percentage",
	}} {
		for mode, o := range bothModes {
			t.Run(tc.name+"/"+mode, func(t *testing.T) {
				b := budget(maxUnavailable("1"), tc.change)
				b.Generation, b.Status = 5, *old.DeepCopy()
				r, err := Plan(web(b, 2, pods(2, 2, byWeb)...), key("web"), o)
				require.EqualError(t, err, tc.err, tc.reason)
				want := old.DeepCopy()
				want.DisruptionsAllowed = 0
				want.Conditions[1] = metav1.Condition{
					Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, ObservedGeneration: 4,
					LastTransitionTime: metav1.NewTime(now), Reason: policyv1.SyncFailedReason, Message: tc.message,
				}
				require.Empty(t, cmp.Diff(*want, written(t, r)), "everything else stays, the observed generation too")
				require.Empty(t, cmp.Diff([]purekube.Event{{
					Regarding: corev1.ObjectReference{APIVersion: "policy/v1", Kind: "PodDisruptionBudget", Namespace: ns, Name: "web", UID: "uid-web", ResourceVersion: "7"},
					Type:      "Warning", Reason: tc.event, Message: tc.prefix + tc.message,
				}}, r.Events))
			})
		}
	}
}

func TestConditions(t *testing.T) {
	audited := metav1.Condition{Type: "example.com/Audited", Status: metav1.ConditionTrue, LastTransitionTime: ago(time.Hour), Reason: "Yes"}
	had := func(status metav1.ConditionStatus, reason, message string) *metav1.Condition {
		return &metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: status, Reason: reason, Message: message, LastTransitionTime: ago(time.Hour)}
	}
	for _, tc := range []struct {
		name, reason string
		had          *metav1.Condition
		ready        int
		want         metav1.Condition
	}{{
		name: "first", reason: "the first status", ready: 2,
		want: metav1.Condition{Status: metav1.ConditionTrue, Reason: "SufficientPods", LastTransitionTime: metav1.NewTime(now)},
	}, {
		name: "turns false", reason: "a transition has a new time", ready: 1,
		had:  had(metav1.ConditionTrue, "SufficientPods", ""),
		want: metav1.Condition{Status: metav1.ConditionFalse, Reason: "InsufficientPods", LastTransitionTime: metav1.NewTime(now)},
	}, {
		name: "stays true", reason: "no transition, but the generation is observed", ready: 2,
		had:  had(metav1.ConditionTrue, "SufficientPods", ""),
		want: metav1.Condition{Status: metav1.ConditionTrue, Reason: "SufficientPods", LastTransitionTime: ago(time.Hour)},
	}, {
		name: "sync works again", reason: "the text of the error goes; false stays false", ready: 1,
		had:  had(metav1.ConditionFalse, "SyncFailed", "found no controllers"),
		want: metav1.Condition{Status: metav1.ConditionFalse, Reason: "InsufficientPods", LastTransitionTime: ago(time.Hour)},
	}} {
		t.Run(tc.name, func(t *testing.T) {
			b := budget(maxUnavailable("1"))
			b.Generation = 3
			b.Status.Conditions = []metav1.Condition{audited}
			if tc.had != nil {
				b.Status.Conditions = append(b.Status.Conditions, *tc.had)
			}
			st := statusOf(t, web(b, 2, pods(2, tc.ready, byWeb)...), Options{})
			tc.want.Type, tc.want.ObservedGeneration = policyv1.DisruptionAllowedCondition, 3
			require.Empty(t, cmp.Diff([]metav1.Condition{audited, tc.want}, st.Conditions), tc.reason)
			require.EqualValues(t, 3, st.ObservedGeneration)
		})
	}
}

// Each figure that is out of date is a reason to write, and nothing else is.
func TestNothingIsWrittenTwice(t *testing.T) {
	s := web(budget(maxUnavailable("2"), disrupted(map[string]metav1.Time{"web-a": ago(time.Second)})), 3, pods(3, 3, byWeb)...)
	r, err := Plan(s, key("web"), Options{})
	require.NoError(t, err)
	right := r.Actions[0].(UpdateStatus).Budget
	for _, tc := range []struct {
		name   string
		change func(*policyv1.PodDisruptionBudget)
		writes bool
	}{
		{"as it was", func(b *policyv1.PodDisruptionBudget) {}, false},
		{"the message of the condition", func(b *policyv1.PodDisruptionBudget) { b.Status.Conditions[0].Message = "x" }, false},
		{"the generation in the condition", func(b *policyv1.PodDisruptionBudget) { b.Status.Conditions[0].ObservedGeneration = 9 }, false},
		{"another zone", func(b *policyv1.PodDisruptionBudget) {
			b.Status.DisruptedPods["web-a"] = metav1.NewTime(ago(time.Second).In(time.FixedZone("there", 3600)))
		}, false},
		{"currentHealthy", func(b *policyv1.PodDisruptionBudget) { b.Status.CurrentHealthy++ }, true},
		{"desiredHealthy", func(b *policyv1.PodDisruptionBudget) { b.Status.DesiredHealthy++ }, true},
		{"expectedPods", func(b *policyv1.PodDisruptionBudget) { b.Status.ExpectedPods++ }, true},
		{"disruptionsAllowed", func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed++ }, true},
		{"disruptedPods", func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptedPods["gone"] = ago(0) }, true},
		{"observedGeneration", func(b *policyv1.PodDisruptionBudget) { b.Generation++ }, true},
		{"reason of the condition", func(b *policyv1.PodDisruptionBudget) { b.Status.Conditions[0].Reason = "SyncFailed" }, true},
		{"status of the condition", func(b *policyv1.PodDisruptionBudget) { b.Status.Conditions[0].Status = "Unknown" }, true},
		{"no condition", func(b *policyv1.PodDisruptionBudget) { b.Status.Conditions = nil }, true},
	} {
		for mode, o := range bothModes {
			t.Run(tc.name+"/"+mode, func(t *testing.T) {
				b := right.DeepCopy()
				tc.change(b)
				s.Budgets = []*policyv1.PodDisruptionBudget{b}
				r, err := Plan(s, key("web"), o)
				require.NoError(t, err)
				require.Equal(t, tc.writes, len(r.Actions) == 1)
				if tc.writes {
					require.Equal(t, "7", r.Actions[0].(UpdateStatus).Budget.ResourceVersion, "an eviction in between has to conflict")
				}
			})
		}
	}
}

func TestEmptyDisruptedPodsAreNoChange(t *testing.T) {
	s := web(budget(maxUnavailable("1")), 3, pods(3, 3, byWeb)...)
	r, err := Plan(s, key("web"), Options{})
	require.NoError(t, err)
	s.Budgets[0] = r.Actions[0].(UpdateStatus).Budget
	for _, m := range []map[string]metav1.Time{nil, {}} {
		s.Budgets[0].Status.DisruptedPods = m
		r, err := Plan(s, key("web"), Options{})
		require.NoError(t, err)
		require.Empty(t, r.Actions)
	}
}

func TestD29_Events(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		s            Snapshot
		want         []string
	}{
		{name: "no pods", reason: "a budget that covers nothing is often a typo", s: web(budget(maxUnavailable("1")), 3), want: []string{"Normal NoPods No matching pods found"}},
		{name: "unmanaged", reason: "the sum of scales leaves them out", s: web(budget(maxUnavailable("1")), 1, pod("a", byWeb), pod("b")), want: []string{
			"Warning UnmanagedPods Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{},}) were found " +
				"to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. " +
				"To account for these pods please set \".spec.minAvailable\" field of the PDB to an integer value."}},
		{name: "unmanaged and a number", reason: "no scale is asked for", s: web(budget(minAvailable("1")), 1, pod("a", byWeb), pod("b"))},
		{name: "nothing to say", reason: "all is well", s: web(budget(maxUnavailable("1")), 1, pod("a", byWeb))},
	} {
		for mode, o := range bothModes {
			t.Run(tc.name+"/"+mode, func(t *testing.T) {
				r, err := Plan(tc.s, key("web"), o)
				require.NoError(t, err)
				var got []string
				for _, e := range r.Events {
					require.Equal(t, "PodDisruptionBudget", e.Regarding.Kind)
					got = append(got, e.Type+" "+e.Reason+" "+e.Message)
				}
				require.Empty(t, cmp.Diff(tc.want, got), tc.reason)

				require.Len(t, r.Actions, 1)
				tc.s.Budgets[0] = r.Actions[0].(UpdateStatus).Budget
				again, err := Plan(tc.s, key("web"), o)
				require.NoError(t, err)
				if mode == "default" {
					require.True(t, again.Empty(), "D-29: said once, with the write")
				} else {
					require.Equal(t, r.Events, again.Events, "upstream says it on every pass")
				}
				tc.s.Budgets[0] = tc.s.Budgets[0].DeepCopy()
				tc.s.Budgets[0].Status = policyv1.PodDisruptionBudgetStatus{}
			})
		}
	}
}

func TestBadInput(t *testing.T) {
	t.Run("nil objects", func(t *testing.T) {
		s := web(budget(maxUnavailable("1")), 2, pod("a", byWeb), nil, pod("b", byWeb))
		s.Budgets = append(s.Budgets, nil)
		s.ReplicationControllers = []*corev1.ReplicationController{nil}
		s.ReplicaSets = append(s.ReplicaSets, nil, nil)
		s.Deployments = append(s.Deployments, nil)
		s.StatefulSets = []*appsv1.StatefulSet{nil}
		r, err := Plan(s, key("web"), Options{})
		require.ErrorIs(t, err, purekube.ErrNil)
		require.Equal(t, 6, len(err.(interface{ Unwrap() []error }).Unwrap()), "one for each kind")
		status := written(t, r)
		require.Zero(t, status.DisruptionsAllowed, "the nil pod may be the only one of another controller")
		require.Equal(t, "Pod: nil object in the snapshot", status.Conditions[0].Message)
		all, whole := PlanAll(s, Options{})
		require.EqualError(t, whole, err.Error(), "nil pointers concern every key")
		require.Len(t, all, 1)
		require.EqualError(t, all[0].Err, "Pod: nil object in the snapshot")

		s.Pods = slices.DeleteFunc(s.Pods, func(p *corev1.Pod) bool { return p == nil })
		r, err = Plan(s, key("web"), Options{})
		require.ErrorIs(t, err, purekube.ErrNil)
		require.EqualValues(t, 1, written(t, r).DisruptionsAllowed, "the rest of the plan is there")
	})
	t.Run("pods that cannot be counted", func(t *testing.T) {
		nameless := func(namespace string) *corev1.Pod {
			return pod("", func(p *corev1.Pod) { p.Namespace = namespace })
		}
		for _, tc := range []struct {
			name, reason string
			budget       *policyv1.PodDisruptionBudget
			more         *corev1.Pod
			upstream     bool
			allowed      int32
			message      string
		}{
			{"maxUnavailable, nil", "its controller may want pods that are not there", budget(maxUnavailable("1")), nil, false, 0, "Pod: nil object in the snapshot"},
			{"maxUnavailable, no name", "as nil", budget(maxUnavailable("1")), nameless(ns), false, 0, "Pod: metadata.name: an object of a cluster has a name"},
			{"minAvailable 50%, nil", "a percentage is one of the scales", budget(minAvailable("50%")), nil, false, 0, "Pod: nil object in the snapshot"},
			{"minAvailable 1, nil", "how many pods there should be does not count", budget(minAvailable("1")), nil, false, 1, ""},
			{"no name, of another namespace", "its controller is of that namespace too", budget(maxUnavailable("1")), nameless("elsewhere"), false, 1, ""},
			{"maxUnavailable 0", "allows nothing anyway, and keeps its numbers (D-13)", budget(maxUnavailable("0")), nil, false, 0, ""},
			{"MatchUpstream", "upstream has no such pods", budget(maxUnavailable("1")), nil, true, 1, ""},
		} {
			t.Run(tc.name, func(t *testing.T) {
				var o Options
				if tc.upstream {
					o.MatchUpstream = purekube.V1_36
				}
				full := web(tc.budget, 2, pod("a", byWeb), pod("b", byWeb), tc.more)
				r, err := Plan(full, key("web"), o)
				require.Error(t, err)
				status := written(t, r)
				require.Equal(t, tc.allowed, status.DisruptionsAllowed, tc.reason)
				failed := apimeta.FindStatusCondition(status.Conditions, policyv1.DisruptionAllowedCondition)
				if tc.message == "" {
					require.NotEqual(t, policyv1.SyncFailedReason, failed.Reason)
				} else {
					require.Equal(t, tc.message, failed.Message)
				}

				named := full
				named.Pods = full.Pods[:2]
				x, affected := NewIndex(named, o).With(Snapshot{Pods: full.Pods[2:]})
				byIndex, _ := x.Plan(key("web"))
				require.Empty(t, cmp.Diff(r, byIndex))
				if tc.message != "" {
					require.Equal(t, []purekube.Key{key("web")}, affected)
				}
				x, _ = x.With(Snapshot{Pods: full.Pods[:1]})
				byIndex, _ = x.Plan(key("web"))
				require.Empty(t, cmp.Diff(r, byIndex), "nothing says which pod it was, so that it stays")
			})
		}
	})
	t.Run("no name", func(t *testing.T) {
		nameless := named("")
		s := web(budget(maxUnavailable("1")), 2, pod("a", byWeb), pod("b", byWeb), pod("", byWeb, func(p *corev1.Pod) { p.Namespace = "elsewhere" }))
		s.Budgets = append(s.Budgets, budget(nameless, func(b *policyv1.PodDisruptionBudget) { b.Namespace = "" }))
		r, err := Plan(s, key("web"), Options{})
		require.ErrorContains(t, err, "Pod: metadata.name: ")
		require.ErrorContains(t, err, "PodDisruptionBudget: metadata.name: ")
		require.EqualValues(t, 1, written(t, r).DisruptionsAllowed, "the rest of the plan is there: the pod is of another namespace")
		all, whole := PlanAll(s, Options{})
		require.EqualError(t, whole, err.Error())
		require.Len(t, all, 1)
		require.Equal(t, key("web"), all[0].Key)
		require.Empty(t, affectedBy(s, Snapshot{}, ofPod(s.Pods[2]), Options{}))
	})
	t.Run("a budget twice", func(t *testing.T) {
		s := web(budget(maxUnavailable("1")), 2, pods(2, 2, byWeb)...)
		s.Budgets = append(s.Budgets, budget(maxUnavailable("2")))
		r, err := Plan(s, key("web"), Options{})
		require.True(t, r.Empty())
		require.EqualError(t, err, "PodDisruptionBudget shop/web: more than one object of this name in the snapshot")
		all, whole := PlanAll(s, Options{})
		require.NoError(t, whole)
		require.Len(t, all, 1)
		require.Equal(t, key("web"), all[0].Key)
		require.EqualError(t, all[0].Err, err.Error())
	})
	t.Run("a pod twice", func(t *testing.T) {
		s := web(budget(maxUnavailable("1")), 2, pod("a", byWeb), pod("a", byWeb), pod("b", byWeb), pod("c", labelled(nil)), pod("c", labelled(nil)))
		r, err := Plan(s, key("web"), Options{})
		require.EqualError(t, err, "Pod shop/a: more than one object of this name in the snapshot", "c is none of the budget's")
		require.Empty(t, cmp.Diff(Counts{ExpectedPods: 2, DesiredHealthy: 1, CurrentHealthy: 1}, countsOf(written(t, r))), "it is not counted on")
		all, whole := PlanAll(s, Options{})
		require.NoError(t, whole)
		require.Len(t, all, 3)
		require.EqualError(t, all[2].Err, err.Error())
		require.Equal(t, podNamed("a"), all[0].Key)
		require.EqualError(t, all[0].Err, err.Error(), "it has no plan of its own either")
		require.EqualError(t, all[1].Err, "Pod shop/c: more than one object of this name in the snapshot")
	})
	t.Run("a name in three namespaces", func(t *testing.T) {
		in := func(namespace string) *corev1.Pod {
			return pod("a", byWeb, func(p *corev1.Pod) { p.Namespace = namespace })
		}
		s := web(budget(maxUnavailable("1")), 1, in(ns), in("b"), in("c"))
		all, _ := PlanAll(s, Options{})
		require.Len(t, all, 1, "is three pods")
		s.Pods = append(s.Pods, in("c"))
		all, _ = PlanAll(s, Options{})
		require.EqualError(t, all[0].Err, "Pod c/a: more than one object of this name in the snapshot")
		s.Pods = append(s.Pods, in("b"))
		all, _ = PlanAll(s, Options{})
		require.ErrorContains(t, all[0].Err, "Pod b/a: more than one")
	})
	t.Run("a pod twice, covered once", func(t *testing.T) {
		s := web(budget(minAvailable("1")), 2, pod("a", byWeb), pod("a", labelled(nil)), pod("b", byWeb))
		r, err := Plan(s, key("web"), Options{})
		require.ErrorIs(t, err, purekube.ErrDuplicate)
		require.EqualValues(t, 1, written(t, r).CurrentHealthy)
	})
	t.Run("two names twice", func(t *testing.T) {
		s := web(budget(minAvailable("1")), 2, pod("a"), pod("a"), pod("b"), pod("b"), pod("c"))
		r, err := Plan(s, key("web"), Options{})
		require.EqualError(t, err, "Pod shop/a: more than one object of this name in the snapshot\nPod shop/b: more than one object of this name in the snapshot")
		require.Empty(t, cmp.Diff(Counts{ExpectedPods: 3, DesiredHealthy: 1, CurrentHealthy: 1}, countsOf(written(t, r))), "each name is one pod")
		s.Now = time.Time{}
		require.Empty(t, written(t, first(Plan(s, key("web"), Options{}))).DisruptedPods, "none of them was evicted")
	})
	t.Run("a pod twice without a controller", func(t *testing.T) {
		r, err := Plan(web(budget(maxUnavailable("1")), 2, pod("a"), pod("a"), pod("b", byWeb)), key("web"), Options{})
		require.ErrorIs(t, err, purekube.ErrDuplicate)
		require.Equal(t, []string{"UnmanagedPods"}, reasons(r))
	})
	t.Run("a pod twice and evicted", func(t *testing.T) {
		s := web(budget(minAvailable("1"), disrupted(map[string]metav1.Time{"a": ago(time.Second), "b": ago(time.Hour)})), 2,
			pod("a", byWeb), pod("a", byWeb), pod("b", byWeb), pod("b", byWeb))
		r, _ := Plan(s, key("web"), Options{})
		require.Equal(t, map[string]metav1.Time{"a": ago(time.Second)}, written(t, r).DisruptedPods)
	})
	t.Run("a workload twice", func(t *testing.T) {
		s := web(budget(maxUnavailable("1")), 2, pods(2, 2, byWeb)...)
		s.Deployments = append(s.Deployments, deployment("web", ptr.To(int32(9))), deployment("idle", nil), deployment("idle", nil))
		r, err := Plan(s, key("web"), Options{})
		require.EqualError(t, err, "Deployment shop/web: more than one object of this name in the snapshot")
		require.Equal(t, policyv1.SyncFailedReason, written(t, r).Conditions[0].Reason, "its scale is not known")
		require.Equal(t, err.Error(), written(t, r).Conditions[0].Message, "upstream has no text for it")
		_, whole := PlanAll(s, Options{})
		require.EqualError(t, whole, "Deployment shop/idle: more than one object of this name in the snapshot", "no budget rests on it")
	})
	for _, w := range []struct {
		apiVersion, kind string
		s                Snapshot
	}{
		{"v1", "ReplicationController", Snapshot{ReplicationControllers: []*corev1.ReplicationController{replicationController("x", nil), replicationController("x", nil)}}},
		{"apps/v1", "ReplicaSet", Snapshot{ReplicaSets: []*appsv1.ReplicaSet{replicaSet("x", "", nil), replicaSet("x", "", nil)}}},
		{"apps/v1", "StatefulSet", Snapshot{StatefulSets: []*appsv1.StatefulSet{statefulSet("x", nil), statefulSet("x", nil)}}},
	} {
		t.Run("a workload twice/"+w.kind, func(t *testing.T) {
			w.s.Now, w.s.Budgets, w.s.Pods = now, []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}, pods(2, 2, by(w.apiVersion, w.kind, "x"))
			r, err := Plan(w.s, key("web"), Options{})
			require.EqualError(t, err, w.kind+" shop/x: more than one object of this name in the snapshot")
			require.Equal(t, err.Error(), written(t, r).Conditions[0].Message, "its scale is not known, and no look-up tells")
		})
	}
	t.Run("D-13 a workload twice", func(t *testing.T) {
		s := web(budget(maxUnavailable("0")), 2, pods(2, 2, byWeb)...)
		s.ReplicaSets = append(s.ReplicaSets, replicaSet("web-rs", "", nil))
		r, err := Plan(s, key("web"), Options{})
		require.EqualError(t, err, "ReplicaSet shop/web-rs: more than one object of this name in the snapshot")
		require.EqualValues(t, 2, written(t, r).DesiredHealthy)
	})
	t.Run("not there", func(t *testing.T) {
		r, err := Plan(web(budget(maxUnavailable("1")), 2), key("other"), Options{})
		require.NoError(t, err)
		require.True(t, r.Empty())
	})
	t.Run("several labels that are none", func(t *testing.T) {
		s := web(budget(maxUnavailable("1"), selecting(&metav1.LabelSelector{MatchLabels: map[string]string{
			"app": "web", "-c": "x", "-b": "x", "-d": "x", "e": "-", "-f": "x"}})), 2)
		_, err := Plan(s, key("web"), Options{})
		require.ErrorContains(t, err, `spec.selector: key: Invalid value: "-b"`, "the first by name")
		for range 50 {
			_, again := Plan(s, key("web"), Options{})
			require.EqualError(t, again, err.Error())
		}
	})
	for name, set := range map[string]map[string]string{"a key": {"-app": "web"}, "a value": {"app": "-"}, "a later one": {"app": "web", "tier": "-"}} {
		t.Run(name+" that is none", func(t *testing.T) {
			_, err := Plan(web(budget(maxUnavailable("1"), selecting(&metav1.LabelSelector{MatchLabels: set})), 2), key("web"), Options{})
			require.ErrorContains(t, err, "PodDisruptionBudget shop/web: spec.selector: ")
			require.ErrorContains(t, err, "Invalid value")
		})
	}
	t.Run("nothing at all", func(t *testing.T) {
		for _, k := range []purekube.Key{{}, key("a"), podNamed("a"), {Kind: "node", Name: "a"}} {
			r, err := Plan(Snapshot{}, k, Options{})
			require.NoError(t, err)
			require.True(t, r.Empty())
		}
		all, err := PlanAll(Snapshot{}, Options{})
		require.NoError(t, err)
		require.Empty(t, all)
	})
	t.Run("no UIDs", func(t *testing.T) {
		s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))},
			Pods:         []*corev1.Pod{pod("a", by("apps/v1", "StatefulSet", "x")), pod("b", by("apps/v1", "StatefulSet", "y"))},
			StatefulSets: []*appsv1.StatefulSet{statefulSet("x", ptr.To(int32(2))), statefulSet("y", ptr.To(int32(3)))}}
		for _, p := range s.Pods {
			withoutUIDs(p)
		}
		for _, ss := range s.StatefulSets {
			ss.UID = ""
		}
		require.EqualValues(t, 5, statusOf(t, s, Options{}).ExpectedPods, "manifests that no API server has seen")
		s.StatefulSets, s.Answers = nil, map[purekube.Need]purekube.Answer{scaleNeed("apps", "StatefulSet", ns, "x"): {}, scaleNeed("apps", "StatefulSet", ns, "y"): {}}
		_, err := Plan(s, key("web"), Options{})
		require.ErrorContains(t, err, `found no controllers for pod "a"`, "what was not found has no UID either")

		s.Pods = []*corev1.Pod{pod("a", by("x/v1", "Y", "y"), withoutUIDs), pod("b", by("z/v1", "Y", "y"), withoutUIDs)}
		s.Answers = map[purekube.Need]purekube.Answer{scaleNeed("x", "Y", ns, "y"): scaleOf("", 2), scaleNeed("z", "Y", ns, "y"): scaleOf("", 3)}
		require.EqualValues(t, 5, statusOf(t, s, Options{}).ExpectedPods, "one name in two groups is two controllers")

		rs := replicaSet("new", "web", nil)
		rs.UID, rs.OwnerReferences[1].UID = "", ""
		web := deployment("web", ptr.To(int32(3)))
		web.UID = ""
		s.Pods = []*corev1.Pod{pod("a", by("apps/v1", "ReplicaSet", "new"), withoutUIDs), pod("b", by("extensions/v1beta1", "Deployment", "web"), withoutUIDs)}
		s.ReplicaSets, s.Deployments = []*appsv1.ReplicaSet{rs}, []*appsv1.Deployment{web}
		s.Answers = map[purekube.Need]purekube.Answer{scaleNeed("extensions", "Deployment", ns, "web"): scaleOf("", 3)}
		require.EqualValues(t, 3, statusOf(t, s, Options{}).ExpectedPods, "a Deployment is the same in both of its groups")
	})
	t.Run("answers that contradict one another", func(t *testing.T) {
		old := replicaSet("old", "", nil)
		old.ObjectMeta = owned(old.ObjectMeta, "extensions/v1beta1", "Deployment", "d")
		x := by("apps/v1", "ReplicaSet", "new")
		for _, tc := range []struct {
			name string
			s    Snapshot
		}{
			{"of a Deployment in two groups", Snapshot{Pods: []*corev1.Pod{pod("a", x), pod("b", by("apps/v1", "ReplicaSet", "old"))},
				ReplicaSets: []*appsv1.ReplicaSet{old, replicaSet("new", "d", nil)},
				Answers: map[purekube.Need]purekube.Answer{scaleNeed("apps", "Deployment", ns, "d"): scaleOf("uid-d", 2),
					scaleNeed("extensions", "Deployment", ns, "d"): scaleOf("uid-d", 3)}}},
		} {
			tc.s.Now, tc.s.Budgets = now, []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}
			want := statusOf(t, tc.s, Options{})
			slices.Reverse(tc.s.Pods)
			require.Equal(t, want, statusOf(t, tc.s, Options{}), "%s: the order of the pods does not matter", tc.name)
		}
	})
}

func withoutUIDs(p *corev1.Pod) { p.OwnerReferences[1].UID = "" }

func first[A, B any](a A, _ B) A { return a }

func TestZeroNow(t *testing.T) {
	s := web(budget(minAvailable("1"), disrupted(map[string]metav1.Time{"web-a": ago(time.Hour)})), 2, pods(2, 2, byWeb)...)
	s.Now = time.Time{}
	st := statusOf(t, s, Options{})
	require.Contains(t, st.DisruptedPods, "web-a", "nothing is over")
	require.Equal(t, metav1.Unix(0, 0), st.Conditions[0].LastTransitionTime, "no clock was looked at")
	e, err := Explain(s, key("web"), Options{})
	require.NoError(t, err)
	require.Equal(t, []PodHealth{{Name: "web-a", Health: BeingEvicted, Until: now.Add(-58 * time.Minute)}, {Name: "web-b", Health: Healthy}}, e.Budget.Pods)
}

func TestPlanAllSortsAndLeavesOutWhatIsRight(t *testing.T) {
	s := web(budget(maxUnavailable("1")), 2, pods(2, 2, byWeb)...)
	r, err := Plan(s, key("web"), Options{})
	require.NoError(t, err)
	elsewhere := budget(maxUnavailable("1"))
	elsewhere.Namespace = "aaa"
	s.Budgets = []*policyv1.PodDisruptionBudget{
		budget(maxUnavailable("1"), named("z")), r.Actions[0].(UpdateStatus).Budget, budget(maxUnavailable("1"), named("b")), elsewhere}
	var keys []purekube.Key
	outcomes, err := PlanAll(s, Options{})
	require.NoError(t, err)
	for _, out := range outcomes {
		if out.Key.Kind == budgetKind {
			keys = append(keys, out.Key)
		}
	}
	require.Equal(t, []purekube.Key{BudgetKey("aaa", "web"), key("b"), key("z")}, keys)
}
