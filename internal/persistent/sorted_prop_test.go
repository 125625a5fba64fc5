package persistent

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/purekube/purekube/internal/test/seed"
)

// numbered is a value with its key. No key is before the zero one.
type numbered struct{ key, id int }

func numberedKey(v numbered) int { return v.key }

// without is the values without those of a key, in a slice of its own.
func without(values []numbered, key int) []numbered {
	return slices.DeleteFunc(slices.Clone(values), func(v numbered) bool { return v.key == key })
}

// A random walk over changes, beside a plain slice that is sorted by key. Every collection is read again at the end:
// nothing that happens later may show in it. Few keys have many values each, so that chunks are divided, emptied and longer
// than usual.
func TestPropSorted(t *testing.T) {
	type version struct {
		sorted *Sorted[int, numbered]
		want   []numbered
	}
	for seed := range seed.Each(t, 30) {
		r := rand.New(rand.NewPCG(seed, 21))
		keys := []int{3, 60, 400, 4000}[r.IntN(4)]
		id := 0
		some := func(key, n int) (values []numbered) {
			for range n {
				id++
				values = append(values, numbered{key, id})
			}
			return values
		}
		// in has the values behind those of smaller keys, and of equal ones.
		in := func(values []numbered, of []numbered) []numbered {
			for _, v := range of {
				at, _ := slices.BinarySearchFunc(values, v.key+1, func(v numbered, key int) int { return cmp.Compare(v.key, key) })
				values = slices.Insert(values, at, v)
			}
			return values
		}
		check := func(v version) {
			t.Helper()
			for range 4 {
				from := r.IntN(keys + 2)
				at := slices.IndexFunc(v.want, func(v numbered) bool { return v.key >= from })
				want := v.want[max(at, 0):]
				if at < 0 {
					want = nil
				}
				got := slices.Collect(v.sorted.From(from))
				require.True(t, slices.Equal(want, got), "seed %d: from %d: %v, want %v", seed, from, got, want)
				for first := range v.sorted.From(from) {
					require.Equal(t, want[0], first, "seed %d: from %d, the first one", seed, from)
					break
				}
			}
			require.True(t, slices.Equal(v.want, slices.Collect(v.sorted.From(0))), "seed %d", seed)
			for least, chunk := range v.sorted.chunks.All() {
				require.True(t, least == 0 || len(chunk) > 0, "seed %d: an empty chunk", seed)
			}
		}
		var first []numbered
		for range r.IntN(900) {
			first = in(first, some(r.IntN(keys), 1))
		}
		given := slices.Clone(first)
		versions := []version{{NewSorted(given, numberedKey, cmp.Compare[int]), first}}
		clear(given) // the slice is not kept
		for range 40 {
			from := versions[r.IntN(len(versions))]
			next := version{want: slices.Clone(from.want)}
			e := from.sorted.Edit()
			key, only := r.IntN(keys), r.IntN(2) == 0
			for range r.IntN(60) {
				if key++; !only {
					key = r.IntN(keys)
				}
				by := some(key, []int{0, 0, 1, 1, 2, r.IntN(300)}[r.IntN(6)])
				e.Replace(key, by...)
				next.want = in(without(next.want, key), by)
				clear(by)
			}
			next.sorted = e.Sorted()
			check(next)
			versions = append(versions, next)
		}
		for _, v := range versions {
			check(v)
		}
	}
}

// Floor and Ceiling against a search of all keys, in maps and in edits.
func TestPropMapFloorAndCeiling(t *testing.T) {
	for seed := range seed.Each(t, 100) {
		r := rand.New(rand.NewPCG(seed, 22))
		e := NewMap[int, int](cmp.Compare[int]).Edit()
		var keys []int
		for range r.IntN(60) {
			key := r.IntN(100)
			if r.IntN(4) == 0 {
				e.Delete(key)
				keys = slices.DeleteFunc(keys, func(k int) bool { return k == key })
			} else {
				e.Set(key, -key)
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		check := func(side string, find func(int) (int, int, bool)) {
			t.Helper()
			for key := -1; key <= 101; key++ {
				place, there := slices.BinarySearch(keys, key)
				if side == "floor" && !there {
					place, there = place-1, place > 0
				}
				there = there || side == "ceiling" && place < len(keys)
				at, value, found := find(key)
				require.Equal(t, there, found, "seed %d: %s of %d", seed, side, key)
				if there {
					require.Equal(t, keys[place], at, "seed %d: %s of %d", seed, side, key)
					require.Equal(t, -keys[place], value, "seed %d: %s of %d", seed, side, key)
				}
			}
		}
		check("floor", e.Floor)
		check("ceiling", e.Ceiling)
		m := e.Map()
		check("floor", m.Floor)
		check("ceiling", m.Ceiling)
	}
}
