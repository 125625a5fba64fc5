package bounds

import "fmt"

// What the runtime may allocate of its own while a question is asked.
const (
	spareAllocations = 16
	spareBytes       = 4096
)

// Exceeded says which counts at one size grew beyond their bound since the last of the smaller sizes. There must
// be one. What is about memory may grow beyond it since the last size, if it does not since another one: a table
// doubles when it is full, and one size may be just below that point, and the next one just above.
func Exceeded(smaller []Counts, after Counts) (problems []string) {
	check := func(what string, g Growth, since []Counts, count func(Counts) float64, spare float64) {
		is, most, from := count(after), -1.0, since[0]
		for _, before := range since {
			if m := g.Most(after.Objects, before.Objects, count(before)) + spare; m > most {
				most, from = m, before
			}
		}
		if is > most {
			problems = append(problems, fmt.Sprintf("%s: %.1f at %d objects, %.1f at %d: more than %.1f, which is %s",
				what, count(from), from.Objects, is, after.Objects, most, g))
		}
	}
	last := smaller[len(smaller)-1:]
	for i, q := range after.Questions {
		times, answers := float64(asked), Constant
		if q.Growth != Logarithmic {
			answers = Linear
		}
		if q.Once {
			times = 1
		}
		check(q.Name+": allocations", q.Growth, smaller, func(c Counts) float64 { return c.Costs[i].Allocations },
			spareAllocations/times)
		check(q.Name+": bytes", q.Growth, smaller, func(c Counts) float64 { return c.Costs[i].Bytes }, spareBytes/times)
		check(q.Name+": blocks of code", q.Growth, last, func(c Counts) float64 { return c.Costs[i].Blocks }, 0)
		check(q.Name+": keys", answers, last, func(c Counts) float64 { return c.Costs[i].Keys }, 0)
		check(q.Name+": actions", answers, last, func(c Counts) float64 { return c.Costs[i].Actions }, 0)
	}
	check("bytes that a new Index keeps for each object", Logarithmic, smaller,
		func(c Counts) float64 { return c.Kept }, 0)
	check("bytes that an updated Index keeps for each object", Logarithmic, smaller,
		func(c Counts) float64 { return c.KeptUpdated }, 0)
	return problems
}
