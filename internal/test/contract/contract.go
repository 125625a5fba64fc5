// Package contract is the one check of what holds for the [purekube.Index] of every package, whatever is in a snapshot.
// A [Core] says how the snapshots of a package are drawn and what else can be asked. Property tests, fuzzing and the
// corpus of bad input all call the same functions:
//
//   - [Core.Check]: no question panics, writes to the snapshot, returns memory of it, or depends on the order of its
//     slices; Plan, PlanAll, Explain and ExplainAll agree with one another and with the functions of the package.
//   - [Core.CheckChanges]: an Index after any changes answers as a new Index of its objects, an older one answers as
//     before, and each key whose outcome is another one is among the affected keys.
//   - [Core.CheckMissing]: nothing is permitted because an object is missing, nil, nameless, doubled or unreadable.
//   - [Core.CheckConverges]: once the requests are sent, nothing is left to do.
//
// Tests import it.
package contract

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/aliasing"
)

// Index is what the packages' Indexes have in common; E is the Explanation.
type Index[X, S any, A purekube.Action, E any] interface {
	purekube.Index[X, S, A]
	Explain(purekube.Key) (E, error)
	ExplainAll() ([]E, error)
}

// Core is one package: its functions, its generator of snapshots, and what only it can say. S is a struct of slices of
// objects, maps, times and numbers; O are the options.
type Core[X Index[X, S, A, E], S any, A purekube.Action, O, E any] struct {
	NewIndex func(S, O) X
	Plan     func(S, purekube.Key, O) (purekube.Result[A], error)
	PlanAll  func(S, O) ([]purekube.Outcome[A], error)
	// Options are the modes. The first one makes the default decisions.
	Options []O
	// Draw is the generator. Only if bad, there are objects that no API server would hand out.
	Draw func(r *rand.Rand, bad bool) S
	// Words are texts that mean something to the package, for snapshots that are changed at random.
	Words []string
	// ClusterScoped: the namespace of an object is no part of its name.
	ClusterScoped bool
	// Merged is the kind of which several objects of one name all count.
	Merged string
	// Unread, if it is set, reports whether an Index with these options does not look at objects of that kind.
	Unread func(o O, kind string) bool
	// Ask returns the answers to further questions about a snapshot. Nil: there are none.
	Ask func(x X, s S) []Answer
	// Settled returns the snapshot whose Plan is PlanAll's share. Nil: the same.
	Settled func(x X, s S) S
	// Moved changes what a change of objects changes besides them, in the snapshot after it. Nil: nothing.
	Moved func(before, after S, o O) S
	// Also checks what the package says about one key that is there. Nil: nothing.
	Also func(t testing.TB, x X, key purekube.Key, outcome purekube.Outcome[A], explanation E)
	// Undecided says whether ExplainAll leaves the explanation of an object out. Nil: if it has no Reasons.
	Undecided func(E) bool
	// Ignored are differences of outcomes that With and Without need not name a key for.
	Ignored cmp.Options
	// Incomplete says under which options the affected keys are upstream's, and not all. Nil: never.
	Incomplete func(O) bool
	// Most is the share of the keys that changes of one object may affect.
	Most float64
	// Actions are the types of the actions. Test fails if no plan of its snapshots has one of them.
	Actions []string
	// Missing are the modes in which nothing is permitted for what is missing. Nil: the first of Options.
	Missing []O
	// Permits are what the default decisions allow somebody to do, and how often.
	Permits func(s S, o O) map[Permit]int
	// Statement says of which damage the caller knows what it means: that a pod that is left out is gone, for example.
	// Nil: of none.
	Statement func(s S, how Damage, field string, object runtime.Object) bool
	// Damaged calls visit with the snapshot damaged in ways that only the package knows. Nil: there are none.
	Damaged func(t testing.TB, s S, o O, visit func(what string, damaged S))
}

// Answer is what a question about a snapshot gave.
type Answer struct {
	Question string
	Value    any
	Err      error
	// Shares: the value is the caller's own objects, as its documentation says.
	Shares bool
}

