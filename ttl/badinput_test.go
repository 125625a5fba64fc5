package ttl_test

import (
	"testing"

	"github.com/purekube/purekube/internal/test/badinput"
	"github.com/purekube/purekube/ttl"
)

func TestContractOfBadInput(t *testing.T) {
	badinput.Each(t, func(t *testing.T, c badinput.Case) { ttl.Contract.CheckAll(t, c.Set.TTL()) })
}
