package model

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/disruption"
	"github.com/purekube/purekube/internal/test/seed"
	"github.com/purekube/purekube/rbacaggregate"
	"github.com/purekube/purekube/resourceclaim"
	"github.com/purekube/purekube/servicecidr"
)

// bounds of a search: 3,000 states, or 300 if seed.Short, as many as PUREKUBE_MODEL_STATES says, or the time that PUREKUBE_MODEL_TIME
// says (10m, for example); and 4 GB.
func bounds(t *testing.T) Bounds {
	b := Bounds{States: 3_000, Memory: 4 << 30}
	if seed.Short() {
		b.States = 300
	}
	if states := os.Getenv("PUREKUBE_MODEL_STATES"); states != "" {
		n, err := strconv.Atoi(states)
		require.NoError(t, err)
		b.States = n
	}
	if long := os.Getenv("PUREKUBE_MODEL_TIME"); long != "" {
		d, err := time.ParseDuration(long)
		require.NoError(t, err)
		b.Time, b.States = d, 0
	}
	return b
}

// worlds in which every promise holds, with the default options.
func worlds() []Scenario {
	return append([]Scenario{
		serviceCIDRWorld("ServiceCIDRs, twins", servicecidr.Options{}, twins, twoAddrs),
		serviceCIDRWorld("ServiceCIDRs, nested", servicecidr.Options{}, nested, twoAddrs),
		serviceCIDRWorld("ServiceCIDRs, dual stack", servicecidr.Options{}, dualIn, dualAddr),
		claimWorld(resourceclaim.Options{}),
		claimWorld(resourceclaim.Options{}).with("two-0"),
		claimWorld(resourceclaim.Options{}).with("one-0").without("claim held by a driver", "claim deleted"),
		claimWorld(resourceclaim.Options{}).with("share-0").without("claim held by a driver", "claim deleted"),
		podGroupWorld(resourceclaim.Options{}),
		podGroupWorld(resourceclaim.Options{}).with("team-0"),
		podGroupWorldOf(resourceclaim.Options{}, "gpu", "nic").withoutPods(),
		policyWorld(resourceclaim.Options{}, "no annotations", withoutAnnotations),
		policyWorld(resourceclaim.Options{}, "no controller flag", withoutController),
		forcedWorld(resourceclaim.Options{}),
		restoreWorld(resourceclaim.Options{}),
		overtakenWorld(resourceclaim.Options{}),
		alienWorld(resourceclaim.Options{}),
		budgetWorld(disruption.Options{}),
		budgetWorld(disruption.Options{}).evictionsOnly(),
		clusterRoleWorld(rbacaggregate.Options{}),
	}, smallWorlds()...)
}

// evictionsOnly is the world in which nothing happens but evictions and what follows from them.
func (w Scenario) evictionsOnly() Scenario {
	w.Name += ", evictions only"
	return w.without("scaled", "budget changed", "preempted")
}

// lag is how many changes caches may be behind.
type lag struct {
	name    string
	changes int
}

// lags are one, where a search comes to its end soonest, two, three, and as many as there are.
var lags = []lag{{"one", 1}, {"two", 2}, {"three", 3}, {"any", 255}}

// left reports whether PUREKUBE_MODEL_LAG chooses another one.
func (l lag) left() bool {
	only := os.Getenv("PUREKUBE_MODEL_LAG")
	return only != "" && only != l.name
}

// TestGuaranteesHold goes through each world with each lag.
func TestGuaranteesHold(t *testing.T) {
	for _, w := range worlds() {
		for _, lag := range lags {
			if lag.left() {
				continue
			}
			t.Run(w.Name+", caches behind by "+lag.name, func(t *testing.T) {
				t.Parallel()
				w.Lag = lag.changes
				r := Search(w, true, bounds(t))
				t.Log(r)
				require.Empty(t, r.Broken)
				require.Greater(t, r.States, 100)
			})
		}
	}
}