// Permit is something that a plan, or an answer to a question, lets somebody do with an object.
type Permit struct {
	Key  purekube.Key
	What string
}

// Anything is the What of a key whose plan waits for lookups: it compares with nothing.
const Anything = ""

// Check asks all questions about one snapshot, and the same of the snapshot with its slices in another order.
func (c Core[X, S, A, O, E]) Check(t testing.TB, s S, o O, r *rand.Rand) {
	t.Helper()
	before := Copy(s)
	keys := c.keys(s)
	x := c.NewIndex(s, o)
	answers := c.answers(x, s, keys)
	unshared(t, s, answers)
	unshared(t, values(answers), c.answers(x, s, keys)) // nor with another answer of the same Index
	shuffled := Shuffled(s, r)
	again := c.NewIndex(shuffled, o)
	c.same(t, "with the slices in another order", answers, c.answers(again, shuffled, keys))
	clearAll(shuffled) // it belongs to the caller
	c.same(t, "after the slices of the snapshot were used again", answers, c.answers(again, s, keys))
	outcomes := c.agree(t, x, s, o, keys)
	c.requests(t, outcomes)
	if !reflect.DeepEqual(before, s) {
		t.Fatalf("a question writes to the snapshot: %s", differences(before, s))
	}
}

// unshared fails if an answer shares memory with the snapshot.
func unshared(t testing.TB, s any, answers []Answer) {
	t.Helper()
	given := make([]any, len(answers)) // by number: a question may be long
	for i, a := range answers {
		if !a.Shares {
			given[i] = a.Value
		}
	}
	if shared := aliasing.Shared(s, given); len(shared) > 0 {
		at := 0
		_, _ = fmt.Sscanf(shared[0], "result[%d]", &at)
		t.Fatalf("%s: the answer shares memory: %v", answers[at].Question, shared)
	}
}

// values are the answers without their errors, which never change.
func values(answers []Answer) (values []any) {
	for _, a := range answers {
		if !a.Shares {
			values = append(values, a.Value)
		}
	}
	return values
}

// answers asks the questions that every Index has, and the questions of the package.
func (c Core[X, S, A, O, E]) answers(x X, s S, keys []purekube.Key) []Answer {
	var answers []Answer
	add := func(question string, value any, err error) {
		answers = append(answers, Answer{Question: question, Value: value, Err: err})
	}
	outcomes, err := x.PlanAll()
	add("PlanAll", len(outcomes), err)
	for _, out := range outcomes {
		add("PlanAll "+out.Key.String(), out.Result, out.Err)
	}
	explanations, err := x.ExplainAll()
	add("ExplainAll", explanations, err)
	for _, key := range keys {
		plan, err := x.Plan(key)
		add("Plan "+key.String(), plan, err)
		for i, a := range plan.Actions {
			add(fmt.Sprintf("Request %s %d", key, i), []any{a.Request(make([]runtime.Object, i)), a.Request(nil), a.String()},
				nil)
		}
		explanation, err := x.Explain(key)
		add("Explain "+key.String(), explanation, err)
	}
	add("Err", nil, x.Err())
	if c.Ask != nil {
		answers = append(answers, c.Ask(x, s)...)
	}
	return answers
}

func (c Core[X, S, A, O, E]) same(t testing.TB, how string, want, got []Answer) {
	t.Helper()
	for i := range want[:min(len(want), len(got))] {
		if want[i].Question != got[i].Question {
			t.Fatalf("question %q, and %q %s", want[i].Question, got[i].Question, how)
		}
		if w, g := text(want[i].Err), text(got[i].Err); w != g {
			t.Fatalf("%s: %s the error is\n%s\nand was\n%s", want[i].Question, how, g, w)
		}
		if !reflect.DeepEqual(want[i].Value, got[i].Value) {
			t.Fatalf("%s: the answer is another one %s (-before +now):\n%s", want[i].Question, how,
				differences(want[i].Value, got[i].Value))
		}
	}
	if len(want) != len(got) {
		t.Fatalf("%d answers, and %d %s", len(want), len(got), how)
	}
}

