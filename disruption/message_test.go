package disruption

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/purekube/purekube"
)

// What an API server says of a lookup may be longer than what it takes in a condition, and it may not be UTF-8.
// The status is written all the same, once, and the error has the whole text.
func TestLongMessagesAreCut(t *testing.T) {
	for _, tc := range []struct {
		name, reason, text string
		o                  Options
	}{
		{"long", "a condition takes 32 KiB", strings.Repeat("é", 40_000), Options{}},
		{"long, as upstream", "upstream's status is rejected", strings.Repeat("é", 40_000), Options{MatchUpstream: purekube.V1_36}},
		{"not UTF-8", "JSON has three bytes for each of these", strings.Repeat("\xff", 12_000), Options{}},
		{"not UTF-8 and short", "what was written is what is compared", "\xff", Options{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := web(budget(maxUnavailable("1")), 2, pods(2, 2, by("x/v1", "Y", "y"))...)
			s.Answers = map[purekube.Need]purekube.Answer{scaleNeed("x", "Y", ns, "y"): {Err: errors.New(tc.text)}}
			r, err := Plan(s, key("web"), tc.o)
			require.ErrorContains(t, err, tc.text)
			status := written(t, r)
			require.Empty(t, validation.ValidateConditions(status.Conditions, field.NewPath("status")), tc.reason)
			require.Len(t, r.Events, 1)
			if tc.o.matchUpstream() {
				require.Contains(t, r.Events[0].Message, tc.text, "upstream records it whole")
				return
			}
			require.LessOrEqual(t, len(r.Events[0].Message), 1024)
			stored := s.Budgets[0].DeepCopy()
			stored.Status = *status.DeepCopy()
			// What comes back from JSON.
			stored.Status.Conditions[0].Message = string([]rune(status.Conditions[0].Message))
			s.Budgets = []*policyv1.PodDisruptionBudget{stored}
			r, _ = Plan(s, key("web"), tc.o)
			require.Empty(t, r.Actions, "it is written once")
		})
	}
}

// The event about pods without a controller prints the selector, which may be as long as its author likes.
func TestLongSelectorsAreCutInEvents(t *testing.T) {
	values := strings.Split(strings.Repeat("some-value,", 200), ",")[:200]
	b := budget(maxUnavailable("1"), selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: values}}}))
	s := Snapshot{Now: now, Budgets: []*policyv1.PodDisruptionBudget{b}, Pods: []*corev1.Pod{pod("a", labelled(map[string]string{"app": "x"}))}}
	r, _ := Plan(s, key("web"), Options{})
	var messages []string
	for _, e := range r.Events {
		messages = append(messages, e.Message)
	}
	require.Contains(t, reasons(r), "UnmanagedPods")
	for _, m := range messages {
		require.LessOrEqual(t, len(m), 1024)
	}
}
