package servicecidr_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/servicecidr"
)

// A Release that is none of the constants is never planned as one of them: every answer is empty, and says so.
func TestUnknownUpstreamIsAnErrorOfEveryAnswer(t *testing.T) {
	s := snapshotOf(cidrs(cidr("a", of("10.0.0.0/24"), deletedAt(longAgo)), cidr("b", of("10.1.0.0/24"), finalizers())))
	for _, text := range []purekube.Upstream{"1.36", "v1.36.3", "v1.38", "nonsense", " "} {
		o := servicecidr.Options{MatchUpstream: text}
		x := servicecidr.NewIndex(s, o)
		for name, ask := range map[string]func() (any, error){
			"Plan":                func() (any, error) { return servicecidr.Plan(s, servicecidr.Key("a"), o) },
			"Index.Plan":          func() (any, error) { return x.Plan(servicecidr.Key("a")) },
			"PlanAll":             func() (any, error) { return servicecidr.PlanAll(s, o) },
			"Index.PlanAll":       func() (any, error) { return x.PlanAll() },
			"Index.CheckDeletion": func() (any, error) { return x.CheckDeletion(servicecidr.Key("a"), 0) },
			"Index.Explain":       func() (any, error) { return x.Explain(servicecidr.Key("a")) },
			"Index.ExplainAll":    func() (any, error) { return x.ExplainAll() },
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
	for _, o := range []servicecidr.Options{{}, {MatchUpstream: purekube.V1_36}, {MatchUpstream: purekube.V1_37}} {
		answer, err := servicecidr.PlanAll(s, o)
		require.NoError(t, err)
		require.NotEmpty(t, answer, "the snapshot has something to plan")
	}
}
