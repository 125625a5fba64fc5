// Package weakly counts which objects are still in memory. Tests import it.
package weakly

import (
	"runtime"
	"weak"
)

// Watch returns a function that counts how many of the objects are in memory yet.
func Watch[T any](objects []*T) (inMemory func() int) {
	watched := make([]weak.Pointer[T], len(objects))
	for i, o := range objects {
		watched[i] = weak.Make(o)
	}
	return func() int {
		runtime.GC()
		count := 0
		for _, w := range watched {
			if w.Value() != nil {
				count++
			}
		}
		return count
	}
}
