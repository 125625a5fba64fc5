package persistent

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/seed"
)

// entry is a value of a prefix in the plain slice.
type entry struct {
	prefix netip.Prefix
	value  int
}

func compareEntries(a, b entry) int {
	return cmp.Or(ComparePrefixes(a.prefix, b.prefix), cmp.Compare(a.value, b.value))
}

// randomPrefix is one of a few prefixes, which contain each other or are equal more often than not: of IPv4, of IPv6, or
// an IPv4-mapped one, which is of IPv6.
func randomPrefix(r *rand.Rand) netip.Prefix {
	bases := []string{"10.0.0.0", "255.255.255.0", "fd00::", "::", "::ffff:10.0.0.0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ff00"}
	base := netip.MustParseAddr(bases[r.IntN(len(bases))])
	for range r.IntN(16) {
		base = base.Next()
	}
	bits := base.BitLen() - r.IntN(6)
	if r.IntN(10) == 0 {
		bits = r.IntN(base.BitLen() + 1)
	}
	return netip.PrefixFrom(base, bits).Masked()
}

// A random walk over changes, beside a plain slice. Every collection is asked again at the end.
func TestPropPrefixes(t *testing.T) {
	type version struct {
		prefixes *Prefixes[int]
		want     []entry
	}
	for seed := range seed.Each(t, 60) {
		r := rand.New(rand.NewPCG(seed, 23))
		// those are the values of the entries that a question is about, in the order of the entries.
		those := func(v version, about func(entry) bool) (values []int) {
			for _, e := range v.want {
				if about(e) {
					values = append(values, e.value)
				}
			}
			return values
		}
		check := func(v version) {
			t.Helper()
			for range 6 {
				p := randomPrefix(r)
				same := func(what string, want []int, got iter.Seq[int]) {
					t.Helper()
					require.True(t, slices.Equal(want, slices.Collect(got)), "seed %d: %s %s: %v, want %v", seed, what, p, slices.Collect(got), want)
				}
				around := func(q netip.Prefix) bool { return q.Bits() <= p.Bits() && q.Overlaps(p) }
				inside := func(q netip.Prefix) bool { return q.Bits() > p.Bits() && q.Overlaps(p) }
				same("of", those(v, func(e entry) bool { return e.prefix == p }), v.prefixes.Of(p))
				from := r.IntN(5)
				same("from", those(v, func(e entry) bool { return e.prefix == p && e.value >= from }), v.prefixes.From(p, from))

				var having, shorter []netip.Prefix
				for _, e := range v.want {
					if inside(e.prefix) && !slices.Contains(having, e.prefix) {
						having = append(having, e.prefix)
					}
					if around(e.prefix) && !slices.Contains(shorter, e.prefix) {
						shorter = append(shorter, e.prefix)
					}
				}
				slices.Reverse(shorter) // the longest first
				require.True(t, slices.Equal(having, slices.Collect(v.prefixes.Inside(p))), "seed %d: inside %s", seed, p)
				got := slices.Collect(v.prefixes.Around(p))
				for i, q := range got {
					require.True(t, around(q), "seed %d: %s is not around %s", seed, q, p)
					likeIt := func(e entry) bool { return e.prefix.Bits() == q.Bits() && e.prefix.Addr().Is4() == q.Addr().Is4() }
					require.True(t, slices.ContainsFunc(v.want, likeIt), "seed %d: no prefix is as long as %s", seed, q)
					require.True(t, i == 0 || got[i-1].Bits() > q.Bits(), "seed %d: the order around %s", seed, p)
				}
				got = slices.DeleteFunc(got, func(q netip.Prefix) bool { return !slices.Contains(shorter, q) })
				require.True(t, slices.Equal(shorter, got), "seed %d: around %s: %v, want %v", seed, p, got, shorter)
			}
			with := make([]netip.Prefix, r.IntN(5))
			for i := range with {
				with[i] = randomPrefix(r)
			}
			given := slices.Clone(with)
			want := those(v, func(e entry) bool { return slices.ContainsFunc(with, e.prefix.Overlaps) })
			overlapping := slices.Collect(v.prefixes.Overlapping(given...))
			require.ElementsMatch(t, want, overlapping, "seed %d: overlapping %v", seed, with)
			require.Equal(t, with, given, "seed %d: the argument was written to", seed)
			for range v.prefixes.Overlapping(with...) {
				break // a question may end early
			}
		}
		versions := []version{{prefixes: NewPrefixes(cmp.Compare[int])}}
		for range 25 {
			from := versions[r.IntN(len(versions))]
			next := version{want: slices.Clone(from.want)}
			e := from.prefixes.Edit()
			for range r.IntN(20) {
				one := entry{randomPrefix(r), r.IntN(5)}
				if len(next.want) > 0 && r.IntN(3) == 0 {
					one = next.want[r.IntN(len(next.want))]
				}
				at, there := slices.BinarySearchFunc(next.want, one, compareEntries)
				if r.IntN(3) > 0 {
					e.Put(one.prefix, one.value)
					if !there {
						next.want = slices.Insert(next.want, at, one)
					}
				} else {
					e.Delete(one.prefix, one.value)
					if there {
						next.want = slices.Delete(next.want, at, at+1)
					}
				}
			}
			next.prefixes = e.Prefixes()
			check(next)
			versions = append(versions, next)
		}
		for _, v := range versions {
			check(v)
		}
	}
}
