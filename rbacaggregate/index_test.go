package rbacaggregate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
	"github.com/purekube/purekube/internal/test/aliasing"
	"github.com/purekube/purekube/internal/test/indextest"
	"github.com/purekube/purekube/internal/test/seed"
)

// answers are what every question says, in words.
func answers(questions *Index, names []string, write *rbacv1.ClusterRole) map[string]string {
	said := map[string]string{}
	say := func(question string, answer any, err error) {
		said[question] = fmt.Sprintf("%+v %v", answer, lines(err))
	}
	outcomes, err := questions.PlanAll()
	var all []any
	for _, o := range outcomes {
		all = append(all, o.Key, o.Result, lines(o.Err))
	}
	say("PlanAll", all, err)
	explanations, err := questions.ExplainAll()
	say("ExplainAll", explanations, err)
	changes, err := questions.Preview(write)
	say("Preview", changes, err)
	for _, name := range names {
		result, err := questions.Plan(Key(name))
		say("Plan "+name, result, err)
		rules, err := questions.Rules(Key(name))
		say("Rules "+name, rules, err)
		explanation, err := questions.Explain(Key(name))
		say("Explain "+name, explanation, err)
		change, err := questions.PreviewRole(write, Key(name))
		say("PreviewRole "+name, change, err)
		changes, err := questions.PreviewDelete(Key(name))
		say("PreviewDelete "+name, changes, err)
	}
	return said
}

// with is what Index.With says of itself, on a snapshot.
func (s Snapshot) with(changed Snapshot) Snapshot {
	return Snapshot{ClusterRoles: slices.Concat(s.without(changed).ClusterRoles, changed.ClusterRoles)}
}

func (s Snapshot) without(gone Snapshot) Snapshot {
	var left []*rbacv1.ClusterRole
	for _, r := range s.ClusterRoles {
		if r == nil || r.Name == "" || find(gone.ClusterRoles, r.Name) == nil {
			left = append(left, r)
		}
	}
	return Snapshot{ClusterRoles: left}
}

// randomChange makes roles to add or to put in the place of others, some of them not as they should be.
func randomChange(r *rand.Rand) Snapshot {
	roles := randomRoles(r, r.IntN(2) == 0)
	roles = roles[:min(len(roles), 1+r.IntN(3))]
	switch r.IntN(12) {
	case 0:
		roles = spoil(r, roles)
	case 1:
		roles = append(roles, nil)
	case 2:
		roles = spoilSelectors(r, roles)
	case 3:
		roles[0].Namespace = "a ClusterRole has none"
	case 4:
		// A label that no selector of the first snapshot asks for.
		late := sum("late", "late", "late a")
		late.AggregationRule.ClusterRoleSelectors = append(late.AggregationRule.ClusterRoleSelectors, metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "b", Operator: metav1.LabelSelectorOpDoesNotExist}, {Key: "c", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"true"}},
			},
		})
		roles = append(roles, late)
	}
	return Snapshot{ClusterRoles: roles}
}

// An Index answers what a new Index of its objects answers, an older one goes on answering as before, and what a change
// affects is named.
func TestIndexAnswersAsANewOne(t *testing.T) {
	named, unnamed := 0, 0
	seeds := 60
	if seed.Short() {
		seeds = 20
	}
	for seed := range seed.Each(t, seeds) {
		r := rand.New(rand.NewPCG(seed, 31))
		o := []Options{{}, upstream}[seed%2]
		s := Snapshot{ClusterRoles: randomRoles(r, true)}
		x := NewIndex(s, o)
		write := plain("r03", "a c", anything)
		type state struct {
			x    *Index
			said map[string]string
		}
		var states []state
		names := []string{"late", "gone"}
		for i := range 12 {
			names = append(names, fmt.Sprintf("r%02d", i))
		}
		for step := range 8 {
			at := fmt.Sprintf("seed %d, step %d", seed, step)
			fresh, said := NewIndex(s, o), answers(x, names, write)
			require.Empty(t, cmp.Diff(answers(fresh, names, write), said), at)
			require.Equal(t, lines(fresh.Err()), lines(x.Err()), at)
			states = append(states, state{x, said})

			change := randomChange(r)
			var next *Index
			var affected []purekube.Key
			if r.IntN(3) == 0 {
				next, affected = x.Without(change)
				s = s.without(change)
			} else {
				next, affected = x.With(change)
				s = s.with(change)
			}
			require.True(t, slices.IsSortedFunc(affected, purekube.Key.Compare), at)
			require.Equal(t, len(affected), len(slices.Compact(slices.Clone(affected))), at)
			for _, name := range names {
				before, errBefore := x.Plan(Key(name))
				after, errAfter := next.Plan(Key(name))
				isNamed := slices.Contains(affected, Key(name))
				if cmp.Equal(before, after) && slices.Equal(own(x, errBefore), own(next, errAfter)) {
					if !isNamed {
						unnamed++
					}
					continue
				}
				named++
				require.True(t, isNamed, "%s: the plan of %s differs, but only %v are named\n%v %v\n%v %v\n%v", at, name, affected, before, errBefore, after, errAfter, change)
			}
			x = next
		}
		for i, state := range states {
			require.Empty(t, cmp.Diff(state.said, answers(state.x, names, write)), "seed %d: the Index of step %d answers differently now", seed, i)
		}
	}
	require.Greater(t, named, 3*seeds, "too few changes changed a plan")
	require.Greater(t, unnamed, 3*seeds, "every name is named")
}

