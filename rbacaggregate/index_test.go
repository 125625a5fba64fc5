package rbacaggregate

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/purekube/purekube"
)

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
	_, err := next.Plan(Key("a"))
	require.ErrorIs(t, err, purekube.ErrDuplicate)
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
	x := NewIndex(Snapshot{}, Options{})
	var s Snapshot
	for i := range 1000 {
		role := plain(fmt.Sprintf("r%04d", i), fmt.Sprintf("k%d all", i%7), on(fmt.Sprint("resource", i%50), "get"))
		if i%9 == 0 {
			role = sum(role.Name, fmt.Sprintf("k%d", i%7), fmt.Sprintf("k%d own%d", (i+1)%7, i))
			role.AggregationRule.ClusterRoleSelectors[1].MatchLabels["all"] = "true"
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
	anew := 0
	for _, filed := range filedIn(x) {
		if len(x.selectors.Alternatives(filed)) == 1 {
			anew++
		}
	}
	require.NotZero(t, anew)
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
	s.ClusterRoles[4].AggregationRule.ClusterRoleSelectors[0].MatchLabels["more"] = "true"
	for i := range 64 {
		s.ClusterRoles = append(s.ClusterRoles, sum(fmt.Sprintf("r%d", i), "", fmt.Sprintf("own%d", i)))
	}
	fresh := NewIndex(s, Options{})
	x, _ := NewIndex(Snapshot{}, Options{}).With(s)
	require.Equal(t, lines(fresh.Err()), lines(x.Err()))
	Contract.CheckSame(t, "made anew", fresh, x, s)
	for text, filed := range filedIn(x) {
		require.Len(t, x.selectors.Alternatives(filed), 1, "it is ready for the selectors that it has, %s too", text)
	}
	require.Len(t, filedIn(x), 2+64)
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

// A selector that two ClusterRoles have stays until both of them are gone.
func TestIndexKeepsASelectorThatAnotherRoleHas(t *testing.T) {
	x, _ := NewIndex(Snapshot{}, Options{}).With(snapshotOf(sum("a", "", "x"), sum("b", "", "x")))
	x, affected := x.Without(snapshotOf(sum("a", "", "x")))
	require.Equal(t, []string{"a"}, namesOf(affected))
	_, affected = x.With(snapshotOf(plain("new", "x", pods)))
	require.Equal(t, []string{"b"}, namesOf(affected))
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

// An event of a ClusterRole with n selectors costs n log n, and not n²: whoever may write the ClusterRole chooses n.
func TestEventOfARoleWithManySelectors(t *testing.T) {
	bytes := func(n int) float64 {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "sum"}, AggregationRule: &rbacv1.AggregationRule{}}
		for i := range n {
			role.AggregationRule.ClusterRoleSelectors = append(role.AggregationRule.ClusterRoleSelectors,
				metav1.LabelSelector{MatchLabels: map[string]string{fmt.Sprint("part-", i): "true"}})
		}
		x := NewIndex(snapshotOf(role, plain("a", ""), plain("b", "")), Options{})
		updated := role.DeepCopy()
		updated.Rules = []rbacv1.PolicyRule{pods}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		x.With(snapshotOf(updated))
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	require.Less(t, bytes(3000), 20*bytes(300))
}