// agree holds what the questions of one Index say to one another, and to the functions of the package.
func (c Core[X, S, A, O, E]) agree(t testing.TB, x X, s S, o O, keys []purekube.Key) []purekube.Outcome[A] {
	t.Helper()
	outcomes, whole := x.PlanAll()
	byFunction, functionErr := c.PlanAll(s, o)
	if diff := cmp.Diff(outcomes, byFunction, byText, everything); diff != "" || text(whole) != text(functionErr) {
		t.Fatalf("PlanAll (-Index +function): %s\n%s\n%s", diff, text(whole), text(functionErr))
	}
	explanations, err := x.ExplainAll()
	if text(err) != text(whole) {
		t.Fatalf("ExplainAll: the error is\n%s\nand that of PlanAll\n%s", text(err), text(whole))
	}
	hasNil, twice := c.anyObject(s, isNil), c.anyObject(s, func(list reflect.Value, at int) bool {
		return c.isAmbiguous(list, at) && !(c.Unread != nil && c.Unread(o, kindOf(list.Type().Elem())))
	})
	if wrong := x.Err(); errors.Is(wrong, purekube.ErrNil) != hasNil || errors.Is(wrong, purekube.ErrDuplicate) != twice {
		t.Fatalf("a nil object: %v, a name twice: %v, and Err says %v", hasNil, twice,
			wrong)
	}
	explained := map[purekube.Key]E{}
	var last purekube.Key
	for i, e := range explanations {
		key := keyOf(e)
		if i > 0 && last.Compare(key) >= 0 {
			t.Fatalf("ExplainAll: %s behind %s", key, last)
		}
		explained[key], last = e, key
	}
	byKey := map[purekube.Key]purekube.Outcome[A]{}
	settled, now := s, reflect.ValueOf(s).FieldByName("Now")
	if c.Settled != nil {
		settled = c.Settled(x, s)
	}
	one := c.NewIndex(settled, o)
	for i, out := range outcomes {
		_, there := explained[out.Key]
		switch result := out.Result; {
		case i > 0 && outcomes[i-1].Key.Compare(out.Key) >= 0:
			t.Fatalf("PlanAll: %s behind %s", out.Key, outcomes[i-1].Key)
		case out.Err == nil && result.Empty():
			t.Fatalf("PlanAll: %s has nothing to say", out.Key)
		case len(result.Needs) > 0 && len(result.Actions)+len(result.Events) > 0:
			t.Fatalf("%s: lookups and more: %+v", out.Key, result)
		case !result.RecheckAt.IsZero() && !result.RecheckAt.After(now.Interface().(time.Time)):
			t.Fatalf("%s: plan again in the past, at %v", out.Key, result.RecheckAt)
		case !there:
			t.Fatalf("PlanAll names %s, which ExplainAll does not explain", out.Key)
		case !slices.Contains(keys, out.Key):
			t.Fatalf("PlanAll names %s, which no object has", out.Key)
		}
		byKey[out.Key] = out
	}
	for _, key := range keys {
		plan, planErr := one.Plan(key)
		byFunction, functionErr := c.Plan(settled, key, o)
		if diff := cmp.Diff(plan, byFunction, byText, everything); diff != "" || text(planErr) != text(functionErr) {
			t.Fatalf("Plan %s (-Index +function): %s\n%s\n%s", key, diff, text(planErr), text(functionErr))
		}
		if diff := cmp.Diff(byKey[key].Result, plan, everything); diff != "" {
			t.Fatalf("%s (-PlanAll +Plan): %s", key, diff)
		}
		of := lines(byKey[key].Err)
		for _, line := range lines(planErr) {
			if !slices.Contains(of, line) && !slices.Contains(lines(whole), line) {
				t.Fatalf("Plan %s has an error that PlanAll has not: %s", key, line)
			}
		}
		for _, line := range of {
			if !slices.Contains(lines(planErr), line) {
				t.Fatalf("PlanAll has an error that Plan %s has not: %s", key, line)
			}
		}
		e, err := one.Explain(key)
		among, there := explained[key]
		switch diff := cmp.Diff(among, e, byText, everything); {
		case there && diff != "":
			t.Fatalf("%s (-ExplainAll +Explain): %s", key, diff)
		case there && keyOf(e) != key:
			t.Fatalf("Explain %s is about %s", key, keyOf(e))
		case there != (!isNotFound(err) && !c.undecided(e)):
			t.Fatalf("ExplainAll has %s: %v, and Explain says %v", key, there, err)
		case isNotFound(err) && !plan.Empty():
			t.Fatalf("%s is not there, and has a plan: %+v", key, plan)
		case c.Also != nil && !isNotFound(err):
			c.Also(t, one, key, purekube.Outcome[A]{Key: key, Result: plan, Err: byKey[key].Err}, e)
		}
	}
	return outcomes
}

