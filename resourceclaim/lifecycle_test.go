package resourceclaim

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube/internal/podstate"
	"github.com/purekube/purekube/internal/test/seed"
)

// script is a life from creation to the end, in steps between which the caller settles.
var script = []func(w *world){
	func(w *world) { w.createShared() },
	func(w *world) { w.createPod("two-0") },
	func(w *world) { w.createPod("both-0"); w.createPod("share-0") },
	func(w *world) {
		for w.schedule("two-0") || w.schedule("both-0") {
		}
	},
	func(w *world) { w.bind("share-0") }, // the claim is allocated already: the caller reserves it
	func(w *world) { w.createPod("late-0"); w.deletePod("late-0") },
	func(w *world) { w.deletePod("late-0") },
	func(w *world) { w.finish("two-0") },
	func(w *world) { w.deletePod("both-0") },
	func(w *world) { w.deletePod("both-0"); w.createPod("both-0") },
	func(w *world) {
		for w.collect() || w.schedule("both-0") {
		}
	},
	func(w *world) { w.finish("share-0"); w.deletePod("share-0") },
	func(w *world) { w.deletePod("share-0"); w.deleteClaim("shared") },
	func(w *world) { w.finish("both-0") },
	func(w *world) { w.createPod("two-1") },
	func(w *world) {
		for w.collect() {
		}
	},
}

// play runs the script. After each of its steps the caches of the caller lag behind by that many
// states and catch up one by one; the caller crashes after its crashAfter-th write.
func play(t *testing.T, crashAfter, podsLag, claimsLag int) (end []string, writes int) {
	t.Helper()
	server := newAPIServer()
	w := &world{server: server}
	c := newCaller(server, Options{})
	c.crashAfter = crashAfter
	for _, step := range script {
		step(w)
		c.watch(max(c.podsAt, server.latest()-podsLag), max(c.claimsAt, server.latest()-claimsLag))
		require.True(t, c.settle(), "it comes to rest")
		for w.collect() {
			require.True(t, c.settle(), "it comes to rest")
		}
	}
	require.Empty(t, server.violations)
	if crashAfter > 0 {
		require.Equal(t, 1, c.crashed)
	}
	return endState(server), server.writes
}

func TestCrashAfterEveryWriteWithStaleCaches(t *testing.T) {
	want, writes := play(t, 0, 0, 0)
	require.Equal(t, []string{
		`claim two-1-gpu-gpu of "two-1" allocated=false protected=false deleting=false: `,
		`claim two-1-nic-nic of "two-1" allocated=false protected=false deleting=false: `,
		`pod both-0 Succeeded node="node-1" deleting=false: gpu=false`,
		`pod two-0 Succeeded node="node-1" deleting=false: gpu=false nic=false`,
		`pod two-1 Pending node="" deleting=false: gpu=true nic=true`,
	}, want, "the claims of pods that are done are gone, the shared one is, and the waiting pod has its two")
	require.Greater(t, writes, 20)
	for crashAfter := 0; crashAfter <= writes; crashAfter++ {
		for _, lag := range []struct{ pods, claims int }{{0, 0}, {1, 0}, {0, 1}, {3, 0}, {0, 3}, {2, 4}, {50, 50}} {
			t.Run(fmt.Sprintf("write %d, pods %d behind, claims %d behind", crashAfter, lag.pods, lag.claims), func(t *testing.T) {
				end, _ := play(t, crashAfter, lag.pods, lag.claims)
				require.Empty(t, cmp.Diff(want, end), "the end is the same whenever it crashed")
			})
		}
	}
}

// TestRandomLives mixes everything: what users, scheduler, kubelet and garbage collector do, single
// passes of the caller, caches that advance each on its own, crashes. By events: the caller plans only the keys that its Index names after an event, and those
// whose call failed.
func TestRandomLives(t *testing.T) {
	for seed := range seed.Each(t, few(100)) {
		if !t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Run("pods lead", func(t *testing.T) { randomLife(t, seed, true, false, false) })
			t.Run("pods may be behind", func(t *testing.T) { randomLife(t, seed, false, false, false) })
			t.Run("by events", func(t *testing.T) { randomLife(t, seed, false, true, false) })
			t.Run("PodGroups", func(t *testing.T) { randomLife(t, seed, false, false, true) })
			t.Run("PodGroups, by events", func(t *testing.T) { randomLife(t, seed, false, true, true) })
		}) {
			return
		}
	}
}

