package model

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/reconcile"
)

// loopText is all that a Loop goes by: two Loops with the same text do the same. index and answer are texts of what the
// caller gave to the Loop. Each resourceVersion follows an @, so that states that differ only in the numbers can be
// told to be the same.
func loopText[X purekube.Index[X, S, A], S any, A purekube.Action](
	l *reconcile.Loop[X, S, A], index func(X) string, answer func(purekube.Answer) string,
) string {
	w := &loopWriter[X]{index: index, answer: answer, numbers: map[*reconcile.Question[X]]int{}}
	fmt.Fprintf(&w.b, "started %t, index %s\n", l.Started, index(l.Index))
	for _, key := range sortedBy(l.Failures, purekube.Key.Compare) {
		fmt.Fprintf(&w.b, "failures %s %d\n", key, l.Failures[key])
	}
	for _, key := range sortedBy(l.Turns, purekube.Key.Compare) {
		t := l.Turns[key]
		fmt.Fprintf(&w.b, "turn %s %s %s, until %s, late %t %d, checking %t, again %t, failures %v, unconfirmed %t, written",
			key, t.Step, index(t.Index), millis(t.WriteBy),
			t.Refusing, t.Late, t.Checking, t.Again, t.Failures, t.Unconfirmed)
		w.versions(t.Written)
		w.answers(t.Answers)
		w.question(t.Question)
	}
	w.fences(&l.Fences)
	w.lookups(&l.Lookups)
	return w.b.String()
}

type loopWriter[X any] struct {
	b       strings.Builder
	index   func(X) string
	answer  func(purekube.Answer) string
	numbers map[*reconcile.Question[X]]int
}

func sortedBy[K comparable, V any](m map[K]V, compare func(a, b K) int) []K {
	return slices.SortedFunc(maps.Keys(m), compare)
}

func millis(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return fmt.Sprint(t.UnixMilli())
}

func atVersion(version string) string {
	if version == reconcile.Never || version == "" {
		return version
	}
	return "@" + version
}

func compareResources(a, b schema.GroupResource) int { return cmp.Compare(a.String(), b.String()) }

func (w *loopWriter[X]) versions(versions map[schema.GroupResource]string) {
	for _, r := range sortedBy(versions, compareResources) {
		fmt.Fprintf(&w.b, " %s %s", r, atVersion(versions[r]))
	}
	w.b.WriteString("\n")
}

func (w *loopWriter[X]) answers(answers map[purekube.Need]purekube.Answer) {
	for _, n := range sortedBy(answers, compareNeeds) {
		fmt.Fprintf(&w.b, " answer %v %s\n", n, w.answer(answers[n]))
	}
}

func (w *loopWriter[X]) question(q *reconcile.Question[X]) {
	if q == nil {
		return
	}
	if n, known := w.numbers[q]; known {
		fmt.Fprintf(&w.b, " question %d\n", n)
		return
	}
	w.numbers[q] = len(w.numbers)
	fmt.Fprintf(&w.b, " question %d: %s, asked %s, rounds %d, again %t, woken %t\n", w.numbers[q],
		w.index(q.Index), millis(q.Asked), q.Rounds, q.Again, q.Woken)
	for _, n := range sortedBy(q.Open, compareNeeds) {
		fmt.Fprintf(&w.b, " open %v %t\n", n, q.Open[n])
	}
	w.answers(q.Answers)
	for _, n := range sortedBy(q.Failures, compareNeeds) {
		fmt.Fprintf(&w.b, " failure %v %v\n", n, q.Failures[n])
	}
	for _, n := range sortedBy(q.Begun, compareNeeds) {
		fmt.Fprintf(&w.b, " begun %v %s\n", n, millis(q.Begun[n]))
	}
}

func (w *loopWriter[X]) lookups(l *reconcile.Lookups[X]) {
	for _, key := range sortedBy(l.Questions, purekube.Key.Compare) {
		fmt.Fprintf(&w.b, "of %s", key)
		w.question(l.Questions[key])
	}
	for _, of := range []map[purekube.Need]map[purekube.Key]*reconcile.Question[X]{l.Askers, l.Served} {
		w.b.WriteString("askers\n")
		for _, n := range sortedBy(of, compareNeeds) {
			for _, key := range sortedBy(of[n], purekube.Key.Compare) {
				fmt.Fprintf(&w.b, "%v for %s", n, key)
				w.question(of[n][key])
			}
		}
	}
	for _, n := range sortedBy(l.Failed, compareNeeds) {
		fmt.Fprintf(&w.b, "failed %v %d\n", n, l.Failed[n])
	}
}

func (w *loopWriter[X]) fences(f *reconcile.Fences) {
	w.b.WriteString("seen")
	w.versions(f.Seen)
	for _, key := range sortedBy(f.Of, purekube.Key.Compare) {
		of := f.Of[key]
		fmt.Fprintf(&w.b, "fence %s until %s, waiting %t, answered %t", key, millis(of.Until), of.Waiting, of.Answered)
		w.versions(of.Written)
	}
}
