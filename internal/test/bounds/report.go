package bounds

import (
	"fmt"
	"slices"
	"strings"
)

// Table shows the counts of a subject in Markdown: a row for each count, and a column for each of these sizes.
func Table(sizes []int, counts []Counts) string {
	var b strings.Builder
	b.WriteString("| question | bound | counted |")
	for _, n := range sizes {
		fmt.Fprintf(&b, " %s |", thousands(n))
	}
	b.WriteString(" ratios |\n|---|---|---|" + strings.Repeat("---:|", len(sizes)) + "---|\n")
	row := func(question string, g Growth, counted string, of func(Counts) float64) {
		if !slices.ContainsFunc(counts, func(c Counts) bool { return of(c) > 0 }) {
			return
		}
		fmt.Fprintf(&b, "| %s | %s | %s |", question, g, counted)
		var ratios []string
		for i, c := range counts {
			if of(c) == 0 && i > 0 && of(counts[i-1]) > 0 {
				b.WriteString(" - |")
				continue
			}
			fmt.Fprintf(&b, " %s |", short(of(c)))
			if i > 0 {
				ratios = append(ratios, fmt.Sprintf("%.2f", of(c)/of(counts[i-1])))
			}
		}
		fmt.Fprintf(&b, " %s |\n", strings.Join(ratios, ", "))
	}
	for i, q := range counts[0].Questions {
		row(q.Name, q.Growth, "allocations", func(c Counts) float64 { return c.Costs[i].Allocations })
		row(q.Name, q.Growth, "bytes", func(c Counts) float64 { return c.Costs[i].Bytes })
		row(q.Name, q.Growth, "blocks of code", func(c Counts) float64 { return c.Costs[i].Blocks })
		if q.Event {
			keys := Constant
			if q.Growth == Linear {
				keys = Linear
			}
			row(q.Name, keys, "affected keys", func(c Counts) float64 { return c.Costs[i].Keys })
			row(q.Name, Constant, "actions", func(c Counts) float64 { return c.Costs[i].Actions })
		}
	}
	row("a new Index keeps", Logarithmic, "bytes an object", func(c Counts) float64 { return c.Kept })
	row("an updated Index keeps", Logarithmic, "bytes an object", func(c Counts) float64 { return c.KeptUpdated })
	return b.String()
}

// SummaryHeader begins the table whose rows are Summaries.
const SummaryHeader = "| package | objects | about one object: allocations, bytes, blocks " +
	"| about all objects: the same | bytes an object |\n|---|---:|---|---|---|\n"

// Summary is a row: the largest ratio of each count from one size to the next, of the questions about one object and of
// those about all objects, and what an Index keeps at the largest size.
func Summary(subject string, counts []Counts) string {
	last := counts[len(counts)-1]
	largest := func(once bool) string {
		var ratios [3]float64
		for i, q := range last.Questions {
			for k := 1; k < len(counts) && q.Once == once && q.Growth != Linear && q.Growth != Quadratic; k++ {
				was, is := counts[k-1].Costs[i], counts[k].Costs[i]
				ratios[0] = max(ratios[0], ratio(was.Allocations, is.Allocations))
				ratios[1] = max(ratios[1], ratio(was.Bytes, is.Bytes))
				ratios[2] = max(ratios[2], ratio(was.Blocks, is.Blocks))
			}
		}
		return fmt.Sprintf("%.2f, %.2f, %.2f", ratios[0], ratios[1], ratios[2])
	}
	kept := "-"
	if last.Kept > 0 {
		kept = fmt.Sprintf("%.0f, %.0f", last.Kept, last.KeptUpdated)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", subject, thousands(last.Objects), largest(false), largest(true),
		kept)
}

// few is a count too small for a ratio: the runtime allocates now and then, too.
const few = 4

func ratio(was, is float64) float64 {
	if was < few {
		return 0
	}
	return is / was
}

// short is a number of three digits.
func short(x float64) string {
	switch {
	case x < 10:
		return fmt.Sprintf("%.1f", x)
	case x < 10_000:
		return fmt.Sprintf("%.0f", x)
	case x < 1e6:
		return fmt.Sprintf("%.0f k", x/1e3)
	case x < 1e9:
		return fmt.Sprintf("%.1f M", x/1e6)
	default:
		return fmt.Sprintf("%.1f G", x/1e9)
	}
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
