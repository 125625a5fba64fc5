package contract

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"testing"

	"github.com/purekube/purekube/internal/test/seed"
)

// Test checks n snapshots of the generator, every second one with something wrong: each in turn in one of the modes,
// every fourth one through changes too. Without PUREKUBE_FULL it checks a quarter as many.
func (c Core[X, S, A, O, E]) Test(t testing.TB, n int) {
	t.Helper()
	if seed.Short() {
		n /= 4
	}
	seen := map[string]bool{}
	affected, all := 0, 0
	for seed := range seed.Each(t, n) {
		r := rand.New(rand.NewPCG(seed, 77))
		bad := seed%2 == 0
		o := c.Options[r.IntN(len(c.Options))]
		s := c.Draw(r, bad)
		c.Check(t, s, o, r)
		if seed/2%2 == 0 {
			some, keys := c.CheckChanges(t, s, o, bad, 8, r)
			affected, all = affected+some, all+keys
		}
		if !bad {
			c.CheckConverges(t, s, c.Options[0])
		}
		outcomes, _ := c.NewIndex(s, o).PlanAll()
		for _, out := range outcomes {
			for _, a := range out.Result.Actions {
				seen[a.Type()] = true
			}
		}
	}
	if seed.Single() {
		return
	}
	for _, action := range c.Actions {
		if !seen[action] {
			t.Errorf("no plan has the action %s: %v", action, seen)
		}
	}
	if share := float64(affected) / float64(all); share > c.Most {
		t.Errorf("changes of one object affect %.2f of %d keys", share, all)
	}
}

// TestGoroutines checks that goroutines may share an Index, on a few snapshots: it means most with -race.
func (c Core[X, S, A, O, E]) TestGoroutines(t *testing.T) {
	t.Helper()
	for seed := range seed.Each(t, 8) {
		r := rand.New(rand.NewPCG(seed, 77))
		c.CheckGoroutines(t, c.Draw(r, seed%2 == 0), c.Options[0], r)
	}
}

// CheckAll checks one snapshot in every mode, with a few changes.
func (c Core[X, S, A, O, E]) CheckAll(t *testing.T, s S) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 77))
	for _, o := range c.Options {
		c.Check(t, s, o, r)
		c.CheckChanges(t, s, o, true, 2, r)
	}
}

// TestMissing checks that nothing is permitted for what is missing: on 150 snapshots with random changes, or as many as
// PUREKUBE_SNAPSHOTS says.
func (c Core[X, S, A, O, E]) TestMissing(t *testing.T) {
	t.Helper()
	permits := 0
	Random(t, func(r *rand.Rand) S { return c.Draw(r, r.IntN(2) == 0) }, c.Words, func(t *testing.T, s S) {
		for _, o := range c.missing() {
			permits += len(c.Permits(s, o))
			c.CheckMissing(t, s, o)
		}
	})
	if permits == 0 && !seed.Single() {
		t.Error("no snapshot permits anything")
	}
}

func (c Core[X, S, A, O, E]) missing() []O {
	if c.Missing == nil {
		return c.Options[:1]
	}
	return c.Missing
}

// Fuzz checks snapshots of the generator with the changes that a fuzzer chooses.
func (c Core[X, S, A, O, E]) Fuzz(f *testing.F) {
	for i := range uint64(4) {
		f.Add(i, []byte(nil))
		for op := range byte(operations) {
			for at := range byte(3) {
				f.Add(4*i+uint64(at), []byte{op, at*83 + op, at * 67, op + 1, at * 9, at + 1})
			}
		}
	}
	f.Fuzz(func(t *testing.T, from uint64, choice []byte) {
		if len(choice) > 60 {
			return
		}
		sum := 0
		for _, b := range choice {
			sum += int(b)
		}
		s := Mutate(c.Draw(rand.New(rand.NewPCG(from, 77)), sum%2 == 0), choice, c.Words)
		r := rand.New(rand.NewPCG(from, uint64(sum)))
		o := c.Options[sum%len(c.Options)]
		// An input is to be quick, and there are many.
		c.Check(t, s, o, r)
		switch sum / len(c.Options) % 3 {
		case 0:
			c.CheckMissing(t, s, c.missing()[sum%len(c.missing())])
		case 1:
			c.CheckChanges(t, s, o, true, 2, r)
		}
	})
}

// Random runs check on what draw draws, with random changes, one to eight each: 150 times, or as many as
// PUREKUBE_SNAPSHOTS says.
func Random[S any](t *testing.T, draw func(*rand.Rand) S, words []string, check func(t *testing.T, s S)) {
	t.Helper()
	snapshots := 150
	if seed.Short() {
		snapshots = 40
	}
	if text := os.Getenv("PUREKUBE_SNAPSHOTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("PUREKUBE_SNAPSHOTS: %v", err)
		}
		snapshots = n
	}
	for i := range seed.Each(t, snapshots) {
		r := rand.New(rand.NewPCG(1, i))
		choice := make([]byte, 3*(1+r.IntN(8)))
		for j := range choice {
			choice[j] = byte(r.UintN(256))
		}
		s := Mutate(draw(r), choice, words)
		if !t.Run(strconv.FormatUint(i, 10), func(t *testing.T) { check(t, s) }) {
			t.Fatalf("seed %d:%s", i, Text(s))
		}
	}
}

// Text is a snapshot in words: its objects, a line each.
func Text(s any) string {
	out := ""
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		field := v.Field(i)
		if field.Kind() != reflect.Slice {
			out += fmt.Sprintf("\n%s %+v", v.Type().Field(i).Name, field.Interface())
			continue
		}
		for j := range field.Len() {
			out += fmt.Sprintf("\n%s %+v", v.Type().Field(i).Name, reflect.Indirect(field.Index(j)))
		}
	}
	return out
}
