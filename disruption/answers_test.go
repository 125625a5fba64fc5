package disruption

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/purekube/purekube"
)

// scalelessKinds are kinds of Kubernetes that have no scale in any release, and upstream's text for each.
var scalelessKinds = map[[2]string]string{
	{"batch/v1", "Job"}:      "jobs.batch does not implement the scale subresource",
	{"batch/v1", "CronJob"}:  "cronjobs.batch does not implement the scale subresource",
	{"apps/v1", "DaemonSet"}: "daemonsets.apps does not implement the scale subresource",
	{"v1", "Node"}:           "nodes does not implement the scale subresource",
}

// Nothing is looked up of a kind of Kubernetes that has no scale: the budget fails as upstream's does after its lookup.
func TestKindsWithoutAScaleAreNoNeed(t *testing.T) {
	for kind, why := range scalelessKinds {
		for mode, o := range bothModes {
			t.Run(kind[1]+"/"+mode, func(t *testing.T) {
				of := by(kind[0], kind[1], "x")
				s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}, Pods: []*corev1.Pod{pod("a", of), pod("b", of)}}
				r, err := Plan(s, key("web"), o)
				require.ErrorContains(t, err, why)
				require.Empty(t, r.Needs)
				require.Zero(t, written(t, r).DisruptionsAllowed)
				require.Equal(t, policyv1.SyncFailedReason, written(t, r).Conditions[0].Reason)
				require.Equal(t, why, written(t, r).Conditions[0].Message)

				looked := s
				looked.Answers = map[purekube.Need]purekube.Answer{scaleNeed(groupOf(kind[0]), kind[1], ns, "x"): {Err: errors.New(why)}}
				same, sameErr := Plan(looked, key("web"), o)
				require.Equal(t, same, r, "as with the answer")
				require.Equal(t, sameErr, err)

				s.Budgets = []*policyv1.PodDisruptionBudget{budget(minAvailable("1"))}
				r, err = Plan(s, key("web"), o)
				require.NoError(t, err)
				require.EqualValues(t, 1, written(t, r).DisruptionsAllowed, "a number needs no scale")
			})
		}
	}
	s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}, Pods: []*corev1.Pod{pod("a", by("batch/v1beta1", "CronJob", "x"))}}
	r, err := Plan(s, key("web"), Options{})
	require.NoError(t, err)
	require.Len(t, r.Needs, 1, "an API server that does not serve the version says something else")
}

// Once an answer says that a kind has no scale, no other object of the kind is asked for, in whatever namespace.
func TestOneAnswerTellsThatAKindHasNoScale(t *testing.T) {
	const why = "ys.x does not implement the scale subresource"
	elsewhere := func(p *corev1.Pod) { p.Namespace = "elsewhere" }
	other := budget(maxUnavailable("1"))
	other.Namespace = "elsewhere"
	s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1")), other},
		Pods: []*corev1.Pod{pod("a", by("x/v1", "Y", "one")), pod("b", by("x/v1", "Y", "two")), pod("c", by("x/v2", "Y", "three"), elsewhere)}}
	x := NewIndex(s, Options{})
	needs := needsOf(x)
	require.Len(t, needs, 3)

	answer := map[purekube.Need]purekube.Answer{scaleNeed("x", "Y", ns, "one"): {Err: errors.New(why)}}
	require.Contains(t, needs, scaleNeed("x", "Y", ns, "one"))
	answered, affected := x.With(Snapshot{Answers: answer})
	require.Equal(t, []purekube.Key{KeyOf(other), key("web")}, affected, "the plans of all budgets of the kind differ now")
	require.Empty(t, needsOf(answered))
	for _, k := range affected {
		r, err := answered.Plan(k)
		require.ErrorContains(t, err, why)
		require.Equal(t, why, written(t, r).Conditions[0].Message)
	}
	second := Snapshot{Answers: map[purekube.Need]purekube.Answer{scaleNeed("x", "Y", ns, "two"): {Err: errors.New(why)}}}
	_, affected = answered.With(second)
	require.Equal(t, []purekube.Key{key("web")}, affected, "a second one says nothing new about the kind")
	back, affected := answered.Without(Snapshot{Answers: answer})
	require.Equal(t, []purekube.Key{KeyOf(other), key("web")}, affected)
	require.Len(t, needsOf(back), 3)

}