// own are the problems of one plan, without those of the Index as a whole.
func own(x *Index, err error) []string {
	whole := lines(x.newProblems().Err())
	return slices.DeleteFunc(lines(err), func(line string) bool { return slices.Contains(whole, line) })
}

func TestIndexBadInput(t *testing.T) {
	x := NewIndex(Snapshot{}, Options{})
	require.NoError(t, x.Err())

	next, affected := x.With(Snapshot{})
	require.Same(t, x, next)
	require.Empty(t, affected)
	next, affected = x.Without(snapshotOf(plain("gone", ""), nil, plain("", "")))
	require.Same(t, x, next, "what is not there changes nothing")
	require.Empty(t, affected)
	require.NoError(t, next.Err())

	next, affected = x.With(snapshotOf(nil, plain("", ""), sum("sum", "", "is")))
	require.Equal(t, []string{"sum"}, namesOf(affected), "the rest counts")
	require.EqualError(t, next.Err(), "ClusterRole: nil object in the snapshot\nClusterRole: metadata.name: required")
	require.NoError(t, x.Err(), "the older Index is as it was")
	again, _ := next.With(snapshotOf(nil))
	require.EqualError(t, again.Err(), next.Err().Error(), "each problem once")
	require.Len(t, lines(again.Err()), 2, "they do not pile up")

	for _, role := range []*rbacv1.ClusterRole{nil, plain("", "")} {
		next, affected = x.With(snapshotOf(role))
		require.Error(t, next.Err(), "one alone is an error too")
		require.Empty(t, affected)
	}

	next, affected = x.With(snapshotOf(plain("a", ""), plain("a", "is", pods)))
	require.Equal(t, []string{"a"}, namesOf(affected), "its plan is an error now")
	require.ErrorIs(t, next.Err(), purekube.ErrDuplicate)
	gone, affected := next.Without(snapshotOf(plain("a", "")))
	require.Equal(t, []string{"a"}, namesOf(affected), "and empty then")
	require.NoError(t, gone.Err())
	mended, affected := next.With(snapshotOf(plain("a", "")))
	require.Equal(t, []string{"a"}, namesOf(affected), "and empty then")
	require.NoError(t, mended.Err())

	next, affected = x.With(snapshotOf(sum("a", "", "is"), plain("a", "is", pods)))
	require.Equal(t, []string{"a"}, namesOf(affected))
	require.ErrorIs(t, next.Err(), purekube.ErrDuplicate)
	next, affected = next.With(snapshotOf(sum("a", "", "is")))
	require.Equal(t, []string{"a"}, namesOf(affected), "one takes the place of both")
	require.NoError(t, next.Err())
}

