package parity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime"
)

// Core is one controller and the package that decides like it. S is that package's snapshot,
// or a struct around it.
type Core[S any] struct {
	// Name of the package.
	Name string
	// Generate makes a snapshot: small, nasty, and such that an API server would hold it.
	// Equal states of the generator make equal snapshots.
	Generate func(r *rand.Rand) S
	// Objects are the objects of the snapshot that caches have. They are handed to the controller as they are; a
	// controller that writes to its cache gets copies here.
	Objects func(S) []runtime.Object
	// Start builds the real controller. It may set the world's Respond and FailedKey.
	Start func(S) Start
	// Script is what happens to the controller, and what it does then. If it is nil, the controller settles.
	Script func(S, *World) Trace
	// Upstream makes of the controller's trace what is to be compared; nil: all of it.
	Upstream func(S, Trace) Trace
	// AnyBytes lets the bytes of a patch differ where its meaning does not.
	AnyBytes bool
	// Ours is the plan for the snapshot with MatchUpstream, as a trace.
	Ours func(S) Trace
	// Kinds are the sorts of things that the comparison has to see, each in at least 2 % of
	// the cases, and the only ones that it may see. See Trace.kinds, and Marks.
	Kinds []string
	// Marks adds to the kinds of a case; nil: nothing to add.
	Marks func(S, Trace) []string
	// Smaller are snapshots with a little less in them, for finding the smallest one that
	// still shows a difference; nil: there are none.
	Smaller func(S) []S
	// Describe says what of the snapshot its objects do not; nil: nothing.
	Describe func(S) string
}

// Test compares the real controller with ours over generated snapshots.
func (c Core[S]) Test(t *testing.T) {
	t.Helper()
	run := Settings(t, 5000)
	seen := coverage{}
	for i := range run.Numbers() {
		s := c.Generate(run.Source(i))
		upstream, ours := c.Both(t, s)
		if diff := difference(upstream, ours); diff != "" {
			s, diff = c.smallest(t, s, diff)
			t.Fatalf("%s decides differently (- kube-controller-manager, + ours):\n%s\nfor\n%s\n%s",
				c.Name, diff, c.text(s), run.Again(t, i))
		}
		if !c.AnyBytes {
			c.sameBytes(t, upstream, ours)
		}
		kinds := upstream.kinds()
		if c.Marks != nil {
			kinds = append(kinds, c.Marks(s, upstream)...)
		}
		seen.add(kinds)
	}
	seen.check(t, c.Kinds)
}

// sameBytes holds the patches of two equal traces to the very bytes.
func (c Core[S]) sameBytes(t *testing.T, upstream, ours Trace) {
	t.Helper()
	theirs := upstream.Normal().Requests
	for i, r := range ours.Normal().Requests {
		if r.raw != theirs[i].raw {
			t.Fatalf("%s: the same patch in other bytes (- kube-controller-manager, + ours):\n- %s\n+ %s", c.Name, theirs[i].raw,
				r.raw)
		}
	}
}

// Both is what the real controller and ours do with a snapshot.
func (c Core[S]) Both(t *testing.T, s S) (upstream, ours Trace) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("panic for\n%s", c.text(s))
			panic(r)
		}
	}()
	// Ours first: it writes to nothing, which cannot be said of every controller.
	ours = c.Ours(s)
	return c.RunUpstream(t, s), ours
}

// RunUpstream is what the real controller does with a snapshot.
func (c Core[S]) RunUpstream(t *testing.T, s S) (upstream Trace) {
	t.Helper()
	Run(t, c.Objects(s), c.Start(s), func(_ *testing.T, w *World) {
		if c.Script == nil {
			upstream = w.Settle()
			return
		}
		upstream = c.Script(s, w)
	})
	if c.Upstream != nil {
		upstream = c.Upstream(s, upstream)
	}
	return upstream
}

// smallest takes things out of the snapshot for as long as there is a difference.
func (c Core[S]) smallest(t *testing.T, s S, diff string) (S, string) {
	if c.Smaller == nil {
		return s, diff
	}
	began := time.Now()
	for again := true; again && time.Since(began) < 20*time.Second; {
		again = false
		for _, smaller := range c.Smaller(s) {
			if d := difference(c.Both(t, smaller)); d != "" {
				s, diff, again = smaller, d, true
				break
			}
		}
	}
	return s, diff
}

// text is the snapshot as a list in YAML, which purekube reads.
func (c Core[S]) text(s S) string {
	var b strings.Builder
	if c.Describe != nil {
		for line := range strings.Lines(c.Describe(s)) {
			fmt.Fprintf(&b, "# %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	b.WriteString(Manifests(c.Objects(s)))
	return b.String()
}

// Without are the lists that lack some of the items, from half of them down to one, for
// Core.Smaller.
func Without[T any](items []T) [][]T {
	var lists [][]T
	for size := max(1, len(items)/2); size > 0 && len(items) > 0; size /= 2 {
		for i := 0; i < len(items); i += size {
			lists = append(lists, slices.Concat(items[:i], items[min(i+size, len(items)):]))
		}
	}
	return lists
}

func difference(upstream, ours Trace) string {
	return cmp.Diff(strings.Join(upstream.long(), "\n"), strings.Join(ours.long(), "\n"))
}

// equateEmpty takes a list that is nil for one that is empty.
var equateEmpty = cmpopts.EquateEmpty()
