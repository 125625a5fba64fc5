package parity

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// atEachRecheck lets time pass to each of the moments in turn, to the nanosecond: the real
// controller has to stay quiet before, and to do then what ours returns for the keys of that moment.
// about says what snapshot it was.
func atEachRecheck[K any](t *testing.T, w *World, rechecks map[time.Time][]K, ours func(at time.Time, keys []K) Trace, about func() string) {
	t.Helper()
	for _, at := range slices.SortedFunc(maps.Keys(rechecks), time.Time.Compare) {
		if early := w.Sleep(time.Until(at) - 1).String(); early != "nothing" {
			t.Fatalf("before %s:\n%s\nfor\n%s", at, early, about())
		}
		if diff := difference(w.Sleep(1), ours(at, rechecks[at])); diff != "" {
			t.Fatalf("at %s (- kube-controller-manager, + ours):\n%s\nfor\n%s", at, diff, about())
		}
	}
}
