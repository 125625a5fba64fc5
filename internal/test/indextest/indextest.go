// Package indextest checks what the methods of every Index say. Tests import it.
package indextest

import (
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/purekube/purekube"
)

// Unnamed says of which key the outcome differs that affected does not name; empty if there is none.
// An outcome is a Result and the text of an Err.
func Unnamed[A purekube.Action](before, after []purekube.Outcome[A], affected []purekube.Key, o ...cmp.Option) string {
	was, is := byKey(before), byKey(after)
	for _, out := range slices.Concat(before, after) {
		if slices.Contains(affected, out.Key) {
			continue
		}
		if diff := cmp.Diff(was[out.Key], is[out.Key], append(o, errorText)...); diff != "" {
			return fmt.Sprintf("%v is not among %v, but (-before +after) %s", out.Key, affected, diff)
		}
	}
	return ""
}

var errorText = cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })

func byKey[A purekube.Action](outcomes []purekube.Outcome[A]) map[purekube.Key]purekube.Outcome[A] {
	m := make(map[purekube.Key]purekube.Outcome[A], len(outcomes))
	for _, out := range outcomes {
		m[out.Key] = out
	}
	return m
}
