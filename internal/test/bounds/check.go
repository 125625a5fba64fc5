package bounds

import "fmt"

// What the runtime may allocate of its own while a question is asked.
const (
	spareAllocations = 16
	spareBytes       = 4096
)

// Exceeded says which counts at one size grew beyond their bound since the size before.
func Exceeded(before, after Counts) (problems []string) {
	check := func(what string, g Growth, was, is, spare float64) {
		if most := g.Most(after.Objects, before.Objects, was) + spare; is > most {
			problems = append(problems, fmt.Sprintf("%s: %.1f at %d objects, %.1f at %d: more than %.1f, which is %s",
				what, was, before.Objects, is, after.Objects, most, g))
		}
	}
	for i, q := range after.Questions {
		was, is := before.Costs[i], after.Costs[i]
		times, answers := float64(asked), Constant
		if q.Growth != Logarithmic {
			answers = Linear
		}
		if q.Once {
			times = 1
		}
		check(q.Name+": allocations", q.Growth, was.Allocations, is.Allocations, spareAllocations/times)
		check(q.Name+": bytes", q.Growth, was.Bytes, is.Bytes, spareBytes/times)
		check(q.Name+": blocks of code", q.Growth, was.Blocks, is.Blocks, 0)
		check(q.Name+": keys", answers, was.Keys, is.Keys, 0)
		check(q.Name+": actions", answers, was.Actions, is.Actions, 0)
	}
	check("bytes that a new Index keeps for each object", Logarithmic, before.Kept, after.Kept, 0)
	check("bytes that an updated Index keeps for each object", Logarithmic, before.KeptUpdated, after.KeptUpdated, 0)
	return problems
}
