package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube"
)

// A pod without a name closes the budgets of its namespace, and a nil one those of all. A nil pod is what their
// condition names first, so a budget that was closed already says something else.
func TestIndexNamesBudgetsThatSayWhyTheyAreClosed(t *testing.T) {
	s := web(budget(maxUnavailable("1")), 2, pods(2, 2, byWeb)...)
	// A budget that asks for no controller stays open: it is in none of the lists of keys.
	s.Budgets = append(s.Budgets, budget(named("number"), minAvailable("1")))
	x := NewIndex(s, Options{})
	in := func(namespace string, p *corev1.Pod) *corev1.Pod {
		p.Namespace = namespace
		return p
	}
	for _, step := range []struct {
		reason   string
		pod      *corev1.Pod
		affected []purekube.Key
	}{
		{"a pod of another namespace is none of theirs", in("team", pod("")), nil},
		{"a pod without a name may have a controller that is not counted", pod(""), []purekube.Key{key("web")}},
		{"a second one changes nothing", pod(""), nil},
		{"nor does one of another namespace", in("else", pod("")), nil},
		{"a nil pod is what the condition names then", nil, []purekube.Key{key("web")}},
		{"a second one changes nothing", nil, nil},
	} {
		next, affected := x.With(Snapshot{Pods: []*corev1.Pod{step.pod}})
		require.Equal(t, step.affected, affected, step.reason)
		Contract.CheckNamed(t, x, next, affected)
		x = next
	}
}
