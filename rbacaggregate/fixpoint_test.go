package rbacaggregate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// One evaluation looks at each role, selector and rule once, whoever asks for it: what it has computed, it hands out again.
func TestEachIsComputedOnce(t *testing.T) {
	s := snapshotOf(plain("leaf", "is", pods), sum("x", "x", "y is y"), sum("y", "y is", "is x"), sum("top", "", "is"))
	for _, o := range []Options{{}, upstream} {
		x := NewIndex(s, o)
		e := x.evaluate(&ruleIDs{}, true)
		node := func(name string) *node { return e.node(x.objects.Find(nameOf(name))) }
		require.Same(t, node("x"), node("x"))
		for _, name := range []string{"x", "y", "top"} {
			first := e.fixpoint(node(name))
			require.NotEmpty(t, first)
			require.Same(t, &first[0], &e.fixpoint(node(name))[0], "the rules of %s", name)
		}
		leaf, y, top := node("leaf"), node("y"), node("top")
		require.Same(t, &e.stored(leaf)[0], &e.stored(leaf)[0], "the rules of a role are numbered once")
		require.Same(t, e.own(leaf), e.own(leaf))
		require.Len(t, node("x").selections, 2, "a selector that a role has twice counts once")

		is := y.selections[0]
		require.Same(t, is, e.selection(y.aggregation.selectors[0]), "a selection")
		require.Same(t, is, top.selections[0], "selectors of one text share it, whoever has them")
		require.Same(t, e.contribution(is, y.group), e.contribution(is, y.group), "what a selection contributes to its own group")
		require.Same(t, e.contribution(is, top.group), e.contribution(is, top.group), "and to others")
		require.NotSame(t, e.contribution(is, y.group), e.contribution(is, top.group))
		members := is.members
		require.NotNil(t, members)
		is.firstMembers()
		require.Same(t, members, is.members)
		before := e.beforeInside(y)
		require.Same(t, before[len(before)-1], e.beforeInside(y)[len(before)-1])

		first := e.nextPass(top)
		round := is.round
		require.Same(t, &first[0], &e.nextPass(top)[0], "roles that have no rule first share the list of a selection")
		require.Same(t, round, is.round)
	}
}

// Nothing enters the cycle, and x is on no loop of first sources: y and z have each other first.
func TestCycleWithoutRules(t *testing.T) {
	s := snapshotOf(sum("x", "x", "y"), sum("y", "y", "z x"), sum("z", "z", "y"))
	for _, name := range []string{"x", "y", "z"} {
		rules, err := NewIndex(s, Options{}).Rules(Key(name))
		require.NoError(t, err)
		require.Empty(t, rules)
	}
}

// A list that begins with all others takes their place; nothing is copied.
func TestUnionSharesLists(t *testing.T) {
	e := NewIndex(Snapshot{}, Options{}).evaluate(&ruleIDs{}, true)
	all := e.ids.all(rulesOf(pods, nodes))
	other := e.ids.all(rulesOf(pods, jobs))
	of := func(rules []rule) *union { return &union{rules: rules, known: true} }
	for _, tc := range []struct {
		name, reason string
		unions       []*union
		want         []rule
		shared       bool
	}{
		{"one", "nothing to join", []*union{of(all)}, all, true},
		{"the same twice", "each begins with the other", []*union{of(all), of(all)}, all, true},
		{"the shorter first", "it is not written to", []*union{of(all[:1]), of(other)}, []rule{all[0], other[1]}, false},
		{"the longer first", "it has the shorter already", []*union{of(all), of(nil), of(all[:1])}, all, true},
		{"neither", "a new list", []*union{of(all), of(other)}, []rule{all[0], all[1], other[1]}, false},
		{"none", "no rules", nil, nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := e.union(tc.unions...).rules
			require.Equal(t, tc.want, got, tc.reason)
			require.Equal(t, tc.shared, len(got) > 0 && &got[0] == &all[0], tc.reason)
		})
	}
}

// Each level of a ladder of diamonds has two ways to what is below: problems do not multiply on their way up.
func TestProblemsAreJoinedOnce(t *testing.T) {
	s := snapshotOf(plain("a", "k"), plain("b", "own"))
	for _, kinds := range [][2]string{{"k1", "k"}, {"k2", "k1"}, {"k3", "k2"}, {"k4", "k3"}} {
		s.ClusterRoles = append(s.ClusterRoles, sum("left"+kinds[0], kinds[0], kinds[1]+" own"), sum("right"+kinds[0], kinds[0], kinds[1]))
	}
	for _, r := range s.ClusterRoles[2:4] {
		broken(r)
	}
	for _, name := range []string{"leftk2", "leftk4"} {
		_, err := Plan(s, Key(name), Options{})
		require.Len(t, lines(err), 2, "of leftk1 and rightk1")
	}
}
