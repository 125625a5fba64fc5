package drain

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/snapshot"
)

// threePods are ready pods of one ReplicaSet on node n, under a budget that keeps two of them.
func threePods(replicas int32) disruption.Snapshot {
	s := disruption.Snapshot{ReplicaSets: []*appsv1.ReplicaSet{replicaSet("a", "", &replicas)},
		Budgets: []*policyv1.PodDisruptionBudget{budget(named("b"), minAvailable("2"))}}
	for i := range 3 {
		s.Pods = append(s.Pods, pod(fmt.Sprint("a-", i), by("apps/v1", "ReplicaSet", "a"), on("n")))
	}
	return s
}

// Who comes back decides how a drain goes on.
func TestDrainWhoComesBack(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		change       func(*disruption.Snapshot)
		outcome      Outcome
		rounds       int
	}{
		{name: "wanted", reason: "one after the other", outcome: InRounds, rounds: 3, change: func(*disruption.Snapshot) {}},
		{name: "no replicas", reason: "the API's default is 1 (D-12), and two are there already", outcome: Never, rounds: 1,
			change: func(s *disruption.Snapshot) { s.ReplicaSets[0].Spec.Replicas = nil }},
		{name: "another ReplicaSet", reason: "one of the same name that was made later wants pods of its own", outcome: Never, rounds: 1,
			change: func(s *disruption.Snapshot) {
				s.ReplicaSets[0].UID = "uid-of-the-next"
				s.Answers = map[purekube.Need]purekube.Answer{objectNeed(ns, "a"): {Object: s.ReplicaSets[0]}}
			}},
		{name: "another ReplicaSet in the cache", reason: "the cache may be of another moment than the pods", outcome: Unknown,
			change: func(s *disruption.Snapshot) { s.ReplicaSets[0].UID = "uid-of-the-next" }},
		{name: "looked up", reason: "the answer stands for the object", outcome: InRounds, rounds: 3,
			change: func(s *disruption.Snapshot) {
				s.Answers = map[purekube.Need]purekube.Answer{objectNeed(ns, "a"): {Object: s.ReplicaSets[0]}}
				s.ReplicaSets = nil
			}},
		{name: "no ReplicaSet", reason: "nobody makes the pods again", outcome: Never, rounds: 1,
			change: func(s *disruption.Snapshot) {
				s.ReplicaSets = nil
				s.Answers = map[purekube.Need]purekube.Answer{objectNeed(ns, "a"): {}}
			}},
		{name: "not known", reason: "what wants the pods has to be looked up", outcome: Unknown,
			change: func(s *disruption.Snapshot) { s.ReplicaSets = nil }},
		{name: "a reference that does not parse", reason: "nobody can be asked", outcome: Never, rounds: 1,
			change: func(s *disruption.Snapshot) {
				for _, p := range s.Pods {
					p.OwnerReferences[1].APIVersion = "a/b/c"
				}
			}},
		{name: "enough others", reason: "a pod of the same ReplicaSet that no budget covers is one of its pods", outcome: Never, rounds: 1,
			change: func(s *disruption.Snapshot) {
				other := s.Pods[0].DeepCopy()
				other.Name, other.Labels, other.Spec.NodeName = "a-3", nil, "m"
				s.Pods = append(s.Pods, other)
			}},
		{name: "ended pods", reason: "they are not among those that the ReplicaSet has", outcome: InRounds, rounds: 3,
			change: func(s *disruption.Snapshot) {
				other := s.Pods[0].DeepCopy()
				other.Name, other.Labels, other.Spec.NodeName, other.Status.Phase = "a-3", nil, "m", corev1.PodFailed
				s.Pods = append(s.Pods, other)
			}},
		{name: "a name twice", reason: "whichever of the two it is, the ReplicaSet has a pod more", outcome: Never, rounds: 1,
			change: func(s *disruption.Snapshot) {
				other := s.Pods[0].DeepCopy()
				other.Name, other.Labels, other.Spec.NodeName = "a-3", nil, "m"
				s.Pods = append(s.Pods, other, other.DeepCopy())
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := threePods(3)
			tc.change(&s)
			d, _ := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{})
			if d.Outcome != tc.outcome || len(d.Rounds) != tc.rounds {
				t.Errorf("%s: %v after %v, refused %v, want %v after %d", tc.reason, d.Outcome, d.Rounds, d.Refused, tc.outcome, tc.rounds)
			}
		})
	}
}

// Each refusal has the figures of its moment, also where the budget refused another pod before: a pod that
// has not started goes whatever the budget says, and if it was ready one pod less is healthy.
func TestDrainRefusalsHaveTheFiguresOfTheirMoment(t *testing.T) {
	s := threePods(3)
	s.Budgets[0].Spec.MinAvailable = ptr.To(intstr.FromInt32(3))
	s.Pods[1].Status.Phase = corev1.PodPending
	d, _ := play(disruption.NewIndex(s, disruption.Options{}), "n", Options{MaxRounds: 1})
	var messages []string
	for _, p := range d.Refused {
		messages = append(messages, p.Pod.Name+": "+p.Message)
	}
	const why = "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget b needs 3 healthy pods and has "
	if diff := cmp.Diff([]string{"a-0: " + why + "3 currently", "a-2: " + why + "2 currently"}, messages); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A pod whose name another has is not evicted on a guess.
func TestDrainOfDuplicatePods(t *testing.T) {
	one := &corev1.Pod{}
	one.Namespace, one.Name, one.Spec.NodeName = "ns", "p", "n"
	other := one.DeepCopy()
	other.Spec.NodeName = "m"
	d, _ := play(disruption.NewIndex(disruption.Snapshot{Pods: []*corev1.Pod{one, other}}, disruption.Options{}), "n", Options{Force: true})
	if d.Outcome != Never || len(d.Refused) != 1 || d.Refused[0].Code != ReasonDuplicate || d.Refused[0].Pod != snapshot.KeyOf(one) {
		t.Errorf("%+v", d)
	}
}