// TestFindsUpstreamsDefects: what the divergences say of upstream, the search finds by itself, and the default
// does not do it in the same world. PUREKUBE_MODEL_STORIES is a folder to write the stories to.
func TestFindsUpstreamsDefects(t *testing.T) {
	upstream := matching(true)
	for _, tc := range []struct {
		name, reason string
		upstream     Scenario
		ours         Scenario
		broken       string
		// story has these words, in this order.
		story []string
	}{
		{"D-1", "two ServiceCIDRs count each other as their parent",
			serviceCIDRWorld("ServiceCIDRs, twins", servicecidr.Options{MatchUpstream: upstream}, twins, twoAddrs),
			serviceCIDRWorld("ServiceCIDRs, twins", servicecidr.Options{}, twins, twoAddrs),
			"no managed address without a range", []string{"deletes ServiceCIDR", "deletes ServiceCIDR", "RemoveFinalizer", "RemoveFinalizer"}},
		{"D-5", "an apply of the new names only takes the others away, for ever",
			claimWorld(resourceclaim.Options{MatchUpstream: upstream}).with("two-0").without("claim held by a driver"),
			claimWorld(resourceclaim.Options{}).with("two-0").without("claim held by a driver"),
			"for ever", []string{"pod two-0 is created", "the user deletes claim", "begins to repeat", "SetClaimStatuses", "SetClaimStatuses", "for ever"}},
		{"D-31", "an apply of the new names of a PodGroup's claims only takes the others away, for ever",
			podGroupWorldOf(resourceclaim.Options{MatchUpstream: purekube.V1_37}, "gpu", "nic").only("group created", "claim deleted"),
			podGroupWorldOf(resourceclaim.Options{}, "gpu", "nic").only("group created", "claim deleted"),
			"for ever", []string{"PodGroup group-0 is created", "the user deletes claim", "begins to repeat", "SetClaimStatuses", "SetClaimStatuses", "for ever"}},
		{"D-7", "a pod that is done gets a reservation, which is taken back, for ever",
			claimWorld(resourceclaim.Options{MatchUpstream: upstream}), claimWorld(resourceclaim.Options{}),
			"for ever", []string{"succeeds", "begins to repeat", "Reserve", "Release", "for ever"}},
		{"D-17", "what is being deleted is deleted again",
			claimWorld(resourceclaim.Options{MatchUpstream: upstream}).with("one-0").only("pod created", "pod deleted", "claim held by a driver", "garbage collected"),
			claimWorld(resourceclaim.Options{}).with("one-0").only("pod created", "pod deleted", "claim held by a driver", "garbage collected"),
			"a plan from scratch asks for nothing", []string{"a driver puts its finalizer", "DeleteClaim", "at rest"}},
		{"D-21", "a pod that came back under its name loses its device while the pods' cache lags",
			claimWorld(resourceclaim.Options{MatchUpstream: upstream}).only("pod created", "pod deleted", "scheduled", "terminated", "garbage collected"),
			claimWorld(resourceclaim.Options{}).only("pod created", "pod deleted", "scheduled", "terminated", "garbage collected"),
			"no allocation cleared under a live consumer", []string{"is created", "the user deletes pod", "is created", "the scheduler allocates", "Release"}},
		{"D-36", "a PodGroup that is removed by force takes the devices from its running pods",
			forcedWorld(resourceclaim.Options{MatchUpstream: purekube.V1_37}).only("pod created", "scheduled", "group created", "group removed by force", "garbage collected"),
			forcedWorld(resourceclaim.Options{}).only("pod created", "scheduled", "group created", "group removed by force", "garbage collected"),
			"no device taken from running pods of a PodGroup", []string{"reserves it for PodGroup group-0", "removes PodGroup group-0 by force", "Release"}},
		{"D-37", "a pod that comes back from a backup loses its device",
			restoreWorld(resourceclaim.Options{MatchUpstream: upstream}).only("pod removed by force", "restored", "garbage collected"),
			restoreWorld(resourceclaim.Options{}).only("pod removed by force", "restored", "garbage collected"),
			"no allocation cleared under a live consumer", []string{"removes pod one-0 by force", "is restored", "Release"}},
		{"D-11", "in a cycle a rule that lost its source lives for ever",
			clusterRoleWorld(rbacaggregate.Options{MatchUpstream: upstream}).without("a rule written by hand"),
			clusterRoleWorld(rbacaggregate.Options{}).without("a rule written by hand"),
			"no aggregated rule is without a source", []string{"SetRules ring-1", "SetRules ring-2", "at rest"}},
		{"D-20", "without a source, an apply without rules leaves those of another manager",
			clusterRoleWorld(rbacaggregate.Options{MatchUpstream: upstream}), clusterRoleWorld(rbacaggregate.Options{}),
			"no aggregated rule is without a source", []string{"writes a rule into ring-1", "SetRules ring-1: 0 rules", "at rest"}},
		{"D-26", "an apply without a UID makes a ClusterRole again that a user deleted",
			clusterRoleWorld(rbacaggregate.Options{MatchUpstream: upstream}).only("role deleted"),
			clusterRoleWorld(rbacaggregate.Options{}).only("role deleted"),
			"nothing the user did is undone", []string{"SetRules", "the user deletes ring-2", "patch clusterroles ring-2: carried out"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := Bounds{Time: 10 * time.Minute, Memory: 4 << 30}
			r := Search(tc.upstream, true, b)
			t.Log(r)
			require.Contains(t, r.Broken, tc.broken, tc.reason)
			rest := strings.Join(r.Story, "\n")
			for _, words := range tc.story {
				_, after, found := strings.Cut(rest, words)
				require.True(t, found, "%q in the story", words)
				rest = after
			}
			if slices.Contains([]string{"D-1", "D-5", "D-7", "D-17", "D-21"}, tc.name) {
				page, err := os.ReadFile("README.md")
				require.NoError(t, err)
				_, story, _ := strings.Cut(strings.TrimSuffix(r.String(), "\n"), "\n")
				require.Contains(t, string(page), "    "+strings.ReplaceAll(story, "\n", "\n    "), "README.md tells the story")
			}
			if folder := os.Getenv("PUREKUBE_MODEL_STORIES"); folder != "" {
				require.NoError(t, os.WriteFile(folder+"/"+tc.name+".txt", []byte(r.String()), 0o644))
			}
			b.States = 2 * r.States
			ours := Search(tc.ours, true, b)
			t.Log(ours)
			require.Empty(t, ours.Broken)
		})
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
