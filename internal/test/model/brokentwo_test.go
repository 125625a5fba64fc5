package model

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/reconcile"
	"github.com/purekube/purekube/internal/test/seed"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
	"github.com/purekube/purekube/ttl"
)

// TestTwoAtOnceFindsWhatIsBrokenOnPurpose: with one rule, or one of the caller's duties, taken away from both
// controllers, TestTwoAtOnce fails with one of its fixed seeds. Of the defects of
// TestFindsWhatIsBrokenOnPurpose, only those are here that show that a guarantee is asked for.
func TestTwoAtOnceFindsWhatIsBrokenOnPurpose(t *testing.T) {
	nodes := func(defect func(*nodeLooped)) func() player { return breaking(nodePlayer, defect) }
	roles := func(defect func(*clusterRoleLooped)) func() player { return breaking(clusterRolePlayer, defect) }
	claims := func(defect func(*claimLooped)) func() player { return breaking(claimPlayer, defect) }
	ranges := func(defect func(*serviceCIDRLooped)) func() player { return breaking(serviceCIDRPlayer, defect) }
	budgets := func(defect func(*budgetLooped)) func() player { return breaking(budgetPlayer, defect) }
	for i, tc := range []struct {
		pair, name, reason string
		make               func() player
		broken             string
	}{
		{"ttl", "only the changed node is heard of", "a step changes the TTL of every node",
			nodes(func(c *nodeLooped) { c.hearing = ownKeys }), "at rest"},
		{"ttl", "the step is not recovered", "in an overlap the step is not known from the number of nodes",
			nodes(func(c *nodeLooped) {
				c.options(func(o *reconcile.Options[*ttl.Index, ttl.Snapshot]) { o.Prepare = nil })
			}), "a controller that starts again asks for nothing"},
		{"ttl", "an annotation with the TTL", "all others are somebody else's",
			nodes(func(c *nodeLooped) { c.deciding = editing(addAnnotation) }), "is changed beyond its TTL"},

		{"rbacaggregate", "labels are not heard of", "they say which roles are sources",
			roles(func(c *clusterRoleLooped) { c.hearing = noLabels }), "at rest"},
		{"rbacaggregate", "no deletion is heard of", "an aggregate keeps the rules of a source that is gone",
			roles(func(c *clusterRoleLooped) { c.hearing = noDeletions }), "at rest"},
		{"rbacaggregate", "a role that does not aggregate is written", "its rules are the user's",
			roles(func(c *clusterRoleLooped) {
				c.deciding = editing(func(r *purekube.Request) { r.Name, r.Patch = "role-20", withoutUID(r.Patch) })
			}), "role-20 does not aggregate, and the controller wrote to it"},

		{"resourceclaim", "every release deallocates", "another pod may use the claim",
			claims(func(c *claimLooped) { c.deciding = editing(deallocate) }), "is deallocated, and pod"},
		{"resourceclaim", "claims are not released", "a claim stays reserved for a pod that is gone",
			claims(func(c *claimLooped) { c.deciding = leavingOut[resourceclaim.Release] }), "at rest"},
		{"resourceclaim", "claims are not reserved", "the scheduler does not reserve for a pod that a user bound",
			claims(func(c *claimLooped) { c.deciding = leavingOut[resourceclaim.Reserve] }),
			"a running pod has its claims reserved"},
		{"resourceclaim", "finalizers stay", "a deletion waits for them",
			claims(func(c *claimLooped) { c.deciding = leavingOut[resourceclaim.RemoveFinalizer] }),
			"nothing of this controller's holds back a deletion"},
		{"resourceclaim", "no claim is deleted", "the garbage collector waits until the finished pod is gone",
			claims(func(c *claimLooped) { c.deciding = leavingOut[resourceclaim.DeleteClaim] }), "no claim is left over"},
		{"resourceclaim", "the names of claims are not written", "the scheduler and the kubelet read them",
			claims(func(c *claimLooped) { c.deciding = leavingOut[resourceclaim.SetClaimStatuses] }), "has its claim"},
		{"resourceclaim", "another claim is deleted", "it was not made for a pod",
			claims(func(c *claimLooped) { c.deciding = editing(deleteShared) }), "claim shared is deleted"},

		{"servicecidr", "no finalizer is added", "the ServiceCIDR goes while its addresses are in use",
			ranges(func(c *serviceCIDRLooped) { c.deciding = leavingOut[servicecidr.AddFinalizer] }), "protected and ready"},
		{"servicecidr", "no condition is written", "the allocators wait for it",
			ranges(func(c *serviceCIDRLooped) { c.deciding = leavingOut[servicecidr.SetCondition] }), "protected and ready"},
		{"servicecidr", "a label with the finalizer", "the user's labels are none of the controller's business",
			ranges(func(c *serviceCIDRLooped) { c.deciding = editing(addLabel) }), "is changed beyond its finalizers and conditions"},

		{"disruption", "no status is written", "the eviction handler reads it",
			budgets(func(c *budgetLooped) { c.deciding = leavingOut[disruption.UpdateStatus] }), "a budget's status is what its pods say"},
		{"disruption", "budget instead of its status", "the spec is the user's",
			budgets(func(c *budgetLooped) { c.deciding = editing(writeSpec) }), "is changed beyond its status"},
	} {
		t.Run(tc.pair+": "+tc.name, func(t *testing.T) {
			if seed.Short() && i%3 > 0 {
				t.Skip("one of three")
			}
			all := pairs()
			p := all[slices.IndexFunc(all, func(p pair) bool { return p.name == tc.pair })]
			p.make = tc.make
			var found breach
			seed := uint64(0)
			for !found.Failed() && seed < p.rounds {
				seed++
				found = p.breach(t, seed)
			}
			require.Contains(t, found.text, tc.broken, tc.reason)
			t.Log("found with seed", seed)
		})
	}
}

