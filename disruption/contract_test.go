package disruption_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/internal/test/badinput"
	"github.com/purekube/purekube/internal/test/contract"
)

func TestContract(t *testing.T)              { disruption.Contract.Test(t, 240) }
func TestIndexInManyGoroutines(t *testing.T) { disruption.Contract.TestGoroutines(t) }
func TestNeverMorePermissive(t *testing.T)   { disruption.Contract.TestMissing(t) }

// FuzzWholeSnapshot asks for drains as well.
func FuzzWholeSnapshot(f *testing.F) {
	c := disruption.Contract
	ask, draw := c.Ask, c.Draw
	c.Draw = func(r *rand.Rand, bad bool) disruption.Snapshot {
		s := draw(r, bad)
		for i, p := range s.Pods {
			if p != nil && i%2 == 0 {
				p.Spec.NodeName = "n"
			}
		}
		return s
	}
	c.Ask = func(x *disruption.Index, s disruption.Snapshot) []contract.Answer {
		answers := ask(x, s)
		for _, flags := range []drain.Options{{}, {IgnoreDaemonSets: true, DeleteEmptyDirData: true, Force: true, MaxRounds: 5}} {
			for _, node := range []string{"n", "no such", ""} {
				d, after, _ := drain.Node(x, node, flags)
				all, err := after.PlanAll()
				answers = append(answers, contract.Answer{Question: fmt.Sprintf("drain.Node %q %t", node, flags.Force), Value: []any{d, len(all)}, Err: err})
			}
		}
		return answers
	}
	c.Fuzz(f)
}

func TestContractOfBadInput(t *testing.T) {
	badinput.Each(t, func(t *testing.T, c badinput.Case) { disruption.Contract.CheckAll(t, c.Set.Disruption(c.Times[0])) })
}
