package servicecidr_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/badinput"
	"github.com/purekube/purekube/internal/test/contract"
	"github.com/purekube/purekube/servicecidr"
)

// theContract is what holds for every Index, for this package.
var theContract = contract.Core[*servicecidr.Index, servicecidr.Snapshot, servicecidr.Action, servicecidr.Options, servicecidr.Explanation]{
	NewIndex: servicecidr.NewIndex, Plan: servicecidr.Plan, PlanAll: servicecidr.PlanAll,
	Options: modes(),
	Draw: func(r *rand.Rand, bad bool) servicecidr.Snapshot {
		return randomSnapshot(r, nasty{specs: bad, objects: bad && r.IntN(2) == 0})
	},
	Words: []string{"a", "b", "10.0.0.0/24", "10.0.0.0/25", "10.0.0.128/25", "10.0.0.5/24", "10.0.0.0/33", "0.0.0.0/0", "::/0", "fd00::/112",
		"::ffff:10.0.0.0/120", "10.0.0.5/32", "10.0.0.5", "10.0.0.0", "10.0.0.255", "fd00::5", "FD00:0::5", "fe80::1%eth0", "::ffff:10.0.0.5",
		"010.0.0.1", "IPv4", "IPv6", servicecidr.ManagedBy, servicecidr.Finalizer},
	ClusterScoped: true,
	// Several IPAddresses of one name all count.
	Merged: "IPAddress",
	Ask: func(x *servicecidr.Index, s servicecidr.Snapshot) (answers []contract.Answer) {
		for _, name := range namesIn(s, "", "not there") {
			deletion, err := x.CheckDeletion(servicecidr.Key(name), 0)
			answers = append(answers, contract.Answer{Question: "CheckDeletion " + name, Value: deletion, Err: err})
		}
		return answers
	},
	Also: func(t testing.TB, _ *servicecidr.Index, key purekube.Key, out servicecidr.Outcome, e servicecidr.Explanation) {
		require.True(t, e.Deletion.Safe || len(removed([]servicecidr.Outcome{out})) == 0, "%s goes, and that is not safe", key)
		saysWhat := func(codes ...servicecidr.Code) bool {
			return slices.ContainsFunc(e.Reasons, func(r servicecidr.Reason) bool { return slices.Contains(codes, r.Code) })
		}
		writes := saysWhat(servicecidr.ReasonUnprotected, servicecidr.ReasonConditionDiffers, servicecidr.ReasonRemovable)
		require.Equal(t, len(out.Result.Actions) > 0, writes, "Explain and Plan agree on %s", key)
		require.Equal(t, !out.Result.RecheckAt.IsZero(), saysWhat(servicecidr.ReasonGracePeriod), "Explain and Plan agree on %s", key)
	},
	Ignored: cmp.Options{cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")},
	// These are the keys of upstream's queue.
	Incomplete: func(o servicecidr.Options) bool { return o.MatchUpstream != "" },
	Most:       0.5,
	Actions:    []string{"AddFinalizer", "RemoveFinalizer", "SetCondition"},
	Permits:    permits,
	// An IPAddress that is left out is an address that is free: that alone may allow more.
	Statement: func(_ servicecidr.Snapshot, how contract.Damage, field string, _ runtime.Object) bool {
		return field == "IPAddresses" && how == contract.LeftOut
	},
	Damaged: unreadable,
}

// permits are the removals that a snapshot allows: the finalizers that plans remove and the deletions that are safe.
func permits(s servicecidr.Snapshot, o servicecidr.Options) map[contract.Permit]int {
	allowed := map[contract.Permit]int{}
	for _, name := range removed(planAll(s, o)) {
		allowed[contract.Permit{Key: servicecidr.Key(name), What: "remove the finalizer"}] = 1
	}
	explanations, _ := servicecidr.NewIndex(s, o).ExplainAll()
	for _, e := range explanations {
		if e.Deletion.Safe {
			allowed[contract.Permit{Key: e.Key, What: "delete it"}] = 1
		}
	}
	return allowed
}

func unreadable(_ testing.TB, s servicecidr.Snapshot, _ servicecidr.Options, visit func(what string, damaged servicecidr.Snapshot)) {
	for i, c := range s.ServiceCIDRs {
		if c == nil {
			continue
		}
		for j := range c.Spec.CIDRs {
			damaged := contract.Copy(s)
			damaged.ServiceCIDRs[i].Spec.CIDRs[j] = "?"
			visit(fmt.Sprintf("spec.cidrs[%d] of %s unreadable", j, c.Name), damaged)
		}
		damaged := contract.Copy(s)
		damaged.ServiceCIDRs[i].Spec.CIDRs = nil
		visit("no spec.cidrs in "+c.Name, damaged)
		damaged = contract.Copy(s)
		damaged.ServiceCIDRs[i].Finalizers = nil
		visit("no finalizer on "+c.Name, damaged)
	}
	for uid := range s.DeletionSeen {
		damaged := contract.Copy(s)
		delete(damaged.DeletionSeen, uid)
		visit("no record of the deletion of "+string(uid), damaged)
	}
	for i, address := range s.IPAddresses {
		if address == nil {
			continue
		}
		damaged := contract.Copy(s)
		damaged.IPAddresses[i].Name = "?"
		visit("IPAddress "+address.Name+" unreadable", damaged)
		for _, more := range []string{"10.0.0.5", "10.0.0.0", "fd00::5", "10.0.0.255"} {
			damaged := contract.Copy(s)
			other := address.DeepCopy()
			other.Name = more
			damaged.IPAddresses = append(damaged.IPAddresses, other)
			visit("IPAddress "+more+" more", damaged)
		}
	}
}

func TestContract(t *testing.T)              { theContract.Test(t, 800) }
func TestIndexInManyGoroutines(t *testing.T) { theContract.TestGoroutines(t) }
func TestNeverMorePermissive(t *testing.T)   { theContract.TestMissing(t) }
func FuzzWholeSnapshot(f *testing.F)         { theContract.Fuzz(f) }

func TestContractOfBadInput(t *testing.T) {
	badinput.Each(t, func(t *testing.T, c badinput.Case) { theContract.CheckAll(t, c.Set.ServiceCIDR(c.Times[0])) })
}
