package rbacaggregate_test

import (
	"testing"

	"github.com/purekube/purekube/internal/test/badinput"
	"github.com/purekube/purekube/rbacaggregate"
)

func TestContractOfBadInput(t *testing.T) {
	badinput.Each(t, func(t *testing.T, c badinput.Case) { rbacaggregate.Contract.CheckAll(t, c.Set.RBACAggregate()) })
}