// So many changes that the Index is made anew on the way, several times.
func TestIndexOfManyChanges(t *testing.T) {
	first := NewIndex(Snapshot{}, Options{})
	x := first
	var s Snapshot
	for i := range 1000 {
		role := plain(fmt.Sprintf("r%04d", i), fmt.Sprintf("k%d all", i%7), on(fmt.Sprint("resource", i%50), "get"))
		if i%9 == 0 {
			role = sum(role.Name, fmt.Sprintf("k%d", i%7), fmt.Sprintf("k%d", (i+1)%7))
		}
		var affected []purekube.Key
		x, affected = x.With(snapshotOf(role))
		require.NotContains(t, affected, Key(fmt.Sprintf("r%04d", i+1)))
		s.ClusterRoles = append(s.ClusterRoles, role)
		if i%5 == 4 {
			gone := s.ClusterRoles[i/2]
			x, _ = x.Without(snapshotOf(gone))
			s = s.without(snapshotOf(gone))
			s.ClusterRoles = append(s.ClusterRoles, gone)
			x, _ = x.With(snapshotOf(gone))
		}
	}
	require.True(t, x.objects.Renewed(first.objects), "made anew")
	got, err := x.PlanAll()
	require.NoError(t, err)
	want, err := PlanAll(s, Options{})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, got))
	require.NotEmpty(t, got)
	for _, r := range s.ClusterRoles {
		x, _ = x.Without(snapshotOf(r))
	}
	require.Zero(t, x.aggregations.Len()+x.requests.Len()+x.objects.Len())
}

// What is not as it should be is the same after the Index has been made anew.
func TestIndexMadeAnewWithProblems(t *testing.T) {
	s := snapshotOf(broken(sum("broken", "k", "k")), plain("twin", "k", pods), plain("twin", "", pods), sum("sum", "", "k"), sum("other", "", "else"), plain("a", "else", jobs))
	for i := range 64 {
		s.ClusterRoles = append(s.ClusterRoles, plain(fmt.Sprintf("r%d", i), ""))
	}
	fresh := NewIndex(s, Options{})
	empty := NewIndex(Snapshot{}, Options{})
	x, _ := empty.With(s)
	require.True(t, x.objects.Renewed(empty.objects), "made anew")
	require.Equal(t, lines(fresh.Err()), lines(x.Err()))
	names := []string{"broken", "twin", "sum", "other", "a", "r0"}
	write := plain("a", "else k", nodes)
	require.Empty(t, cmp.Diff(answers(fresh, names, write), answers(x, names, write)))
	for text, filed := range filedIn(x) {
		require.Len(t, x.selectors.Alternatives(filed), 1, "it is ready for the selectors that it has, %s too", text)
	}
	require.Len(t, filedIn(x), 2)
}

// filedIn are the selectors of an Index by their texts.
func filedIn(x *Index) map[string]*filedSelector {
	filed := map[string]*filedSelector{}
	for at, f := range x.requests.All() {
		filed[at.text] = f
	}
	return filed
}

// What a role that was replaced or taken away had leaves nothing behind.
func TestIndexLetsGo(t *testing.T) {
	x, _ := NewIndex(Snapshot{}, Options{}).With(snapshotOf(sum("a", "x y", "x")))
	found := func(x *Index) int { return len(x.selectors.Append(nil, "", map[string]string{"x": "true"})) }
	require.Equal(t, 1, found(x))
	require.NotZero(t, x.requests.Len())
	replaced, _ := x.With(snapshotOf(plain("a", "")))
	gone, _ := x.Without(snapshotOf(plain("a", "")))
	for _, next := range []*Index{replaced, gone} {
		require.Zero(t, found(next)+next.requests.Len()+next.aggregations.Len())
	}
	require.Zero(t, gone.objects.Len())
}

// Goroutines that read one Index and derive others from it need no lock. It means something under -race.
func TestIndexInManyGoroutines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 41))
	s := Snapshot{ClusterRoles: randomRoles(r, true)}
	x, _ := NewIndex(s, Options{}).With(snapshotOf(sum("late", "", "late")))
	want, _ := x.PlanAll()
	var changes []Snapshot
	for range 8 {
		changes = append(changes, randomChange(r))
	}
	var wait sync.WaitGroup
	for _, change := range changes {
		wait.Go(func() {
			next, _ := x.With(change)
			_, _ = next.PlanAll()
			next, _ = next.Without(change)
			_, _ = next.ExplainAll()
			got, _ := x.PlanAll()
			if !cmp.Equal(want, got, cmp.Comparer(func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })) {
				t.Error("the Index has changed")
			}
		})
	}
	wait.Wait()
}

