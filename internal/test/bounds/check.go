package bounds

import "fmt"

// What the runtime may allocate of its own while a question is asked.
const (
	spareAllocations = 16
	spareBytes       = 4096
)

// Exceeded says which counts at one size grew beyond their bound since every smaller size, of which there is at least
// one. A table doubles when it is full: one size may be just below that point, and the next one just above. Growth
// beyond the bound shows from each size.
func Exceeded(before []Counts, after Counts) (problems []string) {
	check := func(what string, g Growth, count func(Counts) float64, spare float64) {
		is, most, since := count(after), -1.0, before[0]
		for _, b := range before {
			if m := g.Most(after.Objects, b.Objects, count(b)) + spare; m > most {
				most, since = m, b
			}
		}
		if is > most {
			problems = append(problems, fmt.Sprintf("%s: %.1f at %d objects, %.1f at %d: more than %.1f, which is %s",
				what, count(since), since.Objects, is, after.Objects, most, g))
		}
	}
	for i, q := range after.Questions {
		times, answers := float64(asked), Constant
		if q.Growth != Logarithmic {
			answers = Linear
		}
		if q.Once {
			times = 1
		}
		of := func(count func(Cost) float64) func(Counts) float64 {
			return func(c Counts) float64 { return count(c.Costs[i]) }
		}
		check(q.Name+": allocations", q.Growth, of(func(c Cost) float64 { return c.Allocations }), spareAllocations/times)
		check(q.Name+": bytes", q.Growth, of(func(c Cost) float64 { return c.Bytes }), spareBytes/times)
		check(q.Name+": blocks of code", q.Growth, of(func(c Cost) float64 { return c.Blocks }), 0)
		check(q.Name+": keys", answers, of(func(c Cost) float64 { return c.Keys }), 0)
		check(q.Name+": actions", answers, of(func(c Cost) float64 { return c.Actions }), 0)
	}
	kept, updated := func(c Counts) float64 { return c.Kept }, func(c Counts) float64 { return c.KeptUpdated }
	check("bytes that a new Index keeps for each object", Logarithmic, kept, 0)
	check("bytes that an updated Index keeps for each object", Logarithmic, updated, 0)
	return problems
}