func randomLife(t *testing.T, seed uint64, podsLead, byEvents, withGroups bool) {
	r := rand.New(rand.NewPCG(seed, 30))
	server := newAPIServer()
	server.dynamic = seed%2 == 0
	w := &world{server: server}
	w.createShared()
	c := newCaller(server, Options{})
	c.podsLead = podsLead
	names := []string{"one-0", "one-1", "two-0", "share-0", "share-1", "both-0"}
	things := 20
	if withGroups {
		c.options, c.groupsLag = grouped, r.IntN(6)
		names = []string{"one-0", "share-0", "train.0", "train.1", "serve.0", "serve.1"}
		things += 3
	}
	if byEvents {
		c.relist()
	}
	for range 250 {
		name := names[r.IntN(len(names))]
		switch r.IntN(things) {
		case 20:
			w.createGroup([]string{"train", "serve"}[r.IntN(2)])
		case 21:
			if r.IntN(3) == 0 {
				w.deleteGroup([]string{"train", "serve"}[r.IntN(2)])
			}
		case 22:
			// The cache of PodGroups moves on alone.
			c.watchGroups(c.groupsAt + r.IntN(server.latest()-c.groupsAt+1))
		case 0, 1:
			w.createPod(name)
		case 2, 3, 4:
			w.schedule(name)
		case 5:
			w.bind(name)
		case 6:
			w.finish(name)
		case 7, 8:
			w.deletePod(name)
		case 9:
			w.collect()
		case 10:
			if claims := w.claimNames(); len(claims) > 0 && r.IntN(4) == 0 {
				w.deleteClaim(claims[r.IntN(len(claims))])
			}
			w.createShared()
		case 11:
			c.crashAfter = 1 + r.IntN(3)
		case 12, 13:
			c.watch(c.podsAt+r.IntN(server.latest()-c.podsAt+1), c.claimsAt)
		case 14:
			c.watch(c.podsAt, c.claimsAt+r.IntN(server.latest()-c.claimsAt+1))
		default:
			if keys := c.keys(); len(keys) > 0 {
				c.work(keys[r.IntN(len(keys))])
			}
		}
	}
	// The world comes to rest, and so does the caller.
	for range 20 {
		require.True(t, c.settle(), "it comes to rest")
		busy := w.collect()
		for _, name := range names {
			busy = w.schedule(name) || busy
		}
		if !busy {
			break
		}
	}
	require.True(t, c.settle())
	require.Empty(t, server.violations)
	for _, cl := range server.claims {
		for _, ref := range cl.Status.ReservedFor {
			require.True(t, server.needs(ref.UID) || server.membersUse(cl), "%s is held by %s, which is done or gone", cl.Name, ref.Name)
		}
		_, owner, ok := owningPod(cl)
		if !ok {
			_, owner, ok = owningPodGroup(cl)
		}
		require.True(t, !ok || server.needs(owner) || server.membersUse(cl), "%s is left over", cl.Name)
		require.False(t, cl.DeletionTimestamp != nil && len(cl.Status.ReservedFor) == 0, "nothing holds %s back", cl.Name)
	}
	for _, p := range server.pods {
		if podstate.Done(p) || p.DeletionTimestamp != nil {
			continue
		}
		group, there := server.groups[groupOfLabel(p)]
		if groupOfLabel(p) != "" && (!there || group.Deleting) {
			continue // D-32: it may be without a claim
		}
		for i := range p.Spec.ResourceClaims {
			if pc := &p.Spec.ResourceClaims[i]; generated(pc) {
				name, state := ClaimName(p, pc)
				require.Equal(t, NameKnown, state)
				require.NotNil(t, server.claims[name])
				if groupOfLabel(p) != "" && pc.Name == "gpu" {
					_, owner, _ := owningPodGroup(server.claims[name])
					require.Equal(t, group.UID, owner, "all pods of the group share its claim")
					continue
				}
				require.True(t, metav1.IsControlledBy(server.claims[name], p))
			}
		}
	}
}
