package ttl

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/apiserver"
)

// A patch that is refused holds back no other node, and is asked for again by the next plan.
func TestARefusedWriteHoldsBackOnlyWhatDependsOnIt(t *testing.T) {
	server := apiserver.New(node("a", absent), node("b", "x"), node("c", "0"))
	refused := "a"
	server.Refuse = func(r purekube.Request) error {
		if r.Name == refused {
			return errors.New("refused")
		}
		return nil
	}
	round := func() (made []string) {
		outcomes, err := PlanAll(Snapshot{Nodes: apiserver.List[corev1.Node](server)}, Options{})
		require.NoError(t, err)
		for _, o := range outcomes {
			for _, a := range o.Result.Actions {
				if _, err := server.Do(a.Request(nil)); err == nil {
					made = append(made, a.String())
				}
			}
		}
		return made
	}
	require.Equal(t, []string{"SetTTL b: 0s"}, round())
	refused = ""
	require.Equal(t, []string{"SetTTL a: 0s"}, round())
	require.Empty(t, round())
}
