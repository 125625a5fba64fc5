package resourceclaim

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/purekube/purekube"
)

// A Release that is none of the constants is never planned as one of them: every answer is empty, and says so.
func TestUnknownUpstreamIsAnErrorOfEveryAnswer(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "train-0", UID: "1"}, Spec: corev1.PodSpec{
		ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu")}}}}
	template := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "gpu", UID: "2"}}
	s := Snapshot{Pods: []*corev1.Pod{pod}, Templates: []*resourcev1.ResourceClaimTemplate{template}}
	for _, text := range []purekube.Upstream{"1.36", "v1.36.3", "v1.38", "nonsense", " "} {
		o := Options{MatchUpstream: text}
		x := NewIndex(s, o)
		for name, ask := range map[string]func() (any, error){
			"Plan":             func() (any, error) { return Plan(s, KeyOf(pod), o) },
			"Index.Plan":       func() (any, error) { return x.Plan(KeyOf(pod)) },
			"PlanAll":          func() (any, error) { return PlanAll(s, o) },
			"Index.PlanAll":    func() (any, error) { return x.PlanAll() },
			"Explain":          func() (any, error) { return NewIndex(s, o).Explain(KeyOf(pod)) },
			"Index.Explain":    func() (any, error) { return x.Explain(KeyOf(pod)) },
			"ExplainAll":       func() (any, error) { return NewIndex(s, o).ExplainAll() },
			"Index.ExplainAll": func() (any, error) { return x.ExplainAll() },
			"Index.Err":        func() (any, error) { return nil, x.Err() },
			"Materialize": func() (any, error) {
				claims, materialized, err := NewIndex(s, o).Materialize(pod, nil)
				require.Nil(t, materialized)
				return claims, err
			},
		} {
			t.Run(name+" as "+string(text), func(t *testing.T) {
				answer, err := ask()
				require.ErrorIs(t, err, purekube.ErrUnknownUpstream)
				require.EqualError(t, err, `options: matchUpstream: "`+string(text)+`": want v1.36 or v1.37`)
				require.Empty(t, answer)
			})
		}
	}
	for _, o := range []Options{{}, {MatchUpstream: purekube.V1_36}, {MatchUpstream: purekube.V1_37}} {
		answer, err := PlanAll(s, o)
		require.NoError(t, err)
		require.NotEmpty(t, answer, "the snapshot has something to plan")
	}
}