func (c Core[X, S, A, O, E]) undecided(e E) bool {
	if c.Undecided != nil {
		return c.Undecided(e)
	}
	return reflect.ValueOf(e).FieldByName("Reasons").Len() == 0
}

// requests holds what an action says to the action.
func (c Core[X, S, A, O, E]) requests(t testing.TB, outcomes []purekube.Outcome[A]) {
	t.Helper()
	for _, out := range outcomes {
		done := make([]runtime.Object, 0, len(out.Result.Actions))
		for _, a := range out.Result.Actions {
			request := a.Request(done)
			if shared := append(aliasing.Shared(a, request), aliasing.Shared(done, request)...); len(shared) > 0 {
				t.Fatalf("%s: the request shares memory: %v", a, shared)
			}
			if name := reflect.TypeOf(a).Name(); a.Type() != name || !strings.HasPrefix(a.String(), name+" ") ||
				request.Verb == "" || request.Kind == "" {
				t.Fatalf("%q of type %q has the request %v", a, a.Type(), request)
			}
			done = append(done, request.Object)
		}
	}
}

// CheckChanges makes random changes to the Index of a snapshot, and answers the lookups that its plans ask for. It
// returns how many keys were affected by changes of one object, and how many there were.
func (c Core[X, S, A, O, E]) CheckChanges(
	t testing.TB, s S, o O, bad bool, changes int, r *rand.Rand,
) (affected, all int) {
	t.Helper()
	type version struct {
		x       X
		s       S
		keys    []purekube.Key
		answers []Answer
	}
	newVersion := func(x X, s S) version {
		keys := c.keys(s)
		fresh := c.answers(c.NewIndex(s, o), s, keys)
		c.same(t, "after With and Without", fresh, c.answers(x, s, keys))
		return version{x, s, keys, fresh}
	}
	versions := []version{newVersion(c.NewIndex(s, o), s)}
	copies := []S{Copy(s)}
	if c.Plain(s) && c.Moved == nil {
		x := c.NewIndex(withoutObjects(s), o)
		OneByOne(s, func(one S) { x, _ = x.With(one) })
		c.same(t, "made object by object", versions[0].answers, c.answers(x, s, versions[0].keys))
	}
	for range changes {
		from := versions[r.IntN(len(versions))]
		changed, objects := c.change(from.s, bad, r)
		given, before := Shallow(changed), Copy(changed)
		var next X
		var keys []purekube.Key
		var after S
		if r.IntN(3) == 0 {
			next, keys = from.x.Without(given)
			after = c.Without(from.s, changed)
		} else {
			next, keys = from.x.With(given)
			after = c.With(from.s, changed)
		}
		clearAll(given) // it belongs to the caller
		if c.Moved != nil {
			after = c.Moved(from.s, after, o)
		}
		v := newVersion(next, after)
		unshared(t, changed, v.answers)
		if !reflect.DeepEqual(before, changed) {
			t.Fatalf("With or Without writes to an object: %s", differences(before, changed))
		}
		if !slices.IsSortedFunc(keys, purekube.Key.Compare) || len(slices.Compact(slices.Clone(keys))) < len(keys) {
			t.Fatalf("affected keys that are not sorted, or there twice: %v", keys)
		}
		if c.Incomplete == nil || !c.Incomplete(o) {
			c.CheckNamed(t, from.x, next, keys)
			c.checkAnswered(t, next)
		}
		if objects == 1 {
			explained, _ := next.ExplainAll()
			affected, all = affected+len(keys), all+len(explained)
		}
		versions, copies = append(versions, v), append(copies, Copy(after))
	}
	for i, v := range versions {
		c.same(t, "after later changes", v.answers, c.answers(v.x, v.s, v.keys))
		if !reflect.DeepEqual(copies[i], v.s) {
			t.Fatalf("a later change writes to an object: %s", differences(copies[i], v.s))
		}
	}
	return affected, all
}

