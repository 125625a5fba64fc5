package rbacaggregate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// One evaluation looks at each role, selector and rule once, whoever asks for it: what it has computed, it hands out again.
func TestEachIsComputedOnce(t *testing.T) {
	s := snapshotOf(plain("leaf", "is", pods), sum("x", "x", "y is y"), sum("y", "y is", "is x"), sum("top", "", "is"))
	for _, m := range []mode{nested, stored, settled} {
		x := NewIndex(s, Options{})
		e := x.evaluate(m, &ruleIDs{})
		e.all = true
		node := func(name string) *node { return e.node(x.find(name)[0]) }
		require.Same(t, node("x"), node("x"))
		for _, name := range []string{"x", "y", "top"} {
			require.True(t, e.computable(node(name)))
			first := e.contribution(node(name)).rules
			require.NotEmpty(t, first)
			if m != stored { // then a list is asked for once
				require.Same(t, &first[0], &e.contribution(node(name)).rules[0], "what %s comes to", name)
			}
		}
		leaf, y, top := node("leaf"), node("y"), node("top")
		require.Same(t, &e.stored(leaf)[0], &e.stored(leaf)[0], "the rules of a role are numbered once")
		require.Same(t, e.leaf(leaf), e.leaf(leaf))
		require.Len(t, node("x").selections, 2, "a selector that a role has twice counts once")

		is := y.selections[0]
		require.Same(t, is, e.selection(y.aggregation.selectors[0]), "a selection")
		require.Same(t, is, top.selections[0], "selectors of one text share it, whoever has them")
		if m == stored {
			first := is.stored
			e.contribution(top)
			require.Same(t, &first[0], &is.stored[0])
			require.Same(t, &first[0], &without(top, first)[0], "what no source of the name takes away is not copied")
			continue
		}
		require.Same(t, e.part(is, y.group), e.part(is, y.group), "what a selection contributes to its own group")
		require.Same(t, e.part(is, top.group), e.part(is, top.group), "and to others")
		require.NotSame(t, e.part(is, y.group), e.part(is, top.group))
		inside := is.inside
		require.NotNil(t, inside)
		is.insiders()
		require.Same(t, inside, is.inside)
		before := e.beforeInside(y)
		require.Same(t, before[len(before)-1], e.beforeInside(y)[len(before)-1])
	}
}

// A list that begins with all others takes their place; nothing is copied.
func TestJoinedSharesLists(t *testing.T) {
	e := NewIndex(Snapshot{}, Options{}).evaluatePlans(true)
	all := e.ids.all(rulesOf(pods, nodes))
	other := e.ids.all(rulesOf(pods, jobs))
	of := func(rules []rule) *part { return &part{list: list{rules: rules}, known: true} }
	for _, tc := range []struct {
		name, reason string
		parts        []*part
		want         []rule
		shared       bool
	}{
		{"one", "nothing to join", []*part{of(all)}, all, true},
		{"the same twice", "each begins with the other", []*part{of(all), of(all)}, all, true},
		{"the shorter first", "it is not written to", []*part{of(all[:1]), of(other)}, []rule{all[0], other[1]}, false},
		{"the longer first", "it has the shorter already", []*part{of(all), of(nil), of(all[:1])}, all, true},
		{"neither", "a new list", []*part{of(all), of(other)}, []rule{all[0], all[1], other[1]}, false},
		{"none", "no rules", nil, nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := e.joined(tc.parts...).list
			require.Equal(t, tc.want, got.rules, tc.reason)
			require.Equal(t, tc.shared, len(got.rules) > 0 && &got.rules[0] == &all[0], tc.reason)
		})
	}
}

// Each level of a ladder of diamonds has two ways to what is below: problems do not multiply on their way up.
func TestProblemsAreJoinedOnce(t *testing.T) {
	s := snapshotOf(plain("a", "k"), plain("a", ""), plain("b", "k"), plain("b", ""))
	for _, kinds := range [][2]string{{"k1", "k"}, {"k2", "k1"}, {"k3", "k2"}, {"k4", "k3"}} {
		s.ClusterRoles = append(s.ClusterRoles, sum("left"+kinds[0], kinds[0], kinds[1]), sum("right"+kinds[0], kinds[0], kinds[1]))
	}
	x := NewIndex(s, Options{})
	e := x.evaluatePlans(true)
	top := e.node(x.find("leftk4")[0])
	require.True(t, e.computable(top))
	var failing []string
	for _, n := range e.contribution(top).failing {
		failing = append(failing, n.object.Name)
	}
	require.Equal(t, []string{"leftk1", "rightk1"}, failing)
	_, err := x.Plan(Key("leftk4"))
	require.Len(t, lines(err), 2, "a and b")
}
