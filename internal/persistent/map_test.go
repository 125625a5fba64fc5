package persistent

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// contents is the map as a plain one, and shows that All is sorted.
func contents(t *testing.T, m *Map[int, string]) map[int]string {
	t.Helper()
	plain := map[int]string{}
	var keys []int
	for k, v := range m.All() {
		plain[k] = v
		keys = append(keys, k)
	}
	require.True(t, slices.IsSorted(keys), "keys are out of order: %v", keys)
	require.Len(t, plain, m.Len())
	return plain
}

// A random walk over changes, each map of which is compared with a plain map that went the same
// way, at once and again at the end: nothing that happens later may show in it.
func TestMapNeverChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	type version struct {
		m    *Map[int, string]
		want map[int]string
	}
	versions := []version{{NewMap[int, string](cmp.Compare[int]), map[int]string{}}}
	for i := range 200 {
		from := versions[r.IntN(len(versions))]
		next := version{want: maps.Clone(from.want)}
		switch key := r.IntN(300); r.IntN(3) {
		case 0:
			next.m = from.m.Without(key)
			delete(next.want, key)
		case 1:
			next.m = from.m.With(key, fmt.Sprint(i))
			next.want[key] = fmt.Sprint(i)
		default:
			e := from.m.Edit()
			for range r.IntN(100) {
				if key := r.IntN(300); r.IntN(3) == 0 {
					e.Delete(key)
					delete(next.want, key)
				} else {
					e.Set(key, fmt.Sprint(i))
					next.want[key] = fmt.Sprint(i)
				}
				got, found := e.Get(key)
				want, there := next.want[key]
				require.Equal(t, there, found)
				require.Equal(t, want, got)
			}
			next.m = e.Map()
		}
		require.Equal(t, next.want, contents(t, next.m))
		versions = append(versions, next)
	}
	for i, v := range versions {
		require.Equal(t, v.want, contents(t, v.m), "version %d", i)
	}
}

func TestMapWithoutWhatIsNotThere(t *testing.T) {
	m := NewMap[int, string](cmp.Compare[int]).With(1, "a")
	require.Same(t, m, m.Without(2))
}

// Deriving from one map in many goroutines, and reading it meanwhile, is no race (go test -race).
func TestMapDerivedFromConcurrently(t *testing.T) {
	m := NewMap[int, string](cmp.Compare[int])
	for i := range 1000 {
		m = m.With(i, "shared")
	}
	var wait sync.WaitGroup
	for g := range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			own := m
			for i := range 200 {
				own = own.With(i, fmt.Sprint(g)).Without(i + 500)
				m.With(i, "lost")
				if v, _ := m.Get(i); v != "shared" {
					t.Errorf("goroutine %d: %q for %d", g, v, i)
				}
			}
			if v, _ := own.Get(7); v != fmt.Sprint(g) || own.Len() != 800 {
				t.Errorf("goroutine %d: its own map has %q and %d entries", g, v, own.Len())
			}
		}()
	}
	wait.Wait()
	require.Equal(t, 1000, m.Len())
}

func BenchmarkMapWith(b *testing.B) {
	for _, size := range []int{1_000, 10_000, 100_000, 1_000_000} {
		if testing.Short() && size > 100_000 {
			continue // is there to be measured
		}
		e := NewMap[int, string](cmp.Compare[int]).Edit()
		for i := range size {
			e.Set(i, "")
		}
		m := e.Map()
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			r := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				m.With(r.IntN(size), "changed")
			}
		})
	}
}