// Which answers speak about a whole kind, and not about one object.
func TestSaysNoScale(t *testing.T) {
	none := errors.New("ys.x does not implement the scale subresource")
	for _, tc := range []struct {
		name, reason string
		need         purekube.Need
		err          error
		want         bool
	}{
		{"a custom resource", "the API server's text for a kind without the subresource", scaleNeed("x", "Y", ns, "one"), none, true},
		{"another error", "it is about one object", scaleNeed("x", "Y", ns, "one"), errors.New("the server was unable to return a response"), false},
		{"no error", "it is about one object", scaleNeed("x", "Y", ns, "one"), nil, false},
		{"the object and not its scale", "whoever reads the object learns nothing of its scale", purekube.Need{APIVersion: "x/v1", Kind: "Y", Namespace: ns, Name: "one"}, none, false},
		{"Deployment", "every API server has scales of these", scaleNeed("apps", "Deployment", ns, "x"), none, false},
		{"ReplicaSet", "every API server has scales of these", scaleNeed("apps", "ReplicaSet", ns, "x"), none, false},
		{"StatefulSet", "every API server has scales of these", scaleNeed("apps", "StatefulSet", ns, "x"), none, false},
		{"ReplicationController", "every API server has scales of these", scaleNeed("", "ReplicationController", ns, "x"), none, false},
		{"Deployment of extensions", "it was a Deployment of apps by another name", scaleNeed("extensions", "Deployment", ns, "x"), none, false},
		{"StatefulSet of extensions", "a StatefulSet was never in that group", scaleNeed("extensions", "StatefulSet", ns, "x"), none, true},
		{"Deployment of another group", "a kind of its own", scaleNeed("x", "Deployment", ns, "x"), none, true},
		{"ReplicaSet of another group", "a kind of its own", scaleNeed("x", "ReplicaSet", ns, "x"), none, true},
		{"StatefulSet of another group", "a kind of its own", scaleNeed("x", "StatefulSet", ns, "x"), none, true},
		{"ReplicationController of another group", "a kind of its own", scaleNeed("x", "ReplicationController", ns, "x"), none, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, saysNoScale(lookupKeyOf(tc.need), purekube.Answer{Err: tc.err}), tc.reason)
		})
	}
}

// The budgets that read an answer keep their plans exactly if the next answer says the same.
func TestAnswersThatSayTheSame(t *testing.T) {
	answer := func(a purekube.Answer) *purekube.Answer { return &a }
	failed := func(text string) *purekube.Answer { return answer(purekube.Answer{Err: errors.New(text)}) }
	for _, tc := range []struct {
		name, reason  string
		before, after *purekube.Answer
		counts        bool
	}{
		{"nobody asked, before and after", "there was nothing to take away", nil, nil, false},
		{"no such object, at last", "the budget has a Need before, and a problem after", nil, answer(purekube.Answer{}), true},
		{"no such object, and nobody asked", "the budget has a problem before, and a Need after", answer(purekube.Answer{}), nil, true},
		{"no such object, again", "nothing is new", answer(purekube.Answer{}), answer(purekube.Answer{}), false},
		{"the same error", "the text of the condition stays", failed("timeout"), failed("timeout"), false},
		{"another error", "its text is in the condition", failed("timeout"), failed("forbidden"), true},
		{"an error of strange text", "it is an error all the same", answer(purekube.Answer{}), failed("<nil>"), true},
		{"an equal scale", "nothing is new", answer(scaleOf("uid-y", 3)), answer(scaleOf("uid-y", 3)), false},
		{"another scale", "another number of pods is expected", answer(scaleOf("uid-y", 3)), answer(scaleOf("uid-y", 4)), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}, Pods: pods(2, 2, by("x/v1", "Y", "y"))}
			answered := func(a *purekube.Answer) Snapshot {
				return Snapshot{Answers: map[purekube.Need]purekube.Answer{scaleNeed("x", "Y", ns, "y"): ptr.Deref(a, purekube.Answer{})}}
			}
			x := NewIndex(s, Options{})
			if tc.before != nil {
				x, _ = x.With(answered(tc.before))
			}
			change := x.With
			if tc.after == nil {
				change = x.Without
			}
			_, affected := change(answered(tc.after))
			require.Equal(t, tc.counts, len(affected) > 0, tc.reason)
		})
	}
}

// needsOf are the lookups of all plans.
func needsOf(x *Index) (needs []purekube.Need) {
	outcomes, _ := x.PlanAll()
	for _, out := range outcomes {
		needs = append(needs, out.Result.Needs...)
	}
	return needs
}

