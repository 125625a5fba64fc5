// Package limit has mutants of every kind that the tests of package mutation look for.
package limit

// Limit is n, or most if that is less.
func Limit(n, most int) int {
	if n > most {
		return most
	}
	return n
}

// Within reports whether n is from least to most.
func Within(n, least, most int) bool { return n >= least && n <= most }

// Count is how many of the numbers are neither negative nor skipped.
func Count(numbers []int, skip func(int) bool) int {
	count := 0
	for _, n := range numbers {
		if !skip(n) && n+1 > 0 {
			count++
		}
	}
	return count
}
