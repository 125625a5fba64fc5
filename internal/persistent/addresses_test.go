package persistent

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/seed"
)

// Floor against a look at all addresses: of IPv4, of IPv6, and IPv4-mapped ones, which are of IPv6 and have the same numbers.
func TestPropAddressesFloor(t *testing.T) {
	for seed := range seed.Each(t, 100) {
		r := rand.New(rand.NewPCG(seed, 24))
		address := func() netip.Addr { return randomPrefix(r).Addr() }
		var sorted []netip.Addr
		for range r.IntN(20) {
			sorted = append(sorted, address())
		}
		slices.SortFunc(sorted, netip.Addr.Compare)
		addresses := NewAddresses(sorted)
		for range 50 {
			a := address()
			want := -1
			for i, other := range sorted {
				if other.Compare(a) <= 0 {
					want = i
				}
			}
			require.Equal(t, want, addresses.Floor(a), "seed %d: %v: %s", seed, sorted, a)
		}
	}
}