// An object of another type than the lookup is for, and a nil one, are errors and allow nothing. So is an error without
// a text.
func TestAnswersOfNoUse(t *testing.T) {
	scale, object := scaleNeed("x", "Y", ns, "y"), objectNeed(ns, "web-rs")
	for _, tc := range []struct {
		name   string
		need   purekube.Need
		answer purekube.Answer
		err    string
	}{
		{"a ReplicaSet for a scale", scale, purekube.Answer{Object: replicaSet("y", "", nil)}, "Y shop/y: scale: the answer is a *v1.ReplicaSet, want a *v1.Scale"},
		{"a scale for a ReplicaSet", object, scaleOf("uid-web-rs", 1), "ReplicaSet shop/web-rs: scale: the answer is a *v1.Scale, want a *v1.ReplicaSet"},
		{"a value", scale, purekube.Answer{Object: 7}, "Y shop/y: scale: the answer is a int, want a *v1.Scale"},
		{"a nil scale", scale, purekube.Answer{Object: (*autoscalingv1.Scale)(nil)}, "Y shop/y: scale: the answer is a nil *v1.Scale"},
		{"a nil ReplicaSet", object, purekube.Answer{Object: (*appsv1.ReplicaSet)(nil)}, "ReplicaSet shop/web-rs: scale: the answer is a nil *v1.ReplicaSet"},
		{"no text", scale, purekube.Answer{Err: errors.New("")}, "Y shop/y: scale: no answer"},
		{"an object and an error", scale, purekube.Answer{Object: scaleOf("uid-y", 1).Object, Err: errors.New("timeout")}, "Y shop/y: scale: timeout"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			of := by("x/v1", "Y", "y")
			if tc.need == object {
				of = byWeb
			}
			s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("2"))}, Pods: pods(2, 2, of),
				Answers: map[purekube.Need]purekube.Answer{tc.need: tc.answer}}
			r, err := Plan(s, key("web"), Options{})
			require.EqualError(t, err, tc.err)
			var problem *purekube.ObjectError
			require.ErrorAs(t, err, &problem)
			require.Zero(t, written(t, r).DisruptionsAllowed)
			_, affected := NewIndex(s, Options{}).Without(Snapshot{Answers: s.Answers})
			require.Equal(t, []purekube.Key{key("web")}, affected)
		})
	}
}

// A scale is the same in all versions: an answer serves them all. Of several the first version counts.
func TestAnswersServeAllVersions(t *testing.T) {
	v1, v2 := scaleNeed("x", "Y", ns, "y"), scaleNeed("x", "Y", ns, "y")
	v2.APIVersion = "x/v2"
	s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{budget(maxUnavailable("1"))}, Pods: pods(2, 2, by("x/v3", "Y", "y"))}
	expected := func(x *Index) int32 {
		r, err := x.Plan(key("web"))
		require.NoError(t, err)
		return written(t, r).ExpectedPods
	}
	x, affected := NewIndex(s, Options{}).With(Snapshot{Answers: map[purekube.Need]purekube.Answer{v2: scaleOf("uid-y", 4)}})
	require.Equal(t, []purekube.Key{key("web")}, affected)
	require.EqualValues(t, 4, expected(x))
	both, affected := x.With(Snapshot{Answers: map[purekube.Need]purekube.Answer{v1: scaleOf("uid-y", 3)}})
	require.Equal(t, []purekube.Key{key("web")}, affected)
	require.EqualValues(t, 3, expected(both))
	first, affected := both.Without(Snapshot{Answers: map[purekube.Need]purekube.Answer{v2: {}}})
	require.Empty(t, affected, "the other one counted")
	require.EqualValues(t, 3, expected(first))
	second, affected := both.Without(Snapshot{Answers: map[purekube.Need]purekube.Answer{v1: {}}})
	require.Equal(t, []purekube.Key{key("web")}, affected)
	require.EqualValues(t, 4, expected(second))
}

// Whoever looks up the scales of 5,000 objects at the same time gets as many answers that say the same of their kind.
// What they say of the kind is looked at once, since that is a look at all of its objects.
func TestManyAnswersAboutOneKindAreOneChange(t *testing.T) {
	answers := map[purekube.Need]purekube.Answer{}
	for i := range 5000 {
		kind := []string{"Note", "Memo"}[i%2]
		answers[scaleNeed("example.com", kind, ns, fmt.Sprint(i))] = purekube.Answer{Err: errors.New("notes.example.com" + noScaleText)}
	}
	_, _, changed := newAnswers(nil).changed(answers, true)
	require.Equal(t, []schema.GroupKind{{Group: "example.com", Kind: "Memo"}, {Group: "example.com", Kind: "Note"}}, changed)
}
