package rbacaggregate

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/seed"
)

// Without the deletion of mid, top collects {pods} from it in every order of the passes, and loses what is stored in it.
// With the deletion, top has nothing to collect, and keeps its stored rules.
func TestPreviewOfADeletionNamesTheRulesThatAreKeptThen(t *testing.T) {
	s := snapshotOf(
		sum("empty", "empty", "none"),
		ownedRules("kubectl", sum("mid", "mid", "empty", pods)),
		ownedRules("kubectl", sum("top", "", "mid", secrets)),
	)
	changes, err := NewIndex(s, upstream).PreviewDelete(Key("mid"))
	require.NoError(t, err)
	require.Equal(t, Change{Key: Key("top"), Added: rulesOf(secrets), Removed: rulesOf(pods)}, changes[1])
}

// Every order of upstream's passes is played, before and after a write. Added has each rule that some order leaves in a
// role with the write and some order does not leave without it. Removed has no rule that some order leaves with the write.
func TestPreviewMissesNoAddedRule(t *testing.T) {
	writes := 3000
	if seed.Short() {
		writes = 800
	}
	added, removed, inDoubt, large := 0, 0, 0, 0
	for seed := range seed.Each(t, writes) {
		r := rand.New(rand.NewPCG(seed, 35))
		roles := fewRoles(r)
		oldObj, newObj := smallWrite(r, roles)
		hidden := map[string]bool{}
		for _, role := range roles {
			hidden[role.Name] = r.IntN(2) == 0
		}
		was := Snapshot{ClusterRoles: roles}
		before, first := newPlay(was.ClusterRoles, hidden)
		after, written := newPlay(was.after(oldObj, newObj).ClusterRoles, hidden)
		without, whole := before.histories(t, first)
		with, wholeToo := after.histories(t, written)
		if !whole || !wholeToo {
			large++
			continue
		}
		var changes []Change
		if newObj == nil {
			changes, _ = NewIndex(was, upstream).PreviewDelete(Key(oldObj.Name))
		} else {
			changes, _ = NewIndex(was, upstream).Preview(newObj)
		}
		byName := map[string]Change{}
		for _, c := range changes {
			byName[c.Key.Name] = c
		}
		for _, role := range after.roles {
			h, w := with[role.Name], without[role.Name]
			switch {
			case w == nil: // it is created
				w = &history{}
			case h.inAll == nil || w.inAll == nil: // the passes of some order never end
				continue
			}
			if role.AggregationRule == nil || maps.Equal(h.inSome, w.inSome) && maps.Equal(h.inAll, w.inAll) {
				continue
			}
			c := byName[role.Name]
			for text, rule := range h.rules {
				switch {
				case h.inSome[text] && !w.inAll[text]:
					added++
					require.True(t, contains(c.Added, rule), "seed %d: %s may have %v only with the write", seed, role.Name, rule)
				case contains(c.Added, rule):
					inDoubt++
				}
			}
			for _, rule := range c.Removed {
				removed++
				require.False(t, h.inSome[rule.String()], "seed %d: %s may keep %v", seed, role.Name, rule)
			}
		}
	}
	t.Logf("%d writes: %d rules added, %d in doubt, %d removed; %d clusters have too many states", writes, added, inDoubt, removed, large)
	if seed.Single() {
		return
	}
	require.Greater(t, added, writes/10)
	require.Greater(t, removed, writes/20)
	require.Less(t, large, max(2, writes/100))
}
