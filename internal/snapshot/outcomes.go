package snapshot

import (
	"slices"

	"github.com/purekube/purekube"
)

// SortByKey sorts outcomes by their keys, no two of which are equal. It sorts positions and then moves each outcome
// once, because an outcome is large.
func SortByKey[A purekube.Action](outcomes []purekube.Outcome[A]) {
	from := make([]int32, len(outcomes)) // the position of the outcome that belongs here
	for i := range from {
		from[i] = int32(i)
	}
	slices.SortFunc(from, func(a, b int32) int { return outcomes[a].Key.Compare(outcomes[b].Key) })
	for start := range from {
		if from[start] == int32(start) {
			continue
		}
		first, to := outcomes[start], start
		for from[to] != int32(start) {
			outcomes[to] = outcomes[from[to]]
			to, from[to] = int(from[to]), int32(to)
		}
		outcomes[to], from[to] = first, int32(to)
	}
}
