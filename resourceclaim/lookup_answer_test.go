package resourceclaim

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube"
)

// What is no answer decides nothing: the Need stays, and the error says why.
func TestWhatIsNoAnswer(t *testing.T) {
	timeout := errors.New("timeout")
	gpu := templates(newTemplate("gpu"))
	for _, tc := range []struct {
		name string
		s    Snapshot
		key  purekube.Key
		need purekube.Need
	}{
		{"consumer", Snapshot{Claims: claims(newClaim("c", allocated, reservedFor("x")))}, claimKey("c"), needOf(PodKey(ns, "x"))},
		{"consumer that was seen to be deleted", Snapshot{Pods: pods(newPod("x", onNode)), Claims: claims(newClaim("c", allocated, reservedFor("x"))), Deleted: uidsOf("x")}, claimKey("c"), needOf(PodKey(ns, "x"))},
		{"owner", Snapshot{Pods: pods(newPod("x", podUID("other"))), Claims: claims(newClaim("c", madeFor("x", "gpu")))}, claimKey("c"), needOf(PodKey(ns, "x"))},
		{"consumer that is a PodGroup", Snapshot{Claims: claims(newClaim("c", allocated, forGroup("g", "uid-g")))}, claimKey("c"), needOf(PodGroupKey(ns, "g"))},
		{"named claim", Snapshot{Pods: pods(newPod("p", has("gpu", "gpu", "c"))), Templates: gpu}, podKey("p"), needOf(ClaimKey(ns, "c"))},
		{"a pod's group", Snapshot{Pods: pods(newPod("p", inGroup("g"), wants("gpu", "gpu"))), Templates: gpu}, podKey("p"), needOf(PodGroupKey(ns, "g"))},
		{"pod that was seen to be deleted", Snapshot{Pods: pods(newPod("p", wants("gpu", "gpu"))), Templates: gpu, Deleted: uidsOf("p")}, podKey("p"), needOf(PodKey(ns, "p"))},
		{"PodGroup that was seen to be deleted", Snapshot{PodGroups: []PodGroup{newGroup("g", groupWants("gpu", "gpu"))}, Templates: gpu, Deleted: deletedUIDs("uid-g")}, groupKey("g"), needOf(PodGroupKey(ns, "g"))},
	} {
		r, err := Plan(tc.s, tc.key, grouped)
		require.NoError(t, err, tc.name)
		require.Equal(t, []purekube.Need{tc.need}, r.Needs, tc.name)
		answer := Snapshot{Answers: replies{tc.need: {}}}
		answered, affected := NewIndex(tc.s, grouped).With(answer)
		require.Contains(t, affected, tc.key, "%s: the answer came", tc.name)
		_, affected = answered.Without(answer)
		require.Contains(t, affected, tc.key, "%s: the answer is dropped", tc.name)
		for what, answer := range map[string]struct {
			purekube.Answer
			want error
		}{
			"an error":             {purekube.Answer{Err: timeout}, timeout},
			"an error and a pod":   {purekube.Answer{Object: newPod("x"), Err: timeout}, timeout},
			"a nil pod":            {purekube.Answer{Object: (*corev1.Pod)(nil)}, errAnswerType},
			"a nil claim":          {purekube.Answer{Object: (*resourcev1.ResourceClaim)(nil)}, errAnswerType},
			"a pointer to a group": {purekube.Answer{Object: &PodGroup{}}, errAnswerType},
			"another kind":         {purekube.Answer{Object: newTemplate("gpu")}, errAnswerType},
		} {
			t.Run(tc.name+"/"+what, func(t *testing.T) {
				s := tc.s
				s.Answers = replies{tc.need: answer.Answer}
				r, err := Plan(s, tc.key, grouped)
				require.ErrorIs(t, err, answer.want)
				require.Equal(t, []purekube.Need{tc.need}, r.Needs)
				require.Empty(t, r.Actions)
				var objectError *purekube.ObjectError
				require.ErrorAs(t, err, &objectError)
				require.Equal(t, tc.need.Kind, objectError.Kind)
				require.Equal(t, tc.need.Name, objectError.Name)

				e, explainErr := NewIndex(s, grouped).Explain(tc.key)
				require.Equal(t, err.Error(), explainErr.Error())
				require.NotEmpty(t, e.Reasons)
			})
		}
	}
	// Each Object answers Needs of its own kind only.
	for _, object := range []any{newPod("c"), PodGroup{}} {
		s := Snapshot{Pods: pods(newPod("p", has("gpu", "gpu", "c"))), Templates: gpu, Answers: replies{needOf(ClaimKey(ns, "c")): {Object: object}}}
		_, err := Plan(s, podKey("p"), grouped)
		require.ErrorIs(t, err, errAnswerType)
	}
	s := Snapshot{Claims: claims(newClaim("c", allocated, reservedFor("x"))), Answers: replies{needOf(PodKey(ns, "x")): {Object: newClaim("x")}}}
	_, err := Plan(s, claimKey("c"), grouped)
	require.ErrorIs(t, err, errAnswerType)

	// An answer that decides nothing is not read.
	s = Snapshot{Pods: pods(newPod("x", onNode)), Claims: claims(newClaim("c", allocated, reservedFor("x"))), Answers: replies{needOf(PodKey(ns, "x")): {Err: timeout}}}
	r, err := Plan(s, claimKey("c"), grouped)
	require.NoError(t, err)
	require.True(t, r.Empty())
}
