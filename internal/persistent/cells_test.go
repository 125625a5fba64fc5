package persistent

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Cells have what was set last at each position, others that were derived from them in any order do not change them,
// and each yields every value once.
func TestCells(t *testing.T) {
	type state struct {
		cells cells[int]
		want  map[int]int
	}
	for _, size := range []int{1, 2, 8, 9, 10, 73, 74, 1000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, uint64(size)))
			states := []state{{want: map[int]int{}}}
			for step := range 60 {
				from := states[rnd.IntN(len(states))]
				next, by := state{from.cells, maps.Clone(from.want)}, &owner{}
				for change := range rnd.IntN(2 * size) {
					position, value := rnd.IntN(size), step*10_000+change
					next.cells = next.cells.with(position, value, by)
					next.want[position] = value
				}
				states = append(states, next)
			}
			for _, s := range states {
				require.Equal(t, len(s.want), s.cells.len)
				for position := range size {
					value, found := s.cells.get(position)
					want, set := s.want[position]
					require.Equal(t, set, found)
					require.Equal(t, want, value)
				}
				var values []int
				s.cells.root.each(func(v int) bool { values = append(values, v); return true })
				slices.Sort(values)
				require.Equal(t, slices.Sorted(maps.Values(s.want)), values)
				for stop := range min(3, len(values)) {
					seen := 0
					s.cells.root.each(func(int) bool { seen++; return seen <= stop })
					require.Equal(t, stop+1, seen, "each ends when it is told to")
				}
			}
		})
	}
}

// A change makes the cells on the way to its position, and no others.
func TestCellsShare(t *testing.T) {
	var c cells[int]
	by := &owner{}
	for position := range 1000 {
		c = c.with(position, position, by)
	}
	other := &owner{}
	changed := c.with(999, 0, other)
	var made func(*cell[int]) int
	made = func(n *cell[int]) (count int) {
		if n == nil || n.owner != other {
			return 0
		}
		count = 1
		for _, below := range n.below {
			count += made(below)
		}
		return count
	}
	require.Equal(t, 5, made(changed.root), "the root, and one for each digit of 999 in base 8: 1747")
}
