package reconcile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
)

// Text is all that the Loop goes by, for whoever searches what may happen next: two Loops with the same text do the
// same. index and answer are texts of what the caller gave to the Loop. Each resourceVersion follows an @, so that states
// that differ only in the numbers can be told to be the same.
func (l *Loop[X, S, A]) Text(index func(X) string, answer func(purekube.Answer) string) string {
	w := &writer[X]{index: index, answer: answer, numbers: map[*question[X]]int{}}
	fmt.Fprintf(&w.b, "started %t, index %s\n", l.started, index(l.index))
	for _, key := range sortedBy(l.failures, purekube.Key.Compare) {
		fmt.Fprintf(&w.b, "failures %s %d\n", key, l.failures[key])
	}
	for _, key := range sortedBy(l.turns, purekube.Key.Compare) {
		t := l.turns[key]
		fmt.Fprintf(&w.b, "turn %s %s %s, until %s, late %t %d, again %t, failures %v, unconfirmed %t, written", key, t.Step, index(t.Index), clock(t.WriteBy),
			t.late, t.Late, t.again, t.Failures, t.unconfirmed)
		w.versions(t.written)
		w.answers(t.answers)
		w.question(t.question)
	}
	w.fences(&l.fences)
	w.lookups(&l.lookups)
	return w.b.String()
}

type writer[X any] struct {
	b       strings.Builder
	index   func(X) string
	answer  func(purekube.Answer) string
	numbers map[*question[X]]int
}

func sortedBy[K comparable, V any](m map[K]V, compare func(a, b K) int) []K {
	return slices.SortedFunc(maps.Keys(m), compare)
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return fmt.Sprint(t.UnixMilli())
}

func at(version string) string {
	if version == never || version == "" {
		return version
	}
	return "@" + version
}

func compareResources(a, b schema.GroupResource) int { return cmp.Compare(a.String(), b.String()) }

func (w *writer[X]) versions(versions map[schema.GroupResource]string) {
	for _, r := range sortedBy(versions, compareResources) {
		fmt.Fprintf(&w.b, " %s %s", r, at(versions[r]))
	}
	w.b.WriteString("\n")
}

func (w *writer[X]) answers(answers map[purekube.Need]purekube.Answer) {
	for _, n := range sortedBy(answers, compareNeeds) {
		fmt.Fprintf(&w.b, " answer %v %s\n", n, w.answer(answers[n]))
	}
}

func (w *writer[X]) question(q *question[X]) {
	if q == nil {
		return
	}
	if n, known := w.numbers[q]; known {
		fmt.Fprintf(&w.b, " question %d\n", n)
		return
	}
	w.numbers[q] = len(w.numbers)
	fmt.Fprintf(&w.b, " question %d: %s, asked %s, rounds %d, again %t, woken %t\n", w.numbers[q],
		w.index(q.index), clock(q.asked), q.rounds, q.again, q.woken)
	for _, n := range sortedBy(q.open, compareNeeds) {
		fmt.Fprintf(&w.b, " open %v %t\n", n, q.open[n])
	}
	w.answers(q.answers)
	for _, n := range sortedBy(q.failures, compareNeeds) {
		fmt.Fprintf(&w.b, " failure %v %v\n", n, q.failures[n])
	}
	for _, n := range sortedBy(q.begun, compareNeeds) {
		fmt.Fprintf(&w.b, " begun %v %s\n", n, clock(q.begun[n]))
	}
}

func (w *writer[X]) lookups(l *lookups[X]) {
	for _, key := range sortedBy(l.questions, purekube.Key.Compare) {
		fmt.Fprintf(&w.b, "of %s", key)
		w.question(l.questions[key])
	}
	for _, of := range []map[purekube.Need]map[purekube.Key]*question[X]{l.askers, l.served} {
		w.b.WriteString("askers\n")
		for _, n := range sortedBy(of, compareNeeds) {
			for _, key := range sortedBy(of[n], purekube.Key.Compare) {
				fmt.Fprintf(&w.b, "%v for %s", n, key)
				w.question(of[n][key])
			}
		}
	}
	for _, n := range sortedBy(l.failed, compareNeeds) {
		fmt.Fprintf(&w.b, "failed %v %d\n", n, l.failed[n])
	}
}

func (w *writer[X]) fences(f *fences) {
	w.b.WriteString("seen")
	w.versions(f.seen)
	for _, key := range sortedBy(f.of, purekube.Key.Compare) {
		of := f.of[key]
		fmt.Fprintf(&w.b, "fence %s until %s, waiting %t, answered %t", key, clock(of.until), of.waiting, of.answered)
		w.versions(of.written)
	}
}
