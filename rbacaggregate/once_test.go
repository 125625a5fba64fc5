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
		node := func(name string) *node {
			r, found := x.find(name)
			require.True(t, found)
			return e.node(r)
		}
		require.Same(t, node("x"), node("x"))
		for _, name := range []string{"x", "y", "top"} {
			require.True(t, e.computable(node(name)))
			first := e.contribute(node(name))
			require.Same(t, first, e.contribute(node(name)), "what %s comes to", name)
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
			e.contributeStored(top)
			require.Same(t, first, is.stored)
			require.Same(t, &first.all, first.without(top), "what no source of the name takes away is not copied")
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
		if m == settled {
			grants := is.grants
			e.grants(is, y.group)
			e.grants(is, top.group)
			require.Equal(t, grants, is.grants)
			require.Same(t, grants[0], is.grants[0])
			require.Same(t, grants[1], is.grants[1])
		}
	}
}

// A list that begins with another one takes its place; nothing is copied.
func TestJoinedSharesLists(t *testing.T) {
	e := NewIndex(Snapshot{}, Options{}).evaluatePlans()
	all := e.ids.all(rulesOf(pods, nodes))
	other := e.ids.all(rulesOf(pods, jobs))
	part := func(rules []rule) *contribution { return &contribution{rules: rules} }
	for _, tc := range []struct {
		name, reason string
		parts        []*contribution
		want         []rule
		shared       bool
	}{
		{"one", "nothing to join", []*contribution{part(all)}, all, true},
		{"the same twice", "each begins with the other", []*contribution{part(all), part(all)}, all, true},
		{"the shorter first", "the longer goes on with it", []*contribution{part(all[:1]), part(all)}, all, true},
		{"the longer first", "it has the shorter already", []*contribution{part(all), part(nil), part(all[:1])}, all, true},
		{"neither", "a new list", []*contribution{part(all), part(other)}, []rule{all[0], all[1], other[1]}, false},
		{"none", "no rules", nil, nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := e.joined(tc.parts)
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
	e := x.evaluatePlans()
	r, _ := x.find("leftk4")
	top := e.node(r)
	require.True(t, e.computable(top))
	var names []string
	for _, problem := range e.contribute(top).resting {
		names = append(names, problem.Name)
	}
	require.Equal(t, []string{"a", "b"}, names)
}