// Nothing that is handed out leads to what was handed in, nor to what another answer got.
func TestIndexSharesNothing(t *testing.T) {
	for seed := range seed.Each(t, 40) {
		r := rand.New(rand.NewPCG(seed, 43))
		s := Snapshot{ClusterRoles: spoil(r, randomRoles(r, true))}
		change := randomChange(r)
		var before []*rbacv1.ClusterRole
		for _, role := range slices.Concat(s.ClusterRoles, change.ClusterRoles) {
			before = append(before, role.DeepCopy())
		}
		x, _ := NewIndex(s, Options{}).With(change)
		outcomes, _ := x.PlanAll()
		again, _ := x.PlanAll()
		for i := range outcomes {
			outcomes[i].Err, again[i].Err = nil, nil // errors do not change
		}
		explanations, _ := x.ExplainAll()
		for _, in := range []Snapshot{s, change} {
			require.Empty(t, aliasing.Shared(in, outcomes))
			require.Empty(t, aliasing.Shared(in, explanations))
		}
		require.Empty(t, aliasing.Shared(outcomes, again))
		require.Empty(t, cmp.Diff(before, slices.Concat(s.ClusterRoles, change.ClusterRoles)), "seed %d: an input was written to", seed)
	}
}

// What an Index has computed for one question, it uses for the next. That changes no answer, and loses no error.
func TestIndexThatWasAskedBefore(t *testing.T) {
	broken := sum("broken", "up", "", nodes)
	broken.AggregationRule.ClusterRoleSelectors = []metav1.LabelSelector{{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "x", Operator: "What"}}}}
	s := snapshotOf(plain("a", "is", pods, secrets), sum("mid", "up", "is"), broken, sum("top", "over", "up"), sum("above", "", "over", nodes),
		plain("r", "ring", jobs), sum("ring-1", "ring over", "ring"), sum("ring-2", "ring", "ring"))
	names := []string{"mid", "broken", "top", "above", "ring-1", "ring-2", "a"}
	type answer struct {
		Rules   []rbacv1.PolicyRule
		Problem string
		Actions []Action
	}
	ask := func(x *Index, name string) answer {
		rules, err := x.Rules(Key(name))
		r, planErr := x.Plan(Key(name))
		a := answer{Rules: rules, Actions: r.Actions}
		if err != nil {
			a.Problem = err.Error()
		}
		if planErr != nil {
			a.Problem += " " + planErr.Error()
		}
		return a
	}
	for _, first := range names {
		x := NewIndex(s, Options{})
		ask(x, first)
		for range 2 { // the second time after everything else
			for _, name := range names {
				require.Empty(t, cmp.Diff(ask(NewIndex(s, Options{}), name), ask(x, name)), "%s after %s", name, first)
			}
			_, err := x.PlanAll()
			require.NoError(t, err) // of the snapshot as a whole
		}
	}
	require.Contains(t, ask(NewIndex(s, Options{}), "broken").Problem, "What")
	require.Equal(t, []rbacv1.PolicyRule{jobs, nodes, pods, secrets}, ask(NewIndex(s, Options{}), "above").Rules, "it keeps what broken has")
	require.Equal(t, []rbacv1.PolicyRule{pods, secrets}, ask(NewIndex(s, Options{}), "top").Rules, "it gets nothing from broken (D-35)")
}

// Random changes, with nil ClusterRoles, ClusterRoles without a name and up to three of one name: a key that is
// not named has the same outcome before and after.
func TestIndexNamesEveryChangedOutcome(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 43))
		x := NewIndex(Snapshot{ClusterRoles: randomRoles(r, true)}, Options{})
		for range 12 {
			changed := randomChange(r)
			for _, bad := range []*rbacv1.ClusterRole{nil, plain("", "a b c", pods), plain("r01", "a b", pods), plain("r01", "c")} {
				if r.IntN(5) == 0 {
					changed.ClusterRoles = append(changed.ClusterRoles, bad)
				}
			}
			change := x.With
			if r.IntN(3) == 0 {
				change = x.Without
			}
			next, affected := change(changed)
			before, _ := x.PlanAll()
			after, _ := next.PlanAll()
			require.Empty(t, indextest.Unnamed(before, after, affected), "seed %d, %+v", seed, changed)
			x = next
		}
		_, affected := x.With(Snapshot{ClusterRoles: []*rbacv1.ClusterRole{nil, plain("", "a b c", pods)}})
		require.Empty(t, affected, "they are no key's")
	}
}