// breach is a test that ends at its first failure, and keeps what that says.
type breach struct {
	testing.TB
	text string
}

func (b *breach) Helper()             {}
func (b *breach) Logf(string, ...any) {}
func (b *breach) Failed() bool        { return b.text != "" }
func (b *breach) FailNow()            { panic(b) }
func (b *breach) Errorf(format string, args ...any) {
	b.text = fmt.Sprintf(format, args...)
}

// breach is what is found of the pair with that seed.
func (p pair) breach(t *testing.T, seed uint64) (b breach) {
	b.TB = t
	defer func() {
		if r := recover(); r != nil && r != any(&b) {
			panic(r)
		}
	}()
	p.play(&b, seed, map[string]int{})
	return b
}

// breaking makes controllers with that defect.
func breaking[C player](of func() C, defect func(C)) func() player {
	return func() player {
		c := of()
		defect(c)
		return c
	}
}

// ownKeys: an event affects no other object than the one that it is about.
func ownKeys(oldObj, newObj Object, keys []purekube.Key) []purekube.Key {
	if newObj == nil {
		newObj = oldObj
	}
	return slices.DeleteFunc(keys, func(k purekube.Key) bool { return k.Name != newObj.GetName() })
}

func noLabels(oldObj, newObj Object, keys []purekube.Key) []purekube.Key {
	if oldObj != nil && newObj != nil && !maps.Equal(oldObj.GetLabels(), newObj.GetLabels()) {
		return nil
	}
	return keys
}

// leavingOut: actions of one kind are not carried out.
func leavingOut[A purekube.Action](d Decision) Decision {
	d.Actions = slices.DeleteFunc(d.Actions, func(a purekube.Action) bool { return reflect.TypeOf(a) == reflect.TypeFor[A]() })
	return d
}

func addAnnotation(r *purekube.Request) {
	r.Patch = bytes.Replace(r.Patch, []byte(`"annotations":{`), []byte(`"annotations":{"a":"b",`), 1)
}

func deallocate(r *purekube.Request) {
	if r.Kind == "ResourceClaim" {
		r.Patch = bytes.Replace(r.Patch, []byte(`"status":{`), []byte(`"status":{"allocation":null,`), 1)
	}
}

func deleteShared(r *purekube.Request) {
	if r.Verb == "delete" {
		r.Name, r.Preconditions = "shared", nil
	}
}
