package rbacaggregate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube"
)

// A Release that is none of the constants is never planned as one of them: every answer is empty, and says so.
func TestUnknownUpstreamIsAnErrorOfEveryAnswer(t *testing.T) {
	s := snapshotOf(sum("x", "", "leaf"), plain("a", "leaf", pods))
	for _, text := range []purekube.Upstream{"1.36", "v1.36.3", "v1.38", "nonsense", " "} {
		o := Options{MatchUpstream: text}
		x := NewIndex(s, o)
		for name, ask := range map[string]func() (any, error){
			"Plan":                func() (any, error) { return Plan(s, Key("x"), o) },
			"Index.Plan":          func() (any, error) { return x.Plan(Key("x")) },
			"PlanAll":             func() (any, error) { return PlanAll(s, o) },
			"Index.PlanAll":       func() (any, error) { return x.PlanAll() },
			"Index.Rules":         func() (any, error) { return x.Rules(Key("x")) },
			"Index.Explain":       func() (any, error) { return x.Explain(Key("x")) },
			"Index.ExplainAll":    func() (any, error) { return x.ExplainAll() },
			"Index.Preview":       func() (any, error) { return x.Preview(plain("a", "leaf")) },
			"Index.PreviewRole":   func() (any, error) { return x.PreviewRole(plain("a", "leaf"), Key("x")) },
			"Index.PreviewDelete": func() (any, error) { return x.PreviewDelete(Key("a")) },
			"Index.Err":           func() (any, error) { return nil, x.Err() },
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
