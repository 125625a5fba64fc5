// Package policytest shows tests of policy: what has to hold of somebody's own manifests, asked of the
// controllers' decisions without a cluster. Copy a test, and put your manifests and your rule in.
package policytest

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/disruption/drain"
	"github.com/purekube/purekube/purekubetest"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
)

// Rule: a budget in our manifests allows at least one disruption when everything is healthy. Otherwise no node with
// such a pod can ever be drained.
func TestEveryBudgetAllowsADisruption(t *testing.T) {
	cluster := purekubetest.Load(t, "testdata/workloads.yaml").AtFullHealth()
	if len(cluster.Budgets) == 0 {
		t.Fatal("no budget: the test would pass whatever the manifests say")
	}
	index := disruption.NewIndex(cluster.Disruption(), disruption.Options{})
	for _, b := range cluster.Budgets {
		// A budget that selects no pod allows nothing either.
		e, err := index.Explain(disruption.BudgetKey(b.Namespace, b.Name))
		if err != nil || e.Budget.Computed.DisruptionsAllowed < 1 {
			t.Errorf("budget %s: %s (%v)", b.Name, e.Budget.Computed, err)
		}
	}
}

// Rule: each node drains, and in at most two rounds, with the pods spread as the scheduler spreads them.
func TestEveryNodeDrains(t *testing.T) {
	nodes := []string{"a", "b", "c"}
	for _, tc := range []struct {
		name, reason string
		workload     purekubetest.Workload
		budget       string // maxUnavailable
		want         drain.Outcome
	}{
		{"one pod of each node", "three pods on three nodes, one of them may go", purekubetest.Deployment("shop/web", 3, nodes...), "1", drain.Now},
		{"two pods of a node", "the second waits until the first is back", purekubetest.Deployment("shop/web", 6, nodes...), "1", drain.InRounds},
		{"a budget of nothing", "no pod may ever go: this is what the rule is there to find", purekubetest.Deployment("shop/web", 3, nodes...), "0", drain.Never},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cluster := purekubetest.NewCluster(t, tc.workload.Objects(purekubetest.MaxUnavailable("shop/web", tc.budget))...)
			index := disruption.NewIndex(cluster.Disruption(), disruption.Options{})
			for _, node := range nodes {
				d, _, err := drain.Node(index, node, drain.Options{})
				if err != nil || d.Outcome != tc.want || len(d.Rounds) > 2 {
					t.Errorf("%s: node %s: %v in %d rounds, refused %v, %v", tc.reason, node, d.Outcome, len(d.Rounds), d.Refused, err)
				}
			}
		})
	}
}

// Rule: no role that a team labels for aggregation brings secrets into admin.
func TestAdminDoesNotReachSecrets(t *testing.T) {
	cluster := purekubetest.Load(t, "testdata/roles.yaml")
	rules, err := rbacaggregate.NewIndex(cluster.RBACAggregate(), rbacaggregate.Options{}).Rules(rbacaggregate.Key("admin"))
	if err != nil {
		t.Fatal(err)
	}
	if len(rules) == 0 {
		t.Fatal("admin aggregates nothing: the test would pass whatever the teams write")
	}
	for _, role := range cluster.ClusterRoles {
		// Which of them count depends on the controller and its release, and on what it has done already.
		if role.AggregationRule != nil && len(role.Rules) > 0 {
			t.Errorf("%s aggregates and has rules of its own", role.Name)
		}
	}
	for _, r := range rules {
		core := slices.Contains(r.APIGroups, corev1.GroupName) || slices.Contains(r.APIGroups, "*")
		if core && (slices.Contains(r.Resources, "secrets") || slices.Contains(r.Resources, "*")) {
			t.Errorf("admin may %v %v", r.Verbs, r.Resources)
		}
	}
}

// Rule: the migration of Services from one range to another orphans no address, whatever step it stops at.
func TestMigrationOrphansNothing(t *testing.T) {
	deletedAt := purekubetest.Created.Add(time.Hour)
	old, wide := purekubetest.ServiceCIDR("old", "10.96.0.0/24"), purekubetest.ServiceCIDR("wide", "10.96.0.0/20")
	address := purekubetest.Address("10.96.0.7", "shop/web")
	for _, tc := range []struct {
		name, reason string
		cluster      *purekubetest.Cluster
		want         []string // what is left of the ServiceCIDRs
	}{
		{"the new range first", "old is covered, so it goes after the grace period",
			purekubetest.NewCluster(t, wide, purekubetest.Deleted(old.DeepCopy(), deletedAt), address), []string{"wide"}},
		{"the old range first", "the address would be orphaned, so old stays",
			purekubetest.NewCluster(t, purekubetest.Deleted(old.DeepCopy(), deletedAt), address), []string{"old"}},
		{"both", "one of them stays for the address",
			purekubetest.NewCluster(t, purekubetest.Deleted(old.DeepCopy(), deletedAt), purekubetest.Deleted(wide.DeepCopy(), deletedAt.Add(time.Minute)), address), []string{"wide"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			atRest, steps := purekubetest.Converge(t, tc.cluster.ServiceCIDR())
			var left []string
			for _, c := range atRest.ServiceCIDRs {
				left = append(left, c.Name)
			}
			if !slices.Equal(left, tc.want) {
				t.Errorf("%s: left are %v after %v", tc.reason, left, steps)
			}
			for _, c := range tc.cluster.ServiceCIDRs {
				if slices.Contains(left, c.Name) {
					continue
				}
				deletion, err := servicecidr.NewIndex(tc.cluster.ServiceCIDR(), servicecidr.Options{}).CheckDeletion(servicecidr.KeyOf(c), 1)
				if err != nil || !deletion.Safe {
					t.Errorf("%s is gone and was not safe to go: %v, %v", c.Name, deletion.Orphans, err)
				}
			}
		})
	}
}

// Rule: when the pods of a Job have ended, their devices are free again.
func TestClaimsAreReleasedWhenAJobEnds(t *testing.T) {
	done, running := purekubetest.Pod("ml/train-0"), purekubetest.Pod("ml/train-1")
	gpu := purekubetest.ClaimFor(done, "gpu")
	shared := purekubetest.Claim("ml/dataset", done, running)
	purekubetest.Ended(done)

	atRest, steps := purekubetest.Converge(t, purekubetest.NewCluster(t, done, running, gpu, shared).ResourceClaim())
	for _, c := range atRest.Claims {
		switch {
		case c.Name == gpu.Name:
			t.Errorf("%s is there after %v", c.Name, steps)
		case len(c.Status.ReservedFor) != 1 || c.Status.ReservedFor[0].UID != running.UID:
			t.Errorf("%s is reserved for %v", c.Name, c.Status.ReservedFor)
		case c.Status.Allocation == nil:
			t.Errorf("%s is not allocated although a pod uses it", c.Name)
		}
	}
	key := resourceclaim.ClaimKey("ml", gpu.Name)
	if result, err := resourceclaim.Plan(atRest, key, resourceclaim.Options{}); err != nil || !result.Empty() {
		t.Errorf("%v is left to do (%v)", result, err)
	}
}