// CheckSame asks two Indexes of one snapshot all questions.
func (c Core[X, S, A, O, E]) CheckSame(t testing.TB, how string, want, got X, s S) {
	t.Helper()
	keys := c.keys(s)
	c.same(t, how, c.answers(want, s, keys), c.answers(got, s, keys))
}

// CheckNamed fails if the outcome of a key that is not affected is another one after the change.
func (c Core[X, S, A, O, E]) CheckNamed(t testing.TB, before, after X, affected []purekube.Key) {
	t.Helper()
	was, is := map[purekube.Key]purekube.Outcome[A]{}, map[purekube.Key]purekube.Outcome[A]{}
	outcomes, _ := before.PlanAll()
	for _, out := range outcomes {
		was[out.Key] = out
	}
	now, _ := after.PlanAll()
	for _, out := range now {
		is[out.Key] = out
	}
	for _, out := range slices.Concat(outcomes, now) {
		if slices.Contains(affected, out.Key) {
			continue
		}
		if diff := cmp.Diff(was[out.Key], is[out.Key], append(c.Ignored, byText, everything)...); diff != "" {
			t.Fatalf("%v is not among %v, but (-before +after) %s", out.Key, affected, diff)
		}
	}
}

// checkAnswered answers each lookup that the plans ask for with "there is no such object", and drops the answer again.
// Each time, the keys whose outcome is another one are among the affected keys.
func (c Core[X, S, A, O, E]) checkAnswered(t testing.TB, x X) {
	t.Helper()
	outcomes, _ := x.PlanAll()
	seen := map[purekube.Need]bool{}
	for _, out := range outcomes {
		for _, need := range out.Result.Needs {
			if seen[need] {
				continue
			}
			seen[need] = true
			var answer S
			fields(&answer, func(_ string, field reflect.Value) {
				if answers, ok := field.Addr().Interface().(*map[purekube.Need]purekube.Answer); ok {
					*answers = map[purekube.Need]purekube.Answer{need: {}}
				}
			})
			answered, keys := x.With(answer)
			c.CheckNamed(t, x, answered, keys)
			dropped, keys := answered.Without(answer)
			c.CheckNamed(t, answered, dropped, keys)
		}
	}
}

// CheckGoroutines derives Indexes from one in many goroutines, which ask it meanwhile: it means most with -race.
func (c Core[X, S, A, O, E]) CheckGoroutines(t *testing.T, s S, o O, r *rand.Rand) {
	t.Helper()
	x := c.NewIndex(s, o)
	keys := c.keys(s)
	want := c.answers(x, s, keys)
	done := make(chan func(), 8)
	for range cap(done) {
		r := rand.New(rand.NewPCG(r.Uint64(), 0))
		go func() {
			own := x
			for range 4 {
				changed, _ := c.change(s, false, r)
				own, _ = own.With(changed)
				own, _ = own.Without(c.pick(changed, 2, r))
				c.answers(own, s, nil)
			}
			got := c.answers(x, s, keys)
			done <- func() { c.same(t, "in another goroutine", want, got) }
		}()
	}
	for range cap(done) {
		(<-done)()
	}
}
