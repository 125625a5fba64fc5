package servicecidr_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/seed"
	"github.com/purekube/purekube/servicecidr"
)

// With a limit the answer is the same but for the list, which has the first addresses.
func TestPropMaxOrphans(t *testing.T) {
	cut := 0
	forSeeds(t, 1000, func(t *testing.T, seed uint64, r *rand.Rand) {
		s := randomSnapshot(r, nasty{specs: seed%2 == 0, objects: seed%4 == 0})
		for _, o := range modes() {
			for _, x := range s.ServiceCIDRs {
				if x == nil {
					continue
				}
				want, wantErr := servicecidr.NewIndex(s, o).CheckDeletion(servicecidr.Key(x.Name), 0)
				most := 1 + r.IntN(3)
				if len(want.Orphans) > most {
					want.Orphans, want.MoreOrphans = want.Orphans[:most], true
					cut++
				}
				deletion, err := servicecidr.NewIndex(s, o).CheckDeletion(servicecidr.KeyOf(x), most)
				require.Empty(t, diff(want, deletion), "seed %d, %s", seed, x.Name)
				require.Equal(t, problemsOf(t, wantErr), problemsOf(t, err), "seed %d, %s", seed, x.Name)
			}
		}
	})
	if !seed.Short() {
		require.Greater(t, cut, 100, "too few lists were longer than the limit")
	}
}

// Addresses that two IPAddresses have are sorted by name: the limit may fall between them.
func TestMaxOrphans_OneAddressTwice(t *testing.T) {
	s := snapshotOf(cidrs(cidr("x", of("fd00::/64"))), "fd00:0::2", "fd00::2", "fd00::1", "fd00::3")
	want := orphans("fd00::1", "fd00:0::2")
	deletion, err := servicecidr.NewIndex(s, careful).CheckDeletion(servicecidr.Key("x"), 2)
	require.NoError(t, err)
	require.Equal(t, want, deletion.Orphans)
	require.True(t, deletion.MoreOrphans)
}

// Several IPAddresses of one name are sorted by parent: the limit must not come before the last of them is read.
func TestMaxOrphans_OneNameThreeTimes(t *testing.T) {
	s := snapshotOf(cidrs(cidr("x", of("10.0.0.0/24"))), "10.0.0.5", "10.0.0.5", "10.0.0.5", "10.0.0.6")
	for i, parent := range []string{"c", "b", "a"} {
		s.IPAddresses[i].Spec.ParentRef.Name = parent
	}
	deletion, err := servicecidr.NewIndex(s, careful).CheckDeletion(servicecidr.Key("x"), 1)
	require.NoError(t, err)
	require.True(t, deletion.MoreOrphans)
	require.Len(t, deletion.Orphans, 1)
	require.Equal(t, "a", deletion.Orphans[0].Parent.Name)
}

// The first addresses are in the last prefix, and each prefix is there twice.
func TestMaxOrphans_PrefixesInDisorder(t *testing.T) {
	s := snapshotOf(cidrs(cidr("x", of("10.0.1.0/24", "10.0.1.0/24", "10.0.0.0/24", "10.0.0.0/24"))), "10.0.1.1", "10.0.1.2", "10.0.0.2", "10.0.0.1")
	for most, more := range []bool{false, true, true, true, false} {
		deletion, err := servicecidr.NewIndex(s, careful).CheckDeletion(servicecidr.Key("x"), most)
		require.NoError(t, err)
		want := orphans("10.0.0.1", "10.0.0.2", "10.0.1.1", "10.0.1.2")
		if most > 0 {
			want = want[:most]
		}
		require.Equal(t, want, deletion.Orphans)
		require.Equal(t, more, deletion.MoreOrphans)
	}
}
