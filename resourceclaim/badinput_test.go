package resourceclaim_test

import (
	"testing"

	"github.com/purekube/purekube/internal/test/badinput"
	"github.com/purekube/purekube/resourceclaim"
)

func TestContractOfBadInput(t *testing.T) {
	badinput.Each(t, func(t *testing.T, c badinput.Case) {
		resourceclaim.Contract.CheckAll(t, c.Set.ResourceClaim(c.Times[0]))
	})
}
